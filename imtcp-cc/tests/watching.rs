//! A transfer that its window limits is only watched. Each of its packets leaves at the same time
//! as without measuring.

mod support;

use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_cc::{Config, ImTcp};
use std::time::Duration;
use support::{DATAGRAM, Path, Run};

/// A path whose bandwidth-delay product is 25 packets, with a queue of as many. Packets are lost
/// now and then.
fn path() -> Path {
    Path {
        capacity: Bandwidth::from_mbps(20),
        delay: Duration::from_millis(6),
        queue: Duration::from_millis(12),
        cross: Bandwidth::from_mbps(5),
        loss: 0.0,
        ack_loss: 0.0,
        ack_every: 2,
    }
}

/// The times at which the packets of a bulk transfer leave, and what is known of the path at its
/// end.
fn transfer(config: Config, takes_what_fits: bool) -> (Vec<Timestamp>, Option<Bandwidth>) {
    let mut run = Run::new(ImTcp::new(config, Bytes::new(DATAGRAM), None), path(), 7);
    run.takes_what_fits = takes_what_fits;
    run.write_at(Duration::ZERO, 100_000_000);
    run.until(Duration::from_secs(10));
    assert!(run.tally.lost > 0, "the queue was never full");
    let estimate = run.core.estimate().map(|estimate| estimate.available);
    (run.tally.releases, estimate)
}

/// In the second case no more data waits than the window has room for. Only the fact that the
/// window was full lately shows that it is the limit.
#[test]
fn bulk_leaves_as_without_measuring_whatever_the_transport_takes() {
    for takes_what_fits in [false, true] {
        let (measuring, estimate) = transfer(Config::default(), takes_what_fits);
        let (plain, _) = transfer(Config::without_measurement(), takes_what_fits);
        assert!(measuring == plain, "takes what fits: {takes_what_fits}");
        let available = estimate.expect("an estimate").as_bps_f64();
        assert!((12e6..18e6).contains(&available), "{available}");
    }
}

/// The times at which packets leave if ten become ready at once, sixty times a second.
fn frames(config: Config, path: Path) -> Vec<Timestamp> {
    let mut run = Run::new(ImTcp::new(config, Bytes::new(DATAGRAM), None), path, 7);
    for frame in 0..600 {
        run.write_at(Duration::from_micros(16_667) * frame, 10 * DATAGRAM);
    }
    run.until(Duration::from_secs(10));
    run.tally.releases
}

/// A packet of a stream waits for its turn. Where none may wait, no stream begins.
#[test]
fn no_stream_begins_where_no_packet_may_wait() {
    let holding = |hold| {
        let builder = Config::builder().longest_hold(hold);
        builder.build().expect("within its range")
    };
    let plain = frames(Config::without_measurement(), path());
    let measuring = frames(holding(Duration::from_millis(10)), path());
    assert!(measuring != plain, "no packet waited");
    assert!(frames(holding(Duration::ZERO), path()) == plain);
}
