//! What the window makes of a path alone.

use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

/// Goodput of a flow alone on 50 Mbit/s, 100 ms, with a queue of half a bandwidth-delay product.
fn goodput_bps(settings: &[(&str, &str)]) -> u64 {
    let path = [
        ("link.bottleneck.delay", "50 ms"),
        ("link.bottleneck.queue", "312500 B"),
        ("duration", "30 s"),
    ];
    let all = path.iter().chain(settings);
    let all: Vec<_> = all.map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let scenario = Scenario::load("goodput-alone", &all).expect("it is built in");
    let result = scenario.run(1, RunOptions::default());
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    result.flow("main").expect("there").goodput_bps
}

#[test]
fn cubic_fills_a_path_with_a_short_queue_as_well_as_quiches_and_reno_does_not() {
    let window = |law| {
        goodput_bps(&[
            ("flow.main.imtcp.measurement", "false"),
            ("flow.main.imtcp.window", law),
        ])
    };
    let (cubic, reno) = (window("cubic"), window("reno"));
    let quiche = goodput_bps(&[("flow.main.controller", "cubic")]);
    assert!(
        cubic * 100 >= quiche * 98,
        "{cubic} bit/s beside {quiche} of quiche's"
    );
    // After a loss Reno has 0.75 of the path's product, and 116 round trips to the whole of it.
    assert!(
        cubic * 100 >= reno * 103,
        "{cubic} bit/s beside {reno} of Reno's"
    );
}
