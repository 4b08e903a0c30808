//! quiche asks, and clients obey (draft-ietf-quic-ack-frequency).

use crate::common::Path;
use crate::script::{Log, Script, Scripts, read};
use imtcp_sim::result::FlowResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Controller;
use quiche::cc::AckFrequency;
use std::collections::BTreeSet;
use std::time::Duration;

/// The tests hold quiche's own client to the same.
const STACKS: [&str; 3] = ["quiche", "quinn", "noq"];

/// Five seconds of a bulk transfer over 10 Mbit/s, some 4000 packets, none of them lost.
fn run(stack: &str, offered: bool, about: &str, script: Script) -> (FlowResult, Log) {
    // quiche acknowledges every second packet here, as the others do by themselves.
    let cadence = if stack == "quiche" {
        "acknowledge = 2, "
    } else {
        ""
    };
    let receiver =
        format!("receiver = {{ {cadence}stack = \"{stack}\", ack_frequency = {offered} }}");
    let path = Path::default()
        .lasting(5)
        .flow("main", "reno", "{ kind = \"bulk\" }", &receiver);
    let mut scenario = path.scenario();
    let name: &'static str = format!("{about}-{stack}-{offered}").leak();
    let log = Scripts::register(name, script);
    scenario.flows[0].controller = Controller::Registered(name);
    let result = scenario.run(1, RunOptions::default()).expect("it runs");
    let flow = result.flows.into_iter().next().expect("there is a flow");
    assert_eq!(flow.ended, None, "{name}");
    let log = std::mem::take(&mut *read(&log));
    assert!(log.sent.len() > 3000, "{name}: {} packets", log.sent.len());
    assert_eq!(log.lost, 0, "{name}");
    (flow, log)
}

/// Counts packets that asked and whose acknowledgement had the time to come. The first number is
/// that of packets that are the largest of an ACK frame of their own, without delay. The second is
/// that of all.
fn obeyed(log: &Log) -> (usize, usize) {
    let (last, _) = log.acks.last().expect("there are acknowledgements");
    let at_once = log
        .acks
        .iter()
        .filter(|(_, delay)| *delay < Duration::from_millis(1))
        .map(|(largest, _)| *largest)
        .collect::<BTreeSet<_>>();
    let asked = log.immediate.iter().filter(|number| *number <= last);
    let own = asked.clone().filter(|number| at_once.contains(number));
    (own.count(), asked.count())
}

/// ACK datagrams per packet with data.
fn ratio(flow: &FlowResult, log: &Log) -> f64 {
    flow.acknowledgement_datagrams as f64 / log.sent.len() as f64
}

#[test]
fn each_packet_that_asks_is_acknowledged_by_itself() {
    let script = Script {
        immediate_every: Some(7),
        frequency: None,
    };
    for stack in STACKS {
        let (flow, log) = run(stack, true, "immediate", script);
        let (own, asked) = obeyed(&log);
        println!(
            "{stack}: IMMEDIATE_ACK {own} of {asked}; {} ACK datagrams for {} packets; {:?}",
            flow.acknowledgement_datagrams,
            log.sent.len(),
            log.peer
        );
        assert!(asked > 500, "{stack}: {asked} asked");
        assert_eq!(own, asked, "{stack}");
    }
}

#[test]
fn the_peer_s_parameters_are_known() {
    for stack in STACKS {
        for offered in [true, false] {
            let (_, log) = run(stack, offered, "parameters", Script::default());
            let peer = log.peer.expect("the controller was told");
            assert_eq!(peer.max_ack_delay, Duration::from_millis(25), "{stack}");
            let least = offered.then_some(Duration::from_millis(1));
            assert_eq!(peer.min_ack_delay, least, "{stack}");
        }
    }
}

#[test]
fn a_peer_that_offers_nothing_is_asked_nothing() {
    let script = Script {
        immediate_every: Some(7),
        frequency: Some(AckFrequency {
            ack_eliciting_threshold: 9,
            max_ack_delay: Duration::from_millis(25),
            reordering_threshold: 1,
        }),
    };
    for stack in STACKS {
        let (flow, log) = run(stack, false, "nothing", script);
        println!(
            "{stack}: not offered: {:.3} ACK datagrams a packet",
            ratio(&flow, &log)
        );
        // A frame that is not known would have closed the connection.
        assert_eq!(log.immediate, [0; 0], "{stack}: nobody is asked");
        assert!((0.48..0.55).contains(&ratio(&flow, &log)), "{stack}");
    }
}

#[test]
fn every_tenth_packet_is_acknowledged_on_request() {
    let frequency = AckFrequency {
        ack_eliciting_threshold: 9,
        max_ack_delay: Duration::from_millis(25),
        reordering_threshold: 1,
    };
    let script = Script {
        immediate_every: None,
        frequency: Some(frequency),
    };
    for stack in STACKS {
        let (plain, before) = run(stack, true, "unasked", Script::default());
        let (asked, after) = run(stack, true, "tenth", script);
        println!(
            "{stack}: {} ACK datagrams for {} packets unasked, {} for {} asked for every tenth",
            plain.acknowledgement_datagrams,
            before.sent.len(),
            asked.acknowledgement_datagrams,
            after.sent.len()
        );
        assert!((0.48..0.55).contains(&ratio(&plain, &before)), "{stack}");
        assert!((0.09..0.12).contains(&ratio(&asked, &after)), "{stack}");
    }
}

#[test]
fn single_packets_are_acknowledged_at_once_among_thinned_ones() {
    // A packet takes 1.1 ms, so 25 ms pass with every 23rd packet. The tenth packet comes first.
    let script = Script {
        immediate_every: Some(10),
        frequency: Some(AckFrequency {
            ack_eliciting_threshold: 1000,
            max_ack_delay: Duration::from_millis(25),
            reordering_threshold: 1,
        }),
    };
    for stack in STACKS {
        let (flow, log) = run(stack, true, "both", script);
        let (own, asked) = obeyed(&log);
        println!(
            "{stack}: both: {own} of {asked}; {} ACK datagrams for {} packets",
            flow.acknowledgement_datagrams,
            log.sent.len()
        );
        assert!(asked > 300, "{stack}: {asked} asked");
        assert_eq!(own, asked, "{stack}");
        assert!((0.09..0.12).contains(&ratio(&flow, &log)), "{stack}");
    }
}
