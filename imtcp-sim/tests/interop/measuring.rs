//! The project's own controller, its probes, and what clients make of them.

use crate::common::Path;
use crate::overheard::{self, Log};
use imtcp_sim::result::FlowResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::{Controller, Scenario};
use std::sync::PoisonError;
use std::time::Duration;

/// The tests hold quiche's own client to the same.
const STACKS: [&str; 3] = ["quiche", "quinn", "noq"];

/// A client's part of a scenario. quiche is told to acknowledge every second packet, as the others
/// do by themselves.
fn receiver(stack: &str, ack_frequency: bool) -> String {
    let cadence = if stack == "quiche" {
        "acknowledge = 2, "
    } else {
        ""
    };
    format!("{{ {cadence}stack = \"{stack}\", ack_frequency = {ack_frequency} }}")
}

fn only_flow(scenario: &Scenario) -> FlowResult {
    let result = scenario.run(1, RunOptions::default()).expect("it runs");
    let flow = result.flows.into_iter().next().expect("there is a flow");
    assert_eq!(flow.ended, None);
    flow
}

/// The fate of the probes that were not lost and whose acknowledgement had the time to come.
#[derive(Debug, Default)]
struct Probes {
    sent: usize,
    /// Probes that are the largest number of an ACK frame.
    own: usize,
    /// Those among them whose frame was held for 1 ms or more.
    held: usize,
}

fn probes(log: &Log) -> Probes {
    let (last, _) = log.acks.last_key_value().expect("it is acknowledged");
    let mut probes = Probes::default();
    for number in log.probes.range(..=*last).filter(|n| !log.lost.contains(n)) {
        probes.sent += 1;
        if let Some(delay) = log.acks.get(number) {
            probes.own += 1;
            probes.held += usize::from(*delay >= Duration::from_millis(1));
        }
    }
    probes
}

const FRAMES: &str = "{ kind = \"frames\", rate = \"4 Mbit/s\", per_second = 30 }";

/// Cross traffic moves the rates of streams. A connection with a full window would only be watched.
fn shared_path(stack: &str, ack_frequency: bool) -> Scenario {
    let receiver = format!("receiver = {}", receiver(stack, ack_frequency));
    Path::default()
        .lasting(15)
        .traffic("name = \"cross\"\nkind = \"poisson\"\nrate = \"4 Mbit/s\"")
        .flow("main", "imtcp", FRAMES, &receiver)
        .scenario()
}

fn overheard_probes(stack: &str, ack_frequency: bool) -> Probes {
    let mut scenario = shared_path(stack, ack_frequency);
    let name: &'static str = format!("overheard-{stack}-{ack_frequency}").leak();
    let log = overheard::register(name);
    scenario.flows[0].controller = Controller::Registered(name);
    let flow = only_flow(&scenario);
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let probes = probes(&log);
    println!(
        "{stack}, {ack_frequency}: {} of {} probes acknowledged by themselves, {} of these held; \
         {} ACK datagrams for {} packets, {} lost",
        probes.own,
        probes.sent,
        probes.held,
        flow.acknowledgement_datagrams,
        flow.sent_packets,
        log.lost.len(),
    );
    probes
}

#[test]
fn each_probe_is_acknowledged_by_itself() {
    for stack in STACKS {
        let probes = overheard_probes(stack, true);
        // One packet in 32 is a probe, because each of them costs an acknowledgement.
        assert!(
            (100..200).contains(&probes.sent),
            "{stack}: {}",
            probes.sent
        );
        assert_eq!(probes.held, 0, "{stack}");
        assert_eq!(probes.own, probes.sent, "{stack}");
        // Without being asked the same client acknowledges pairs.
        let pairs = overheard_probes(stack, false);
        let share = pairs.own as f64 / pairs.sent as f64;
        assert!((0.4..0.7).contains(&share), "{stack}: {share}");
    }
}

#[test]
fn pairs_are_enough_without_the_extension() {
    for stack in STACKS {
        let overrides = [
            ("duration".to_owned(), "\"12 s\"".to_owned()),
            ("flow.main.receiver".to_owned(), receiver(stack, false)),
        ];
        let scenario = Scenario::load("m0-poisson-20", &overrides).expect("it is built in");
        let flow = only_flow(&scenario);
        println!(
            "{stack}: {} estimates {:?}; {} classic estimates {:?}",
            flow.estimates.len(),
            flow.score,
            flow.estimates_classic.len(),
            flow.score_classic
        );
        assert!(flow.score.scored >= 100, "{stack}: {:?}", flow.score);
        let mare = flow.score.mare.expect("estimates are scored");
        assert!(mare <= 0.02, "{stack}: {mare}");
        // Beside the default estimator streams only check a link that is always busy.
        let driver = "flow.main.imtcp.estimator".to_owned();
        let overrides = [&overrides[..], &[(driver, "\"classic\"".to_owned())]].concat();
        let scenario = Scenario::load("m0-poisson-20", &overrides).expect("it is built in");
        let scored = only_flow(&scenario).score_classic.scored;
        assert!(scored >= 50, "{stack}: {scored}");
    }
}

#[test]
fn acknowledgements_on_request_are_three_times_fewer() {
    for load in ["acks-alone", "acks-poisson-20"] {
        for stack in STACKS {
            let [by_itself, on_request] = [false, true].map(|asked| {
                let overrides = [
                    ("duration".to_owned(), "\"15 s\"".to_owned()),
                    ("flow.main.receiver".to_owned(), receiver(stack, asked)),
                ];
                only_flow(&Scenario::load(load, &overrides).expect("it is built in"))
            });
            let datagrams = |flow: &FlowResult| flow.acknowledgement_datagrams as f64;
            let saved = datagrams(&by_itself) / datagrams(&on_request);
            let goodput = on_request.goodput_bps as f64 / by_itself.goodput_bps as f64;
            println!(
                "{load}, {stack}: {} ACK datagrams by itself, {} on request: {saved:.2} times \
                 fewer; goodput {goodput:.4} of what it was",
                by_itself.acknowledgement_datagrams, on_request.acknowledgement_datagrams
            );
            assert!(saved >= 3.0, "{load}, {stack}: {saved}");
            assert!(goodput >= 0.99, "{load}, {stack}: {goodput}");
        }
    }
}
