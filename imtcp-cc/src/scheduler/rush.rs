//! Which trains are rushed.
//!
//! Packets at the known capacity's own pace come as they left, whatever the link could carry beyond
//! it. So the heads of some trains leave faster than that, and a higher capacity shows.

use super::pacer::PacingPlan;
use crate::units::Timestamp;
use std::time::Duration;

/// One train in this many is rushed.
const TRAINS_PER_RUSH: u32 = 8;

/// Where trains are rare, every second one is rushed if none was for this long. Not each of them,
/// because the gaps of a rushed train tell little of what others send.
const LONGEST_WITHOUT_RUSH: Duration = Duration::from_millis(500);

/// The capacity has risen since the last rushed train if the gap at its pace is shorter by more
/// than one part in this many.
const RISEN_DIVISOR: u32 = 20;

/// How much faster than the known capacity the head of a train leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Haste {
    #[default]
    None,
    /// By the plan's rushed gap.
    Usual,
    /// Twice as fast. The last rushed train has shown a higher capacity, which may still be no more
    /// than that train's own pace.
    Twice,
}

/// The haste of the present train.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rush {
    trains: u32,
    haste: Haste,
    /// When the last rushed train began, and the gap at the capacity's pace then.
    last: Option<(Timestamp, Duration)>,
}

impl Rush {
    /// A train of several packets begins. The known capacity serves a packet in `pace`.
    pub(super) fn on_train(&mut self, now: Timestamp, pace: Duration) {
        self.trains = self.trains.wrapping_add(1);
        self.haste = self.next(now, pace);
        if self.haste != Haste::None {
            self.last = Some((now, pace));
        }
    }

    fn next(&self, now: Timestamp, pace: Duration) -> Haste {
        let was_rushed = self.haste != Haste::None;
        if let Some((at, before)) = self.last {
            if pace < before - before / RISEN_DIVISOR {
                return Haste::Twice;
            }
            if !was_rushed && now.saturating_since(at) >= LONGEST_WITHOUT_RUSH {
                return Haste::Usual;
            }
        }
        if self.trains.is_multiple_of(TRAINS_PER_RUSH) {
            Haste::Usual
        } else {
            Haste::None
        }
    }

    /// The gap between two packets at the head of the present train.
    pub(super) fn gap(&self, plan: &PacingPlan) -> Duration {
        match self.haste {
            Haste::None => plan.gap,
            Haste::Usual => plan.rushed_gap,
            Haste::Twice => plan.rushed_gap.min(plan.gap / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gap of each train, in microseconds. The trains begin `apart_ms` apart, and the capacity
    /// serves a packet in `head_us(train)`.
    fn gaps(trains: u64, apart_ms: u64, head_us: impl Fn(u64) -> u64) -> Vec<u128> {
        let mut rush = Rush::default();
        let gap = |train: u64| {
            let head_gap = Duration::from_micros(head_us(train));
            let plan = PacingPlan {
                train_packets: 8,
                pace: head_gap,
                gap: head_gap,
                rushed_gap: head_gap * 85 / 100,
                ..PacingPlan::EVEN
            };
            rush.on_train(
                Timestamp::from_nanos(train * apart_ms * 1_000_000),
                head_gap,
            );
            rush.gap(&plan).as_micros()
        };
        (1..=trains).map(gap).collect()
    }

    #[test]
    fn of_many_trains_one_in_eight_is_rushed() {
        let gaps = gaps(32, 10, |_| 100);
        let rushed = (1..).zip(gaps).filter(|(_, gap)| *gap == 85);
        assert_eq!(
            rushed.map(|(train, _)| train).collect::<Vec<_>>(),
            [8, 16, 24, 32]
        );
    }

    #[test]
    fn where_trains_are_rare_every_second_one_is_rushed() {
        assert_eq!(gaps(12, 600, |_| 100)[7..], [85, 100, 85, 100, 85]);
    }

    #[test]
    fn a_train_that_showed_a_higher_capacity_is_followed_by_one_twice_as_fast() {
        let gaps = gaps(13, 10, |train| match train {
            ..=8 => 100,
            9..=10 => 85,
            _ => 50,
        });
        assert_eq!(gaps[7..], [85, 42, 85, 25, 50, 50]);
    }
}
