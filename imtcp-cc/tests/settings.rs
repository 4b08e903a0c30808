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

#[test]
fn what_the_transport_gave_is_kept_by_whoever_changes_the_rest() {
    let live = Config::default().or_transport(200, Duration::ZERO);
    let changed = live.to_builder().build();
    assert_eq!(changed.expect("nothing was set"), live);
}

#[cfg(feature = "qlog")]
#[test]
fn the_log_has_the_window_that_a_connection_begins_with() {
    // RFC 9002, section 7.2: ten datagrams of 1500 bytes are more than the window may be.
    for (packets, datagram, window) in [(10, 1_500, 14_720), (20, 1_500, 30_000), (1, 1_200, 2_400)]
    {
        let context = PathContext {
            max_datagram_size: datagram,
            ..path(packets)
        };
        let mut controller = Factory::new(Config::default()).build(&context);
        assert_eq!(controller.cwnd(), window);
        let mut logged = Vec::new();
        controller.drain_qlog_events(&mut |_, name, data| {
            if name == "quic:recovery_parameters_set" {
                logged.push(data["initial_congestion_window"].as_u64());
            }
        });
        assert_eq!(logged, [u64::try_from(window).ok()]);
    }
}
