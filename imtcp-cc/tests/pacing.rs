//! Packets are spaced over the round trip, unless the configuration says otherwise.

mod support;

use imtcp_cc::units::{Bandwidth, Bytes};
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
