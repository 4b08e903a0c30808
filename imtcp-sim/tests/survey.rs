//! What the survey measures, on paths where the answer is known; `tests/harm.rs` holds the bars.

mod common;

use common::Path;
use imtcp_cc::units::Timestamp;
use imtcp_sim::endpoint::Departure;
use imtcp_sim::network::FlowId;
use imtcp_sim::simulation::Simulation;
use imtcp_sim::survey::{Class, Extent, compare};
use std::time::Duration;

/// What leaves the server of the path's first flow, and what its client reads.
fn departures(path: &Path) -> (Vec<Departure>, u64) {
    let scenario = path.scenario();
    let mut simulation = Simulation::new(&scenario, 1).expect("it can be set up");
    simulation.watch_departures(FlowId(0));
    simulation.advance(scenario.end());
    let pair = &simulation.pairs()[0];
    let departures = pair.departures().expect("watched").list();
    (departures, pair.delivery().bytes)
}

#[test]
fn a_source_slower_than_its_path_waits_for_nothing() {
    for application in [
        "{ kind = \"frames\", rate = \"2 Mbit/s\", per_second = 50 }",
        "{ kind = \"datagrams\", rate = \"2 Mbit/s\" }",
    ] {
        let path = Path::default().flow("main", "cubic", application, "");
        let (departures, read) = departures(&path);
        let left: u64 = departures.iter().map(|d| d.bytes).sum();
        // Data under way at the end: half a round trip and a frame.
        assert!(left >= read && left - read < 15_000, "{left} and {read}");
        let begun = Timestamp::from_origin(Duration::from_secs(1));
        let late = departures.iter().filter(|d| d.at > begun);
        let oldest = late.map(|d| d.age).max().expect("data");
        assert!(
            oldest < Duration::from_millis(1),
            "{application}: {oldest:?}"
        );
    }
}

#[test]
fn a_source_faster_than_its_path_waits_longer_and_longer() {
    // 12 Mbit/s on a link that carries 9.6 of them as data: after 15 s the newest data to leave has
    // waited for a fifth of that time, less what the queue holds (50 KB, 40 ms).
    let application = "{ kind = \"frames\", rate = \"12 Mbit/s\", per_second = 50 }";
    let path = Path::default().flow("main", "cubic", application, "");
    let (departures, read) = departures(&path);
    let carried = read as f64 * 8.0 / 15.0;
    let expected = 15.0 * (1.0 - carried / 12e6);
    let last = departures.last().expect("data").age.as_secs_f64();
    assert!(expected > 2.0, "the path is too fast for this test");
    assert!(
        (last - expected).abs() < 0.2,
        "{last} s, expected {expected} s"
    );
}

#[test]
fn what_a_seed_draws_runs_again_to_the_same_end() {
    let path = Class::Steps.draw(10).expect("what is drawn is valid");
    let run = || {
        let extent = Extent {
            placebo: true,
            repeats: 0,
        };
        let paired = compare(&path, 10, extent).unwrap_or_else(|error| panic!("{error}"));
        serde_json::to_string(&paired).expect("it is plain data")
    };
    assert_eq!(run(), run());
}
