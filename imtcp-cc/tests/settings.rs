//! Settings of quiche reach the controller, unless its own configuration sets the same.
#![cfg(feature = "quiche")]

use imtcp_cc::Config;
use imtcp_cc::quiche::Factory;
use quiche::cc::{Factory as _, PathContext, PathIdentity};
use std::time::{Duration, Instant};

fn path(initial_window_packets: usize) -> PathContext {
    PathContext {
        identity: PathIdentity::default(),
        #[expect(clippy::disallowed_methods, reason = "a path begins at some instant")]
        now: Instant::now(),
        max_datagram_size: 1_200,
        initial_window_packets,
        initial_rtt: Duration::from_millis(100),
    }
}

#[test]
fn the_initial_window_of_quiche_is_the_controllers() {
    let factory = Factory::new(Config::default());
    for packets in [4, 10, 32] {
        assert_eq!(factory.build(&path(packets)).cwnd(), packets * 1_200);
    }
}

#[test]
fn a_window_of_the_controllers_own_wins() {
    let config = Config::builder().initial_window_packets(20).build();
    let factory = Factory::new(config.expect("within its range"));
    assert_eq!(factory.build(&path(4)).cwnd(), 20 * 1_200);
}

#[test]
fn until_a_round_trip_is_measured_the_rate_follows_from_quiches() {
    let controller = Factory::new(Config::default()).build(&path(10));
    // The initial window, 12 000 bytes, in the initial round trip of 100 ms.
    assert_eq!(controller.pacing_rate(), Some(960_000));
}

#[test]
fn packets_that_are_not_paced_have_no_rate() {
    let config = Config::builder().pacing(false).build();
    let factory = Factory::new(config.expect("a plain choice"));
    assert_eq!(factory.build(&path(10)).pacing_rate(), None);
}
