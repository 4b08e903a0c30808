//! Somebody who loads page after page, and reads each for a while.

use crate::random::Random;
use crate::scenario::PageSettings;
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// The next page is asked for once the one before it has come whole and was read. Sizes of objects
/// are Pareto distributed, times of reading exponentially.
#[derive(Debug)]
pub(super) struct Pages {
    settings: PageSettings,
    random: Random,
    /// When each page was asked for, and the bytes of all up to it.
    bursts: Vec<(Timestamp, u64)>,
    /// Bytes of all pages that were asked for.
    made: u64,
    /// The part of these that the connection has not taken yet.
    backlog: u64,
    /// When the next page is asked for, while one is read.
    next: Option<Timestamp>,
}

impl Pages {
    pub(super) fn new(settings: PageSettings, random: Random) -> Self {
        Self {
            settings,
            random,
            bursts: Vec::new(),
            made: 0,
            backlog: 0,
            next: None,
        }
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }

    pub(super) fn bursts(&self) -> &[(Timestamp, u64)] {
        &self.bursts
    }

    /// How much is to be written now.
    pub(super) fn ask(&mut self, now: Timestamp, acknowledged: u64) -> u64 {
        if self.backlog > 0 || acknowledged < self.made {
            return self.backlog;
        }
        let is_first = self.bursts.is_empty();
        match self.next {
            None if !is_first => {
                let share = self.random.exponential();
                let reading = self.settings.think.as_secs_f64() * share;
                self.next = Some(now + Duration::from_secs_f64(reading.min(LONGEST_S)));
            }
            Some(next) if now < next => {}
            _ => {
                self.next = None;
                let page = self.page();
                self.made += page;
                self.backlog = page;
                self.bursts.push((now, self.made));
            }
        }
        self.backlog
    }

    /// The size of a page.
    fn page(&mut self) -> u64 {
        let mean = self.settings.object.as_f64();
        let object = |random: &mut Random| {
            let bytes = mean * random.pareto(self.settings.shape.value());
            #[expect(clippy::cast_possible_truncation, reason = "bounded before")]
            #[expect(clippy::cast_sign_loss, reason = "sizes are positive")]
            let bytes = bytes.clamp(1.0, LARGEST) as u64;
            bytes
        };
        let objects = self.settings.objects;
        (0..objects).map(|_| object(&mut self.random)).sum()
    }

    /// The connection took so many bytes.
    pub(super) fn took(&mut self, bytes: u64) {
        self.backlog -= bytes;
    }
}

/// An object of so many bytes outlasts any run.
const LARGEST: f64 = 1e12;
/// Nobody reads a page for longer than this.
const LONGEST_S: f64 = 3600.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Shape;
    use imtcp_cc::units::Bytes;

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs_f64(seconds))
    }

    fn pages() -> Pages {
        let settings = PageSettings {
            think: Duration::from_secs(2),
            objects: 8,
            object: Bytes::new(12_000),
            shape: Shape::of(3.0),
        };
        Pages::new(settings, Random::for_component(1, "pages"))
    }

    /// The connection takes all at once.
    fn asked(pages: &mut Pages, seconds: f64, acknowledged: u64) -> u64 {
        let bytes = pages.ask(at(seconds), acknowledged);
        pages.took(bytes);
        bytes
    }

    #[test]
    fn a_page_is_asked_for_once_the_one_before_has_come_and_was_read() {
        let mut pages = pages();
        let first = asked(&mut pages, 0.0, 0);
        assert!(first > 0);
        assert_eq!(asked(&mut pages, 0.5, first - 1), 0, "not whole yet");
        assert_eq!(pages.next(), None);
        assert_eq!(asked(&mut pages, 1.0, first), 0, "it is being read");
        let next = pages.next().expect("somebody reads");
        assert!(next > at(1.0));
        let second = pages.ask(next, first);
        assert!(second > 0);
        assert_eq!(pages.bursts(), [(at(0.0), first), (next, first + second)]);
    }

    #[test]
    fn a_page_has_so_many_objects_of_the_mean_size() {
        let mut pages = pages();
        let count = 20_000;
        let sum: u64 = (0..count).map(|_| pages.page()).sum();
        // Shape 3: the deviation of a page is 58 % / sqrt(8), the mean's standard error 0.15 %.
        let mean = sum as f64 / f64::from(count);
        assert!((mean / 96_000.0 - 1.0).abs() < 0.01, "{mean}");
    }
}
