//! Foreign QUIC stacks as peers of quiche, in virtual time.

mod asked;
mod asking;
#[path = "../common/mod.rs"]
mod common;
mod script;
mod servers;
mod world;

use common::{Path, run};
use imtcp_sim::result::{FlowResult, RunResult};

const STACKS: [&str; 2] = ["quinn", "noq"];

fn flow(result: &RunResult) -> &FlowResult {
    result.flow("main").expect("the flow is in the result")
}

fn path(controller: &str, application: &str, stack: &str, ack_frequency: bool) -> Path {
    let receiver = format!("receiver = {{ stack = \"{stack}\", ack_frequency = {ack_frequency} }}");
    Path::default().flow("main", controller, application, &receiver)
}

#[test]
fn foreign_clients_complete_a_transfer_and_every_byte_arrives_once() {
    for stack in STACKS {
        for controller in ["imtcp", "reno"] {
            let application = "{ kind = \"bulk\", size = \"5 MB\" }";
            let path = path(controller, application, stack, false);
            let result = run(&path, 1);
            let flow = flow(&result);
            println!(
                "{stack} {controller}: {:?} {:?} goodput {} sent {} lost {} acks {} rtt {:?} est {} mare {:?} cov {:?}",
                flow.completed_s,
                flow.ended,
                flow.goodput_bps,
                flow.sent_packets,
                flow.lost_packets,
                flow.acknowledgement_datagrams,
                flow.rtt_ms,
                flow.estimates.len(),
                flow.score.mare,
                flow.score.coverage95
            );
            let completed = flow.completed_s.expect("it completes");
            // 5 MB at 10 Mbit/s take 4 s at least.
            assert!(
                (4.0..5.5).contains(&completed),
                "{stack}, {controller}: {completed} s"
            );
            assert_eq!(flow.ended, None);
        }
    }
}

#[test]
fn one_seed_replays_all() {
    for stack in STACKS {
        let path =
            path("imtcp", "{ kind = \"bulk\" }", stack, true).link("loss = { rate = \"0.1 %\" }");
        let json = || serde_json::to_string(&run(&path, 7)).expect("it can be serialised");
        let first = json();
        assert!(first == json(), "{stack}");
    }
}
