//! What holds whatever happens to a window.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Ack(AckedBytes),
    Congestion(u64, u64),
    Persistent,
    Spurious,
    Datagram(u64),
    Slope(Option<i64>),
    LeaveSlowStart,
}

fn any_ack() -> impl Strategy<Value = AckedBytes> {
    let bytes = prop_oneof![any::<u64>(), 0u64..100_000];
    let times = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    (bytes, times, any::<bool>()).prop_map(
        |(bytes, (now, sent, smoothed, latest), application_limited)| AckedBytes {
            now: Timestamp::from_nanos(now),
            size: Bytes::new(bytes),
            sent: Timestamp::from_nanos(sent),
            application_limited,
            smoothed_rtt: Duration::from_nanos(smoothed),
            latest_rtt: Duration::from_nanos(latest),
        },
    )
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any_ack().prop_map(Step::Ack),
        2 => (any::<u64>(), any::<u64>()).prop_map(|(n, s)| Step::Congestion(n, s)),
        1 => Just(Step::Persistent),
        1 => Just(Step::Spurious),
        1 => prop_oneof![any::<u64>(), 0u64..65_536].prop_map(Step::Datagram),
        1 => any::<Option<i64>>().prop_map(Step::Slope),
        1 => Just(Step::LeaveSlowStart),
    ]
}

fn take(law: &mut Cubic, step: Step) {
    let time = Timestamp::from_nanos;
    match step {
        Step::Ack(acked) => law.on_ack(&acked),
        Step::Congestion(now, sent) => {
            let _ = law.on_congestion(time(now), time(sent), None);
        }
        Step::Persistent => law.on_persistent_congestion(),
        Step::Spurious => {
            law.on_spurious_congestion();
        }
        Step::Datagram(size) => law.on_max_datagram_size(Bytes::new(size)),
        Step::Slope(slope) => law.set_slope(slope.and_then(steered)),
        Step::LeaveSlowStart => law.leave_slow_start(),
    }
}

proptest! {
    #[test]
    fn the_window_holds_two_datagrams_whatever_happens(
        steps in proptest::collection::vec(any_step(), 0..200), size: u64, packets: u32,
    ) {
        let mut law = Cubic::new(packets, Bytes::new(size));
        for step in steps {
            take(&mut law, step);
            prop_assert!(law.window() >= law.state.base.minimum_window(), "after {step:?}");
            prop_assert!(law.window() >= Bytes::new(2), "after {step:?}");
        }
    }

    #[test]
    fn by_itself_it_grows_no_faster_than_slow_start(
        steps in proptest::collection::vec(any_step(), 0..200),
    ) {
        let mut law = Cubic::new(10, DATAGRAM);
        let mut largest = law.window();
        for step in steps {
            let before = law.window();
            match step {
                Step::Slope(_) | Step::Datagram(_) => continue,
                Step::Ack(acked) => {
                    law.on_ack(&acked);
                    prop_assert!(law.window() >= before, "after {step:?}");
                    prop_assert!(law.window() <= before + acked.size, "after {step:?}");
                }
                _ => {
                    take(&mut law, step);
                    prop_assert!(law.window() <= largest, "after {step:?}");
                }
            }
            largest = largest.max(law.window());
        }
    }
}
