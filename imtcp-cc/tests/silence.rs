//! A source that shows too little of the path to be measured.

mod support;

use imtcp_cc::units::{Bandwidth, Bytes};
use imtcp_cc::{Config, ImTcp};
use std::time::Duration;
use support::promised::path;
use support::{DATAGRAM, Run};

/// One packet every 20 ms, about half a megabit per second on a link of six. No two packets follow
/// each other closely, so nothing tells the capacity.
#[test]
fn single_packets_tell_what_got_through_and_never_their_own_rate_as_an_estimate() {
    let core = ImTcp::new(Config::default(), Bytes::new(DATAGRAM), None);
    let mut run = Run::new(core, path(6), 1);
    (0..1500).for_each(|count| run.write_at(Duration::from_millis(20 * count), 1100));
    let own = Bandwidth::from_bps(8 * 1128 * 50);
    let mut told = 0;
    for tenth in 20..300 {
        run.until(Duration::from_millis(100 * tenth));
        let Some(estimate) = run.core.estimate() else {
            continue;
        };
        assert!(estimate.flags.lower_bound, "{estimate:?}");
        assert_eq!(
            (estimate.available, estimate.high),
            (estimate.low, Bandwidth::MAX)
        );
        assert!(estimate.low <= own, "{estimate:?}, own {own}");
        assert!(estimate.low >= own.scaled(0.8), "{estimate:?}, own {own}");
        told += 1;
    }
    // Every half a second the silence is told, and the next acknowledgement brings a new bound.
    assert!(told > 260, "it was told {told} times of 280");
}
