//! Tools take anything that their receiver may say, and come to an end.

use baselines::tools::{Kind, Settings, Step};
use imtcp_cc::units::{Bandwidth, Timestamp};
use proptest::prelude::*;
use std::time::Duration;

/// What becomes of a probe: lost, or there so long after it left, by a clock of the receiver's own.
fn fate() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        4 => (0u64..50_000_000).prop_map(Some),
        1 => Just(None),
        1 => any::<u64>().prop_map(Some),
    ]
}

/// Drives a tool until it has ended, or for so many steps. Time jumps when it is far ahead.
fn drive(kind: Kind, settings: &Settings, fates: &[Option<u64>]) -> bool {
    let mut tool = kind.build(settings);
    let mut now = Timestamp::ZERO;
    let mut came = Vec::new();
    let mut fates = fates.iter().copied().cycle();
    for _ in 0..3_000_000 {
        match tool.step(now) {
            Step::Send { number, size } => {
                assert!((40..=1500).contains(&size.get()), "{size}");
                let fate = fates.next().flatten();
                came.extend(fate.map(|after| (number, now + Duration::from_nanos(after))));
            }
            Step::Ask => {
                now = now + Duration::from_millis(20);
                for (number, at) in came.drain(..) {
                    tool.on_arrival(number, at);
                    tool.on_arrival(number.wrapping_add(9999), at);
                }
                tool.on_report(now);
            }
            Step::WaitUntil(at) => {
                assert!(at > now, "{kind:?} waits for {at}, which has passed");
                now = at;
            }
            Step::WaitForReport => panic!("{kind:?}: it has come"),
            Step::Done => {
                let answer = tool.answer();
                let is_range =
                    |it: baselines::tools::Answer| it.low <= it.value && it.value <= it.high;
                assert!(answer.is_none_or(is_range), "{answer:?}");
                return true;
            }
        }
        // A path that is as slow as this has no measurement.
        if now > Timestamp::from_nanos(u64::MAX / 2) {
            return true;
        }
    }
    false
}

proptest! {
    #[test]
    fn whatever_arrives_a_tool_ends(
        fates in proptest::collection::vec(fate(), 1..400),
        capacity in prop_oneof![1u64..100_000, 1_000_000u64..10_000_000_000],
        seed in any::<u64>(),
    ) {
        let settings = Settings { capacity: Bandwidth::from_bps(capacity), seed };
        for kind in Kind::ALL {
            prop_assert!(drive(kind, &settings, &fates), "{kind:?} goes on");
        }
    }
}
