//! The truth is what crossed the links, to the last byte, and a run is a function of its seed.

mod common;

use common::{Path, run};
use imtcp_cc::units::Timestamp;
use imtcp_sim::result::RunResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use std::time::Duration;

fn busy() -> Path {
    Path::default()
        .lasting(10)
        .link("loss = { rate = \"0.1 %\", burst_packets = 3 }")
        .traffic("name = \"cross\"\nkind = \"poisson\"\nrate = \"4 Mbit/s\"\nsizes = \"mix\"")
        .traffic("name = \"back\"\nkind = \"cbr\"\nrate = \"2 Mbit/s\"\ndirection = \"reverse\"")
        .flow("main", "imtcp", "{ kind = \"bulk\" }", "")
        .flow("reno", "reno", "{ kind = \"bulk\" }", "start = \"2 s\"")
}

fn json(result: &RunResult) -> String {
    serde_json::to_string(result).expect("a result can be serialised")
}

#[test]
fn what_entered_crossed_or_was_dropped_or_waits() {
    let result = run(&busy(), 3);
    let link = result
        .link("bottleneck")
        .expect("the link is in the result");
    for (counters, queue) in [(link.forward, 50_000), (link.reverse, 100_000_000)] {
        let gone = counters.crossed.bytes
            + counters.overflowed.bytes
            + counters.managed.bytes
            + counters.thinned.bytes;
        let waiting = counters.offered.bytes - gone;
        // The queue, and the packet in the transmitter.
        assert!(waiting <= queue + 1500, "{waiting} bytes wait");
        assert!(counters.crossed.packets > 1000);
    }
    assert!(
        link.forward.overflowed.packets > 0,
        "the queue should overflow at times"
    );
    assert!(link.forward.lost.packets > 0, "some packets should be lost");
}

#[test]
fn the_bins_hold_every_byte_that_crossed() {
    let result = run(&busy(), 3);
    let bits: f64 = result
        .truth
        .iter()
        .map(|row| (row.cross_bps + row.flow_bps.values().sum::<u64>()) as f64 * 0.1)
        .sum();
    let link = result
        .link("bottleneck")
        .expect("the link is in the result");
    let crossed = link.forward.crossed.bytes as f64 * 8.0;
    // Each of three users in each of 100 bins is rounded down to a whole bit per second.
    assert!(
        (0.0..30.0).contains(&(crossed - bits)),
        "{crossed} crossed, {bits} in bins"
    );
}

#[test]
fn no_bin_holds_more_than_its_capacity() {
    for row in run(&busy(), 4).truth {
        let used = row.cross_bps + row.flow_bps.values().sum::<u64>();
        // A packet's head may be done a fraction of a nanosecond before its instant.
        assert!(used <= row.capacity_bps + 10, "{row:?}");
        assert_eq!(row.capacity_bps, 10_000_000);
    }
}

#[test]
fn available_bandwidth_leaves_out_the_own_flow_and_counts_the_others() {
    let path = Path::default()
        .traffic("name = \"cross\"\nkind = \"cbr\"\nrate = \"3 Mbit/s\"\nsizes = \"500 B\"")
        .flow("main", "reno", "{ kind = \"bulk\" }", "")
        .flow(
            "video",
            "reno",
            "{ kind = \"frames\", rate = \"1 Mbit/s\", per_second = 30 }",
            "",
        );
    let result = run(&path, 1);
    let mean = |name: &str| {
        let truth = &result
            .flow(name)
            .expect("the flow is in the result")
            .reference
            .truth;
        let at = |s| Timestamp::from_origin(Duration::from_secs(s));
        truth.mean(at(5), at(15)).expect("there is a truth") / 1e6
    };
    // 10 - 3 - the video's 1 Mbit/s with 5 to 10 % of headers; and what Reno leaves of 10 - 3.
    assert!((5.85..5.97).contains(&mean("main")), "{}", mean("main"));
    assert!((1.0..1.5).contains(&mean("video")), "{}", mean("video"));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let first = json(&run(&busy(), 7));
    assert_eq!(first, json(&run(&busy(), 7)), "in the same thread");
    let other = std::thread::spawn(|| json(&run(&busy(), 7)));
    assert_eq!(
        first,
        other.join().expect("the thread ends"),
        "in another thread"
    );
    assert_ne!(first, json(&run(&busy(), 8)), "another seed");
}

#[test]
fn a_flow_that_does_nothing_leaves_cross_traffic_alone() {
    // Components draw from streams of their own, so one more flow that is idle must not move a
    // single packet.
    let cross = |path: Path| {
        let result = run(&path, 5);
        let cross = result.truth.iter().map(|row| row.cross_bps);
        cross.collect::<Vec<_>>()
    };
    let with_traffic =
        || Path::default().traffic("name = \"cross\"\nkind = \"poisson\"\nrate = \"4 Mbit/s\"");
    // The run ends before its first packet is through the path.
    let late = "start = \"14999 ms\"";
    let with_flow = with_traffic().flow("late", "reno", "{ kind = \"bulk\" }", late);
    assert_eq!(cross(with_traffic()), cross(with_flow));
}

