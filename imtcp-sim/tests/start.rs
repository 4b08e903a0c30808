//! How a transfer begins: alone, beside others, and on a path that was seen before.

use imtcp_cc::units::Timestamp;
use imtcp_sim::result::{FlowResult, RunResult};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

fn run(settings: &[(&str, &str)], seed: u64) -> RunResult {
    let settings: Vec<_> = settings
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let scenario = Scenario::load("start", &settings).expect("it is built in");
    let result = scenario.run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn main_flow(settings: &[(&str, &str)], seed: u64) -> FlowResult {
    run(settings, seed).flow("main").expect("there").clone()
}

const HALF: (&str, &str) = ("link.bottleneck.queue", "125 KB");
const ONE: (&str, &str) = ("link.bottleneck.queue", "250 KB");
const FOUR: (&str, &str) = ("link.bottleneck.queue", "1 MB");

#[test]
fn ten_mebibytes_alone_reach_40_megabits_with_a_thousandth_lost_at_most() {
    for queue in [HALF, ONE, FOUR] {
        let flow = main_flow(&[queue], 1);
        let (lost, sent) = (flow.lost_packets, flow.sent_packets);
        assert!(
            flow.goodput_bps >= 40_000_000,
            "{queue:?}: {}",
            flow.goodput_bps
        );
        assert!(lost * 1000 <= sent, "{queue:?}: {lost} of {sent}");
    }
}

/// HyStart++ sees the queue in the round in which it grows, and still late.
#[test]
fn without_the_measured_start_slow_start_overshoots_by_one_or_two_per_cent() {
    let off = ("flow.main.imtcp.measured_start", "false");
    let flow = main_flow(&[ONE, off], 1);
    let (lost, sent) = (flow.lost_packets, flow.sent_packets);
    let is_within = lost * 100 >= sent && lost * 50 < sent;
    assert!(is_within, "{lost} of {sent}");
}

#[test]
fn a_long_path_is_filled_without_loss() {
    let long = [
        ("link.bottleneck.delay", "100 ms"),
        ("link.bottleneck.queue", "625 KB"),
    ];
    assert_eq!(main_flow(&long, 1).lost_packets, 0);
}

#[test]
fn beside_poisson_traffic_less_is_lost_and_nothing_is_slower() {
    let cross = ("traffic.cross.rate", "20 Mbit/s");
    let off = ("flow.main.imtcp.measured_start", "false");
    for queue in [HALF, ONE] {
        let (mut with, mut without) = ((0, 0), (0, 0));
        for seed in 1..=4 {
            let (on, off) = (
                main_flow(&[queue, cross], seed),
                main_flow(&[queue, cross, off], seed),
            );
            with = (with.0 + on.goodput_bps, with.1 + on.lost_packets);
            without = (without.0 + off.goodput_bps, without.1 + off.lost_packets);
        }
        assert!(
            with.0 * 100 >= without.0 * 99,
            "{queue:?}: {with:?} and {without:?}"
        );
        assert!(
            with.1 * 3 <= without.1 * 2,
            "{queue:?}: {with:?} and {without:?}"
        );
    }
}

/// The path of 200 ms, so that round trips are long against the record's steps of 0.1 s.
const LONG: [(&str, &str); 2] = [
    ("link.bottleneck.delay", "100 ms"),
    ("link.bottleneck.queue", "1250 KB"),
];

#[test]
fn a_remembered_path_is_filled_two_round_trips_after_the_first_data() {
    let rate_bps = |settings: &[(&str, &str)]| {
        let result = run(&[&LONG[..], settings].concat(), 1);
        let at = |ms: u64| {
            let at = Timestamp::from_nanos(ms * 1_000_000);
            let samples = &result.flow("main").expect("there").snapshots;
            let sample = samples.iter().find(|sample| sample.at >= at);
            sample.expect("while it runs").delivered
        };
        // The server's first data leaves at 200 ms. What leaves two round trips later is read from
        // 700 ms on.
        (at(1000) - at(700)) as f64 * 8.0 / 0.3
    };
    // A packet of 1378 bytes carries 1310 of the application at most.
    let free = 50e6 * 1310.0 / 1378.0;
    let remembered = r#"{ available = "50 Mbit/s", round_trip = "200 ms" }"#;
    let with = rate_bps(&[("flow.main.remembered", remembered)]);
    assert!(with >= 0.9 * free, "{with} of {free} bit/s");
    let without = rate_bps(&[]);
    assert!(without <= 0.2 * free, "{without} of {free} bit/s");
    let off = ("flow.main.imtcp.remember_paths", "false");
    let off = rate_bps(&[("flow.main.remembered", remembered), off]);
    assert_eq!(off.to_bits(), without.to_bits());
}

#[test]
fn what_is_remembered_four_times_too_high_is_no_slower_than_slow_start() {
    let wrong = r#"{ available = "200 Mbit/s", round_trip = "40 ms" }"#;
    let wrong = ("flow.main.remembered", wrong);
    let slow_start = ("flow.main.imtcp.measured_start", "false");
    // A client that acknowledges 16 packets together shows no capacity in the first flight.
    let sparse = ("flow.main.receiver", "{ acknowledge = 16 }");
    let crossed = ("traffic.cross.rate", "20 Mbit/s");
    for queue in [HALF, ONE, FOUR] {
        for other in [("duration", "12 s"), sparse, crossed] {
            let jumped = main_flow(&[queue, other, wrong], 1);
            let forgot = main_flow(&[queue, other], 1);
            let is_tried = jumped.goodput_bps != forgot.goodput_bps;
            assert!(
                is_tried,
                "{queue:?}, {other:?}: what is remembered changes nothing"
            );
            let plain = main_flow(&[queue, other, slow_start], 1);
            let (jumped, plain) = (jumped.goodput_bps, plain.goodput_bps);
            assert!(
                jumped * 1000 >= plain * 995,
                "{queue:?}, {other:?}: {jumped} and {plain}"
            );
        }
    }
}
