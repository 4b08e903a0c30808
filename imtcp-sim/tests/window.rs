//! What the window makes of a path alone.

use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

/// Goodput of the flow `main` in a scenario that is built in.
fn goodput_of(scenario: &str, seed: u64, settings: &[(&str, &str)]) -> u64 {
    let settings = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned()));
    let settings: Vec<_> = settings.collect();
    let scenario = Scenario::load(scenario, &settings).expect("it is built in");
    let result = scenario.run(seed, RunOptions::default());
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    result.flow("main").expect("there").goodput_bps
}

/// Goodput of a flow alone on 50 Mbit/s, 100 ms, with a queue of half a bandwidth-delay product.
fn goodput_bps(settings: &[(&str, &str)]) -> u64 {
    let path = [
        ("link.bottleneck.delay", "50 ms"),
        ("link.bottleneck.queue", "312500 B"),
        ("duration", "30 s"),
    ];
    goodput_of("goodput-alone", 1, &[&path[..], settings].concat())
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

/// What is lost while a client sleeps is lost in a row, and nothing waits around it. When each
/// packet counted, the window fell each time, and took seconds to grow again: 118 Mbit/s.
#[test]
fn a_client_that_is_away_for_milliseconds_costs_no_window() {
    let [ours, quiche] = ["imtcp", "cubic"]
        .map(|controller| goodput_of("away", 1, &[("flow.main.controller", controller)]));
    assert!(ours >= quiche, "{ours} bit/s beside {quiche} of quiche's");
}

/// A client that sleeps works off its socket, and packets wait for that. When each run of losses
/// around such a wait was congestion, the flow got 124 Mbit/s.
#[test]
fn a_client_that_sleeps_and_works_off_what_came_costs_no_window() {
    let [ours, quiche] = ["imtcp", "cubic"]
        .map(|controller| goodput_of("nap", 8, &[("flow.main.controller", controller)]));
    assert!(ours >= quiche, "{ours} bit/s beside {quiche} of quiche's");
}

/// The first thing that this client's socket lost ended slow start at 1.8 of 4.5 MB: 88 Mbit/s.
#[test]
fn a_client_that_sleeps_does_not_end_slow_start() {
    let goodput = goodput_of("nap", 1, &[("duration", "8 s")]);
    assert!(goodput > 180_000_000, "{goodput} bit/s");
}

/// The window is larger than the path here, so that packets wait all the time, and what the socket
/// loses meanwhile is a run that lasts: 144 Mbit/s when it was congestion.
#[test]
fn a_client_that_sleeps_costs_no_window_while_packets_wait() {
    let goodput = goodput_of(
        "nap",
        1,
        &[
            ("link.link.rate", "200 Mbit/s"),
            ("link.link.delay", "30 ms"),
            ("link.link.queue", "750 KB"),
            ("duration", "8 s"),
        ],
    );
    assert!(goodput > 160_000_000, "{goodput} bit/s");
}

/// quinn's client closes the connection at 1024 gaps in its stream. A large window that doubled
/// left two thousand, because packets that leave one by one are lost one by one: 25 Mbit/s until
/// then.
#[test]
fn a_large_window_that_overflows_the_queue_costs_no_connection() {
    let goodput = goodput_bps(&[
        ("link.bottleneck.rate", "300 Mbit/s"),
        ("link.bottleneck.delay", "60 ms"),
        ("link.bottleneck.queue", "1350 KB"),
        (
            "flow.main.receiver",
            "{ stack = \"quinn\", ack_frequency = false }",
        ),
        ("duration", "3 s"),
    ]);
    assert!(goodput > 150_000_000, "{goodput} bit/s");
}

/// The client acknowledges every tenth packet, and the queue holds two. With bursts of a sixteenth
/// of a round trip the flow got 1.0 Mbit/s of 25, as little as quiche's CUBIC.
#[test]
fn an_acknowledgement_that_frees_many_packets_does_not_overflow_a_short_queue() {
    let path = [
        ("link.bottleneck.rate", "25 Mbit/s"),
        ("link.bottleneck.delay", "3.5 ms"),
        ("link.bottleneck.queue", "3000 B"),
        (
            "flow.main.receiver",
            "{ acknowledge = 10, ack_frequency = false }",
        ),
        ("duration", "15 s"),
    ];
    let goodput = |settings: &[(&str, &str)]| goodput_bps(&[&path[..], settings].concat());
    let ours = goodput(&[("flow.main.imtcp.measurement", "false")]);
    let quiche = goodput(&[("flow.main.controller", "cubic")]);
    assert!(
        ours > 3 * quiche,
        "{ours} bit/s beside {quiche} of quiche's"
    );
    let measuring = goodput(&[]);
    assert!(measuring * 100 >= ours * 95, "{measuring} of {ours} bit/s");
}
