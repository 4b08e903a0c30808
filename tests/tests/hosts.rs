//! Endpoints on machines as they are.

use imtcp_sim::result::{FlowResult, RunResult};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::{Controller, Scenario};

/// The flow of a built-in scenario, cut to so many seconds, with some keys changed.
fn flow(name: &str, seconds: u32, keys: &[(&str, &str)], seed: u64) -> FlowResult {
    let mut result = run(name, seconds, keys, seed);
    result.flows.swap_remove(0)
}

fn run(name: &str, seconds: u32, keys: &[(&str, &str)], seed: u64) -> RunResult {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let mut overrides: Vec<_> = keys.iter().map(owned).collect();
    overrides.push(("duration".to_owned(), format!("{seconds} s")));
    let scenario = Scenario::load(name, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let result = scenario.run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{name} seed {seed}: {error}"))
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
    // Datagrams every 2.5 ms that the client does not acknowledge for a second: only ticks wake the
    // server.
    let scenario = |tick: &str| {
        let host = format!("{{ timer_tick = \"{tick}\" }}");
        let application = "{ kind = \"datagrams\", rate = \"3.2 Mbit/s\", size = \"1000 B\" }";
        let keys = [
            CUBIC,
            ("flow.main.application", application),
            (
                "flow.main.receiver",
                "{ acknowledge = \"timer\", delay = \"1 s\" }",
            ),
            ("flow.main.host", host.as_str()),
        ];
        let flow = flow("goodput-alone", 3, &keys, 1);
        // A batch of packets waits for the one before it at 50 Mbit/s.
        flow.rtt_ms.expect("round trips").p95
    };
    let (exact, ticking) = (scenario("1 us"), scenario("100 ms"));
    assert!(ticking > exact + 4.0, "{ticking} ms, ideal {exact} ms");
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
        let mut scenario = Scenario::load(name, &[]).unwrap_or_else(|error| panic!("{error}"));
        scenario.duration = std::time::Duration::from_secs(8);
        scenario.flows[0].controller = Controller::Cubic;
        let result = scenario.run(1, RunOptions::default());
        let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
        let share = result.flows[0].goodput_bps as f64 / (mbps * 1e6);
        assert!((0.88..0.99).contains(&share), "{name}: {share} of the link");
    }
}
