//! Web pages: Poisson arrivals of pages, each a burst of objects with Pareto-distributed sizes.

use super::{Emission, Sizes, random_work};
use crate::profile::Profile;
use crate::random::Random;
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The pages of a web source (IM 4.3: 8 objects of 12 KB on average, shape 1.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebSettings {
    /// Objects of a page.
    pub objects: u32,
    /// Mean size of an object on the wire.
    pub object: Bytes,
    /// Pareto shape of object sizes, above 1.
    pub shape: f64,
    /// The rate at which a page leaves its server, one packet after the other.
    pub peak: Bandwidth,
}

/// Pages overlap: each is sent at the peak rate, whatever the others do.
#[derive(Debug)]
pub(super) struct Web {
    rate: Profile,
    packet: Bytes,
    settings: WebSettings,
    random: Random,
    /// The next page.
    arrival: Option<(Timestamp, u64)>,
    pages: u64,
    active: BinaryHeap<Reverse<Page>>,
}

/// A page under way; ordered by the time of its next packet, then by age.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Page {
    next: Timestamp,
    number: u64,
    left: u64,
}

impl Web {
    pub(super) fn new(rate: Profile, sizes: Sizes, settings: WebSettings, random: Random) -> Self {
        let mut web = Self {
            rate,
            packet: sizes.largest(),
            settings,
            random,
            arrival: Some((Timestamp::ZERO, 0)),
            pages: 0,
            active: BinaryHeap::new(),
        };
        web.schedule_arrival();
        web
    }

    pub(super) fn next(&mut self) -> Option<Emission> {
        while let Some((at, _)) = self.arrival
            && self.active.peek().is_none_or(|page| at <= page.0.next)
        {
            self.open_page(at);
            self.schedule_arrival();
        }
        let Reverse(mut page) = self.active.pop()?;
        let size = Bytes::new(page.left.min(self.packet.get()));
        let at = page.next;
        page.left -= size.get();
        if page.left > 0 {
            page.next = at + self.settings.peak.time_for(size);
            self.active.push(Reverse(page));
        }
        Some(Emission { at, size })
    }

    fn schedule_arrival(&mut self) {
        let mean = f64::from(self.settings.objects) * self.settings.object.as_f64() * 8e9;
        let gap = random_work(mean, self.random.exponential());
        self.arrival = self.arrival.and_then(|(at, surplus)| {
            if gap < surplus {
                return Some((at, surplus - gap));
            }
            self.rate.when(at, gap - surplus)
        });
    }

    fn open_page(&mut self, at: Timestamp) {
        // An object longer than this would outlast any run.
        const LARGEST: u64 = 1 << 40;
        let mean = self.settings.object.as_f64();
        let object = |random: &mut Random| {
            random_work(mean, random.pareto(self.settings.shape)).clamp(1, LARGEST)
        };
        let objects = (0..self.settings.objects).map(|_| object(&mut self.random));
        let left = objects.sum::<u64>().min(LARGEST);
        self.active.push(Reverse(Page {
            next: at,
            number: self.pages,
            left,
        }));
        self.pages += 1;
    }
}
