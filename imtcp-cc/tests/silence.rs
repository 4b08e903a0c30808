//! A source that shows too little of the path to be measured.

mod support;

use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_cc::{Config, ImTcp};
use std::time::Duration;
use support::promised::path;
use support::{DATAGRAM, Run};

/// A run with a packet of 1100 bytes at a regular distance, on a link of 6 Mbit/s.
fn single_packets(every_ms: u64, count: u64) -> Run {
    let core = ImTcp::new(Config::default(), Bytes::new(DATAGRAM), None);
    let mut run = Run::new(core, path(6), 1);
    (0..count).for_each(|at| run.write_at(Duration::from_millis(every_ms * at), 1100));
    run
}

/// One packet every 20 ms, about half a megabit per second. No two packets follow each other
/// closely, so nothing tells the capacity.
#[test]
fn single_packets_tell_what_got_through_and_never_their_own_rate_as_an_estimate() {
    let mut run = single_packets(20, 1500);
    let own = Bandwidth::from_bps(8 * 1128 * 50);
    for tenth in 20..300 {
        run.until(Duration::from_millis(100 * tenth));
        let estimate = run.core.estimate().expect("deliveries came all the time");
        assert!(estimate.flags.lower_bound, "{estimate:?}");
        assert_eq!(
            (estimate.available, estimate.high),
            (estimate.low, Bandwidth::MAX)
        );
        assert!(estimate.low <= own, "{estimate:?}, own {own}");
        assert!(estimate.low >= own.scaled(0.8), "{estimate:?}, own {own}");
    }
}

/// Two packets a second: most of the time nothing is in flight, and nothing was delivered in the
/// last quarter of a second.
#[test]
fn rare_packets_tell_a_bound_that_is_never_older_than_a_second() {
    let mut run = single_packets(500, 60);
    let own = Bandwidth::from_bps(8 * 1128 * 2);
    for tenth in 20..300 {
        let now = Duration::from_millis(100 * tenth);
        run.until(now);
        let estimate = run.core.estimate().expect("a delivery each half a second");
        assert!(estimate.flags.lower_bound, "{estimate:?}");
        let age = estimate.age(Timestamp::from_origin(now));
        assert!(age <= Duration::from_secs(1), "{estimate:?} at {now:?}");
        assert!(estimate.low <= own.scaled(1.01), "{estimate:?}, own {own}");
    }
}
