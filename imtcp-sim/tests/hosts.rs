//! Endpoints on machines as they are.

use imtcp_sim::network::FlowId;
use imtcp_sim::result::{FlowResult, RunResult};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use imtcp_sim::simulation::Simulation;

/// The flow of a built-in scenario, cut to so many seconds, with some keys changed.
fn flow(name: &str, seconds: u32, keys: &[(&str, &str)], seed: u64) -> FlowResult {
    let mut result = run(name, seconds, keys, seed);
    result.flows.swap_remove(0)
}

fn run(name: &str, seconds: u32, keys: &[(&str, &str)], seed: u64) -> RunResult {
    let duration = format!("{seconds} s");
    let mut keys = keys.to_vec();
    keys.push(("duration", &duration));
    let result = load(name, &keys).run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{name} seed {seed}: {error}"))
}

fn load(name: &str, keys: &[(&str, &str)]) -> Scenario {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = keys.iter().map(owned).collect();
    Scenario::load(name, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// The measuring controller meets these machines in `tests/harm.rs`.
const CUBIC: (&str, &str) = ("flow.main.controller", "cubic");

#[test]
fn packets_that_are_handed_over_together_are_acknowledged_together() {
    let host = "{ receive_late = \"5 ms\" }";
    let keys = [CUBIC, ("flow.main.receiver.host", host)];
    let batches = flow("goodput-alone", 5, &keys, 1);
    let each = flow("goodput-alone", 5, &[CUBIC], 1);
    // One for each 5 ms at most, against one for each packet.
    assert!(
        batches.acknowledgement_datagrams <= 1010,
        "{} acknowledgements in 5 s",
        batches.acknowledgement_datagrams
    );
    assert!(each.acknowledgement_datagrams > 10_000, "{each:?}");
    let (least, all) = (batches.goodput_bps, each.goodput_bps);
    assert!(least > all / 10 * 9, "{least} of {all} bit/s");
}

#[test]
fn a_packet_a_millisecond_is_all_that_a_host_can_send_which_needs_one_for_each() {
    let keys = [CUBIC, ("flow.main.host", "{ send_takes = \"1 ms\" }")];
    let slow = flow("goodput-alone", 5, &keys, 1);
    assert!(slow.sent_packets <= 5001, "{} packets", slow.sent_packets);
    assert!(slow.sent_packets > 4800, "{} packets", slow.sent_packets);
}

#[test]
fn ticks_hold_back_what_nothing_else_lets_go() {
    // A datagram is due every 10 ms. Besides ticks only acknowledgements wake the server, one for
    // ten of them.
    let departures = |tick: &str| {
        let host = format!("{{ timer_tick = \"{tick}\" }}");
        let application = "{ kind = \"datagrams\", rate = \"0.8 Mbit/s\", size = \"1000 B\" }";
        let keys = [
            CUBIC,
            ("duration", "3 s"),
            ("flow.main.application", application),
            (
                "flow.main.receiver",
                "{ acknowledge = 10, delay = \"1 s\" }",
            ),
            ("flow.main.host", host.as_str()),
        ];
        let scenario = load("goodput-alone", &keys);
        let mut simulation = Simulation::new(&scenario, 1).expect("it can be set up");
        simulation.watch_departures(FlowId(0));
        simulation.advance(scenario.end());
        let departures = simulation.pairs()[0].departures().expect("watched");
        let mut instants: Vec<_> = departures.list().iter().map(|d| d.at).collect();
        instants.dedup();
        instants.len()
    };
    let (exact, ticking) = (departures("1 us"), departures("100 ms"));
    assert!(exact > 180, "{exact} instants in 3 s");
    assert!(ticking < 70, "{ticking} instants in 3 s");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another_one() {
    let text = |seed: u64| {
        let result = run("host-path-both", 3, &[], seed);
        serde_json::to_string(&result).expect("it is plain data")
    };
    let first = text(1);
    assert_eq!(first, text(1));
    let rest = |text: &str| {
        text.split_once("\"truth\"")
            .map(|(_, rest)| rest.to_owned())
    };
    assert_ne!(rest(&first), rest(&text(2)));
}

#[test]
fn other_controllers_fill_the_path_on_all_of_them() {
    for (name, mbps) in [
        ("host-late-100", 100.0),
        ("host-batches-100", 100.0),
        ("host-path-both", 40.0),
    ] {
        let share = flow(name, 8, &[CUBIC], 1).goodput_bps as f64 / (mbps * 1e6);
        assert!((0.88..0.99).contains(&share), "{name}: {share} of the link");
    }
}
