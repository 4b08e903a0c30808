//! Packets are spaced over the round trip, unless the configuration says otherwise.

mod support;

use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_cc::{Config, ImTcp};
use std::time::Duration;
use support::{DATAGRAM, Path, Run};

const PATH: Path = Path {
    capacity: Bandwidth::from_mbps(20),
    delay: Duration::from_millis(20),
    queue: Duration::from_millis(40),
    cross: Bandwidth::ZERO,
    loss: 0.0,
    ack_loss: 0.0,
    ack_every: 2,
};

/// The time over which twelve packets leave that the window has room for, and whether a rate at
/// which they do is told.
fn burst(config: Config) -> (Duration, bool) {
    const BURST: Duration = Duration::from_secs(1);
    let mut run = Run::new(ImTcp::new(config, Bytes::new(DATAGRAM), None), PATH, 1);
    run.write_at(Duration::ZERO, 30 * DATAGRAM);
    run.write_at(BURST, 12 * DATAGRAM);
    run.until(BURST * 2);
    let releases = run.tally.releases.iter();
    let of_burst: Vec<_> = releases.filter(|at| at.as_secs_f64() >= 1.0).collect();
    assert_eq!(of_burst.len(), 12);
    let span = of_burst[11].saturating_since(*of_burst[0]);
    (span, run.core.pacing_rate().is_some())
}

#[test]
fn unpaced_packets_leave_as_soon_as_the_window_has_room() {
    let config = |pacing| {
        let builder = Config::builder().measurement(false).pacing(pacing);
        builder.build().expect("both are plain choices")
    };
    let (paced, tells_a_rate) = burst(config(true));
    assert!(paced > Duration::from_millis(4), "{paced:?}");
    assert!(tells_a_rate);
    assert_eq!(burst(config(false)), (Duration::ZERO, false));
}

/// When the last packet of each burst leaves, from the first second on. A few bytes come ahead of
/// each, as HTTP/3 writes headers before a body.
fn ends_of_bursts(measurement: bool) -> Vec<Duration> {
    const PERIOD: Duration = Duration::from_millis(300);
    const AHEAD: Duration = Duration::from_micros(50);
    // No capacity is seen through so few acknowledgements.
    let path = Path {
        capacity: Bandwidth::from_mbps(400),
        ack_every: 20,
        ..PATH
    };
    let config = Config::builder().measurement(measurement);
    let config = config.build().expect("it is a plain choice");
    let mut run = Run::new(ImTcp::new(config, Bytes::new(DATAGRAM), None), path, 1);
    let bursts = 20;
    for burst in 0..bursts {
        run.write_at(PERIOD * burst, 40);
        run.write_at(PERIOD * burst + AHEAD, 80 * DATAGRAM);
    }
    run.until(PERIOD * bursts);
    let end_of = |burst: u32| {
        let next = (PERIOD * (burst + 1)).as_secs_f64();
        let before = |at: &&Timestamp| at.as_secs_f64() < next;
        let last = run.tally.releases.iter().rev().find(before);
        last.expect("it began").saturating_since(Timestamp::ZERO) - PERIOD * burst
    };
    (4..bursts).map(end_of).collect()
}

#[test]
fn a_burst_whose_first_bytes_come_ahead_does_not_wait_for_a_stream() {
    for (with, without) in ends_of_bursts(true).iter().zip(&ends_of_bursts(false)) {
        assert!(
            *with < *without + Duration::from_millis(1),
            "{with:?} and {without:?}"
        );
    }
}

/// How long frames of 60 packets take until they are acknowledged, in the mean. Others take most
/// of the link.
fn frames_beside_others(measurement: bool) -> Duration {
    const PERIOD: Duration = Duration::from_millis(100);
    const STEP: Duration = Duration::from_micros(250);
    let path = Path {
        capacity: Bandwidth::from_mbps(50),
        cross: Bandwidth::from_mbps(40),
        queue: Duration::from_millis(100),
        ..PATH
    };
    let config = Config::builder().measurement(measurement);
    let config = config.build().expect("it is a plain choice");
    let mut run = Run::new(ImTcp::new(config, Bytes::new(DATAGRAM), None), path, 1);
    let (warm_up, frames) = (10, 110);
    let mut spent = Duration::ZERO;
    for frame in 0..frames {
        let begun = PERIOD * frame;
        run.write_at(begun, 60 * DATAGRAM);
        let mut now = begun + STEP;
        run.until(now);
        while !run.is_idle() {
            now += STEP;
            run.until(now);
        }
        if frame >= warm_up {
            spent += now.saturating_sub(begun);
        }
    }
    spent / (frames - warm_up)
}

#[test]
fn frames_beside_others_are_complete_as_early_as_without_measuring() {
    let (with, without) = (frames_beside_others(true), frames_beside_others(false));
    assert!(with < without + without / 50, "{with:?} and {without:?}");
}
