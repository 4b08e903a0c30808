//! Recorded links: when each packet could leave, in the format of mahimahi.
//!
//! A trace is a list of delivery opportunities. Each is an instant, in whole milliseconds, at which
//! 1500 bytes may leave; after the last one the list begins again. [`parse`] reads the files of
//! mahimahi, [`drawn`] makes traces from a seed, and [`Playback`] lets packets leave.

mod drawn;
mod file;
mod playback;

pub use drawn::drawn;
pub use file::{TraceError, parse, read, written};
pub use playback::Playback;

use crate::profile::{Profile, Step};
use crate::truth::{BIN, bin_start};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// What may leave at an opportunity.
pub const OPPORTUNITY: Bytes = Bytes::new(1500);

/// Delivery opportunities, which repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    name: String,
    /// Ascending.
    slots: Vec<Slot>,
    /// How many opportunities they are.
    count: u64,
    period: Duration,
}

/// Opportunities of one millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// Since the period's beginning; at most the period.
    at: Duration,
    count: u32,
}

impl Trace {
    /// From opportunities in milliseconds, which never decrease. The last one is the period. `None`
    /// if it is zero, or there is none.
    fn new(name: &str, opportunities_ms: &[u32]) -> Option<Self> {
        let period = opportunities_ms.last().copied().filter(|last| *last > 0)?;
        let mut slots: Vec<Slot> = Vec::new();
        for ms in opportunities_ms {
            let at = Duration::from_millis(u64::from(*ms));
            match slots.last_mut() {
                Some(slot) if slot.at == at => slot.count = slot.count.saturating_add(1),
                _ => slots.push(Slot { at, count: 1 }),
            }
        }
        Some(Self {
            name: name.to_owned(),
            slots,
            count: opportunities_ms.len() as u64,
            period: Duration::from_millis(u64::from(period)),
        })
    }

    /// The same trace, begun at a later instant of it.
    #[must_use]
    pub fn from(&self, begin: Duration) -> Self {
        let period = self.period.as_nanos();
        let nanos = u64::try_from(begin.as_nanos() % period).unwrap_or(0);
        let begin = Duration::from_nanos(nanos);
        let first = self.slots.partition_point(|slot| slot.at <= begin);
        // At the very beginning there may be opportunities at 0.
        let first = if nanos == 0 { 0 } else { first };
        let (before, after) = self.slots.split_at(first);
        let after = after.iter().map(|slot| Slot {
            at: slot.at - begin,
            ..*slot
        });
        let before = before.iter().map(|slot| Slot {
            at: slot.at + self.period - begin,
            ..*slot
        });
        Self {
            name: self.name.clone(),
            slots: after.chain(before).collect(),
            count: self.count,
            period: self.period,
        }
    }

    /// The file, or the name of a drawn one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// After this time it repeats.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// What it carries for ever.
    pub fn mean(&self) -> Bandwidth {
        let bytes = OPPORTUNITY.times(self.count);
        Bandwidth::from_bytes_over(bytes, self.period).unwrap_or(Bandwidth::ZERO)
    }

    /// What it can carry in each tenth of a second until `end`.
    pub fn profile(&self, end: Timestamp) -> Profile {
        let mut steps: Vec<Step> = Vec::new();
        let mut playback = Playback::new(self.clone().into());
        let mut bin = 0;
        while bin_start(bin) < end {
            let bits = playback.bytes_until(bin_start(bin + 1)).as_bits_f64();
            let rate = Bandwidth::from_bps_f64(bits / BIN.as_secs_f64());
            if steps.last().is_none_or(|last| last.rate != rate) {
                let at = bin_start(bin);
                steps.push(Step { at, rate });
            }
            bin += 1;
        }
        let first = steps.first().map_or(Bandwidth::ZERO, |step| step.rate);
        Profile::stepped(first, &steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn its_mean_is_its_opportunities_over_its_period() {
        // Five of 12,000 bits in 200 ms.
        let trace = Trace::new("t", &[10, 10, 50, 120, 200]).expect("a trace");
        assert_eq!(trace.period(), ms(200));
        assert_eq!(trace.mean(), Bandwidth::from_kbps(300));
        assert_eq!(Trace::new("t", &[0, 0]), None);
    }

    #[test]
    fn its_profile_counts_what_each_tenth_of_a_second_can_carry() {
        let trace = Trace::new("t", &[10, 10, 50, 120, 200]).expect("a trace");
        let end = Timestamp::from_origin(ms(500));
        let profile = trace.profile(end);
        let rates = [0, 1, 2, 3, 4].map(|bin| profile.rate_at(bin_start(bin)).as_bps() / 120_000);
        // The one at 200 ms is the first of the third bin, which has 210, 210 and 250 ms, too.
        assert_eq!(rates, [3, 1, 4, 1, 4]);
    }

    #[test]
    fn begun_later_it_is_the_same_circle() {
        let trace = Trace::new("t", &[10, 50, 120, 200]).expect("a trace");
        let at = |trace: &Trace| -> Vec<Duration> { trace.slots.iter().map(|s| s.at).collect() };
        assert_eq!(at(&trace.from(ms(50))), [70, 150, 160, 200].map(ms));
        assert_eq!(at(&trace.from(ms(250))), [70, 150, 160, 200].map(ms));
        assert_eq!(trace.from(ms(200)), trace);
        assert_eq!(trace.from(ms(60)).mean(), trace.mean());
    }
}