/// Three links in a row; `whole` takes all of them, `near` the first, `far` the last two.
const THREE_LINKS: &str = r#"
name = "three"
title = "three links"
duration = "12 s"

[[link]]
name = "first"
rate = "20 Mbit/s"
delay = "10 ms"
queue = "100 KB"

[[link]]
name = "second"
rate = "30 Mbit/s"
delay = "30 ms"
queue = "100 KB"
reverse = { delay = "15 ms" }

[[link]]
name = "third"
rate = "25 Mbit/s"
delay = "5 ms"
queue = "100 KB"

[[traffic]]
name = "cross"
link = "second"
kind = "cbr"
rate = "12 Mbit/s"
sizes = "500 B"
steps = [{ at = "6 s", rate = "20 Mbit/s" }]

[[flow]]
name = "whole"
controller = "reno"
application = { kind = "datagrams", rate = "1 Mbit/s" }

[[flow]]
name = "near"
controller = "reno"
application = { kind = "datagrams", rate = "2 Mbit/s" }
to = "first"

[[flow]]
name = "far"
controller = "reno"
application = { kind = "datagrams", rate = "3 Mbit/s" }
from = "second"
"#;

fn three_links() -> RunResult {
    let scenario = Scenario::parse("three.toml", THREE_LINKS, &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let result = scenario.run(1, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn flows_enter_and_leave_where_they_are_told_to() {
    let result = three_links();
    let names = |link: &str| {
        let row = result.truth.iter().find(|row| row.link == link);
        let flows = &row.expect("the link has bins").flow_bps;
        flows.keys().cloned().collect::<Vec<_>>()
    };
    let expect = |users: &[(&str, u64)], link: &str| {
        let seen = result
            .truth
            .iter()
            .filter(|row| row.link == link && row.t_s >= 2.0);
        for (name, mbps) in users {
            let mean = seen.clone().map(|row| row.flow_bps[*name]).sum::<u64>() / 100;
            // Headers add 5 to 7 %.
            let range = mbps * 1_040_000..mbps * 1_080_000;
            assert!(range.contains(&mean), "{name} on {link}: {mean}");
        }
    };
    assert_eq!(names("first"), ["near", "whole"]);
    assert_eq!(names("second"), ["far", "whole"]);
    assert_eq!(names("third"), ["far", "whole"]);
    expect(&[("near", 2), ("whole", 1)], "first");
    expect(&[("far", 3), ("whole", 1)], "second");
    let rtt = |name: &str| {
        result
            .flow(name)
            .and_then(|f| f.rtt_ms)
            .expect("round trips")
            .min_ms
    };
    // Propagation: 10 + 30 + 5 forward, 10 + 15 + 5 back; then serialisation of at most 1.5 ms.
    assert!((75.0..76.5).contains(&rtt("whole")), "{}", rtt("whole"));
    assert!((20.0..21.5).contains(&rtt("near")), "{}", rtt("near"));
    assert!((55.0..56.5).contains(&rtt("far")), "{}", rtt("far"));
}

#[test]
fn the_server_sees_the_truth_of_its_tightest_link_when_acknowledgements_can_tell() {
    let result = three_links();
    let whole = &result
        .flow("whole")
        .expect("the flow is in the result")
        .reference;
    let mean = |from_ms, to_ms| {
        let at = |ms| Timestamp::from_origin(Duration::from_millis(ms));
        whole
            .truth
            .mean(at(from_ms), at(to_ms))
            .expect("there is a truth")
            / 1e6
    };
    // Second link: 30 - 12 - 3.2 of `far`, tighter than 20 - 2.1 and 25 - 3.2; then 30 - 20 - 3.2.
    assert!(
        (14.6..15.0).contains(&mean(3_000, 6_000)),
        "{}",
        mean(3_000, 6_000)
    );
    assert!(
        (6.6..7.0).contains(&mean(6_200, 11_000)),
        "{}",
        mean(6_200, 11_000)
    );
    // The step is seen 30 + 5 ms ahead and 10 + 15 + 5 ms back later, to the millisecond.
    assert!(mean(6_063, 6_064) > 14.0, "{}", mean(6_063, 6_064));
    assert!(mean(6_066, 6_067) < 8.0, "{}", mean(6_066, 6_067));
    assert_eq!(
        whole.steps,
        [Timestamp::from_origin(Duration::from_secs(6))]
    );
}
