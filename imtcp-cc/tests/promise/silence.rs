//! A path that falls silent, and one on which nobody has anything to say.

use super::*;
use imtcp_cc::promise::Promise;

/// The transport sends a probe after a timeout.
fn probe(run: &mut Run, number: u64, ms: u64) {
    let probe = SentPacket {
        number,
        size: Bytes::new(DATAGRAM),
        released: false,
        bytes_in_flight: run.core.cwnd(),
    };
    let now = Timestamp::from_origin(Duration::from_millis(ms));
    run.core.on_packet_sent(now, &probe);
}

fn is_silent(promise: &Promise) -> bool {
    let status = promise.status();
    matches!(status, Status::AtRisk { cause, .. } if cause == Cause::Silence)
}

#[test]
fn a_path_that_falls_silent_is_told_by_the_probes_that_nobody_answers() {
    let required = Requirement::from_f64(8e6, 0.2).expect("valid");
    let mut run = transfer(Some(required));
    let handle = run.core.promise();
    let mut reports = handle.reports();
    run.until(Duration::from_secs(5));
    assert_eq!(handle.status(), Status::Kept);
    let kept = std::iter::from_fn(|| reports.take()).count();
    assert!(kept > 20, "{kept}");
    // Nothing comes back any more, the window is full, and the transport sends its probes.
    for (number, ms) in [(1_000_000, 5_300), (1_000_001, 5_500), (1_000_002, 5_900)] {
        probe(&mut run, number, ms);
        assert!(is_silent(&handle), "after {ms} ms: {:?}", handle.status());
    }
    let missed: Vec<SlotReport> = std::iter::from_fn(|| reports.take()).collect();
    assert!(missed.len() >= 3, "{missed:?}");
    assert!(
        missed
            .iter()
            .skip(1)
            .all(|report| report.outcome == Outcome::Missed),
        "{missed:?}"
    );
    let soon = handle.can_promise(required.rate(), required.per());
    assert_eq!(soon, None, "nobody knows whether the path carries anything");
}

#[test]
fn a_requirement_comes_and_goes_on_a_silent_path() {
    let required = Requirement::from_f64(8e6, 0.2).expect("valid");
    let mut run = transfer(None);
    let handle = run.core.promise();
    run.until(Duration::from_secs(5));
    probe(&mut run, 1_000_000, 5_300);
    handle.require(required).expect("there is room");
    assert_eq!(handle.in_force(), None);
    probe(&mut run, 1_000_001, 5_600);
    assert_eq!(handle.in_force(), Some(required));
    assert!(is_silent(&handle), "{:?}", handle.status());
    handle.withdraw();
    probe(&mut run, 1_000_002, 6_200);
    assert_eq!((handle.in_force(), handle.status()), (None, Status::Idle));
}

#[test]
fn a_packet_of_the_transport_on_an_idle_connection_is_no_silence() {
    let required = Requirement::from_f64(8e6, 0.2).expect("valid");
    let config = Config::builder().promise(Some(required));
    let core = ImTcp::new(config.build().expect("valid"), Bytes::new(DATAGRAM), None);
    let handle = core.promise();
    let mut run = Run::new(core, path(20), 1);
    run.write_at(Duration::ZERO, 2_000_000);
    run.until(Duration::from_secs(3));
    assert!(run.is_idle());
    let before = handle.can_promise(required.rate(), required.per());
    let share = handle.share();
    assert!(before.is_some() && share.is_some());
    let keep_alive = SentPacket {
        number: 1_000_000,
        size: Bytes::new(50),
        released: false,
        bytes_in_flight: Bytes::new(50),
    };
    // What got through before is still recent.
    let now = Timestamp::from_origin(Duration::from_secs(4));
    run.core.on_packet_sent(now, &keep_alive);
    assert!(!handle.status().is_warning(), "{:?}", handle.status());
    assert!(
        handle
            .can_promise(required.rate(), required.per())
            .is_some()
    );
    assert_eq!(handle.share(), share);
}

#[test]
fn a_requirement_on_a_path_that_fell_silent_long_ago_is_warned_of() {
    let required = Requirement::from_f64(8e6, 0.2).expect("valid");
    let mut run = transfer(None);
    let handle = run.core.promise();
    run.until(Duration::from_secs(5));
    probe(&mut run, 1_000_000, 20_000);
    handle.require(required).expect("nothing is known");
    probe(&mut run, 1_000_001, 20_500);
    assert_eq!(handle.in_force(), Some(required));
    assert!(is_silent(&handle), "{:?}", handle.status());
}

#[test]
fn what_a_silent_path_carried_is_not_told_where_nothing_is_required_either() {
    let required = Requirement::from_f64(8e6, 0.2).expect("valid");
    let mut run = transfer(None);
    let handle = run.core.promise();
    run.until(Duration::from_secs(5));
    let soon = || handle.can_promise(required.rate(), required.per());
    assert!(soon().is_some() && handle.share().is_some());
    probe(&mut run, 1_000_000, 5_500);
    assert_eq!((soon(), handle.share()), (None, None));
}
