use super::*;
use crate::measurement::range::SearchRange;
use crate::units::{Bandwidth, Bytes};

const T: Duration = Duration::from_millis(10);

fn plan() -> StreamPlan {
    let range = SearchRange::first(Bandwidth::from_mbps(80));
    StreamPlan::new(&range, 4, 1, 5, Bytes::new(1250))
}

fn ready(packets: u32) -> Ready {
    Ready {
        packets,
        stored: packets,
        window: 100,
    }
}

fn at_ms(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

fn told(unit: &mut ControlUnit) -> Vec<Transition> {
    std::iter::from_fn(|| unit.take_transition()).collect()
}

/// All five packets of a stream leave, each when it is due; when the last one did.
fn send_stream(unit: &mut ControlUnit) -> Timestamp {
    let mut now = at_ms(1000);
    for _ in 0..5 {
        while let Verdict::At(due) = unit.next(now, ready(5)) {
            now = due;
        }
        assert!(unit.on_sent());
    }
    now
}

#[test]
fn the_last_stream_that_breaks_is_told_before_the_measurement_is_given_up() {
    let mut unit = ControlUnit::new(5, StoreTarget::Dynamic);
    unit.begin(plan(), T, MOST_ATTEMPTS);
    let mut all = Vec::new();
    for attempt in 0..u64::from(MOST_ATTEMPTS) {
        let start = 1000 * (attempt + 1);
        assert_eq!(unit.next(at_ms(start), ready(5)), Verdict::Probe);
        assert!(unit.on_sent());
        // Nothing else comes for long.
        unit.next(at_ms(start + 1), ready(0));
        unit.next(at_ms(start + 500), ready(0));
        all.extend(told(&mut unit));
    }
    let broken = all
        .iter()
        .filter(|told| matches!(told, Transition::StreamAbandoned { sent: 1 }));
    assert_eq!(broken.count(), 4, "{all:?}");
    assert_eq!(all.last(), Some(&Transition::MeasurementGivenUp));
    assert!(unit.is_passing());
}

#[test]
fn a_whole_stream_is_told_once_and_everything_passes() {
    let mut unit = ControlUnit::new(5, StoreTarget::Dynamic);
    unit.begin(plan(), T, MOST_ATTEMPTS);
    let now = send_stream(&mut unit);
    let (waited, limit) = (Duration::ZERO, T);
    assert_eq!(
        told(&mut unit),
        [
            Transition::StreamStarted { waited, limit },
            Transition::StreamSent
        ]
    );
    assert_eq!(unit.next(now, ready(5)), Verdict::Pass);
}

/// A unit that has sent the first of several streams. So many packets are stored then.
fn emptying(stored: Ready) -> ControlUnit {
    let mut unit = ControlUnit::new(5, StoreTarget::Dynamic);
    unit.begin(plan(), T, MOST_ATTEMPTS);
    send_stream(&mut unit);
    unit.continue_with(plan(), T);
    assert_eq!(unit.next(at_ms(1001), stored), Verdict::Pass);
    unit
}

#[test]
fn the_rest_of_a_burst_leaves_although_headers_make_it_a_packet_longer() {
    let stored = Ready {
        stored: 4,
        ..ready(3)
    };
    let mut unit = emptying(stored);
    for _ in 0..3 {
        unit.on_sent();
    }
    assert_eq!(unit.next(at_ms(1001), ready(1)), Verdict::Pass);
    unit.on_sent();
    let stores = Verdict::At(at_ms(1001) + T);
    assert_eq!(unit.next(at_ms(1001), ready(1)), stores);
}

#[test]
fn what_comes_after_the_stored_packets_is_stored_for_the_next_stream() {
    let mut unit = emptying(ready(3));
    unit.on_sent();
    unit.on_drained();
    let stores = Verdict::At(at_ms(1040) + T);
    assert_eq!(unit.next(at_ms(1040), ready(3)), stores);
}
