//! What was read on a path, small enough for a page with many of them.

use crate::survey::Class;
use crate::survey::estimate::{Instant, Reader, STEP, Surveyed};
use serde::Serialize;

/// The value that stands for nothing.
const NOTHING: u16 = u16::MAX;
/// The highest value of a series.
const TOP: f64 = 65_000.0;

/// Series over the instants of the grid. Each is written as hexadecimal numbers of four digits, in
/// units of `top` / 65000; `ffff` is nothing.
#[derive(Debug, Serialize)]
pub(super) struct Readings {
    class: &'static str,
    seed: u64,
    path: String,
    sends: String,
    /// When the first instant is, and how far apart they are, in seconds.
    from_s: f64,
    step_s: f64,
    /// The highest truth or capacity, in bit/s. What is read above one and a half of it is cut.
    top_bps: f64,
    /// When the truth changes by design.
    changes_s: Vec<f64>,
    capacity: String,
    truth: String,
    /// The estimate; nothing where there is a lower bound alone.
    value: String,
    low: String,
    high: String,
    /// The age of what is read, in ms.
    age: String,
}

impl Readings {
    pub(super) fn of(class: Class, one: &Surveyed) -> Self {
        let own = one.read.iter().find(|it| it.reader == Reader::Statistical);
        let instants = own.map_or(&[][..], |read| &read.instants);
        let highest = |it: &Instant| it.truth_bps.max(it.capacity_bps);
        let top_bps = 1.5 * instants.iter().map(highest).fold(1.0, f64::max);
        let [path, sends] = one.facts.in_words();
        let series = |value: &dyn Fn(&Instant) -> Option<f64>| -> String {
            placed(instants, &|it| value(it).map(|bps| bps / top_bps * TOP))
        };
        let is_bound = |it: &Instant| it.reading.is_some_and(|reading| reading.lower_bound);
        let end = |it: &Instant, index: usize| Some(it.reading?.interval_bps?[index]);
        let age_ms = |it: &Instant| Some((it.at_s - it.reading?.made_s) * 1e3);
        Self {
            class: class.name(),
            seed: one.seed,
            path,
            sends,
            from_s: instants.first().map_or(0.0, |first| first.at_s),
            step_s: STEP.as_secs_f64(),
            top_bps,
            changes_s: one.changes_s.clone(),
            capacity: series(&|it| Some(it.capacity_bps)),
            truth: series(&|it| Some(it.truth_bps)),
            value: series(&|it| it.reading.filter(|_| !is_bound(it)).map(|it| it.value_bps)),
            low: series(&|it| end(it, 0)),
            high: series(&|it| end(it, 1).filter(|_| !is_bound(it))),
            age: placed(instants, &age_ms),
        }
    }
}

/// Each value at the place of its instant. The grid leaves instants out at which there is no truth
/// or no capacity; nothing stands there.
fn placed(instants: &[Instant], value: &dyn Fn(&Instant) -> Option<f64>) -> String {
    let from_s = instants.first().map_or(0.0, |first| first.at_s);
    let mut text = String::new();
    let mut next = 0;
    for it in instants {
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
        #[expect(clippy::cast_sign_loss, reason = "instants ascend")]
        let place = ((it.at_s - from_s) / STEP.as_secs_f64()).round() as u64;
        for _ in next..place {
            text += &written(None);
        }
        text += &written(value(it));
        next = place + 1;
    }
    text
}

/// A number of four digits; what is too high is the highest.
fn written(value: Option<f64>) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "it is clamped")]
    #[expect(clippy::cast_sign_loss, reason = "it is clamped")]
    let number = value.map_or(NOTHING, |value| value.clamp(0.0, TOP).round() as u16);
    format!("{number:04x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_behind_a_gap_stays_at_its_time() {
        // No truth from 2.1 s to 2.3 s.
        let instants = [1.9, 2.0, 2.4, 2.5].map(|at_s| Instant {
            at_s,
            truth_bps: 0.0,
            capacity_bps: at_s * 10.0,
            reading: None,
        });
        let found = placed(&instants, &|it| Some(it.capacity_bps));
        assert_eq!(found, "00130014ffffffffffff00180019");
    }

    #[test]
    fn numbers_have_four_digits_and_nothing_has_a_number_of_its_own() {
        let all = [
            Some(0.0),
            Some(10.4),
            Some(65_000.0),
            Some(1e9),
            Some(-5.0),
            None,
        ];
        let found = all.map(written);
        assert_eq!(found, ["0000", "000a", "fde8", "fde8", "0000", "ffff"]);
    }
}
