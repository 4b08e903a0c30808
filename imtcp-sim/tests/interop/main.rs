//! Foreign QUIC stacks as peers of quiche, in virtual time.

mod asked;
mod asking;
#[path = "../common/mod.rs"]
mod common;
mod keys;
mod marks;
mod measuring;
mod overheard;
mod script;
mod senders;
mod servers;
mod world;

use common::{Path, run};
use imtcp_sim::result::{FlowResult, RunResult};
use imtcp_sim::run::{Qlog, RunOptions, qlog_path};

const STACKS: [&str; 2] = ["quinn", "noq"];

fn flow(result: &RunResult) -> &FlowResult {
    result.flow("main").expect("the flow is in the result")
}

fn path(controller: &str, application: &str, stack: &str, ack_frequency: bool) -> Path {
    let receiver = format!("receiver = {{ stack = \"{stack}\", ack_frequency = {ack_frequency} }}");
    Path::default().flow("main", controller, application, &receiver)
}

#[test]
fn foreign_clients_get_every_byte_and_their_path_is_measured() {
    for stack in STACKS {
        for (controller, measures) in [("imtcp", true), ("reno", false)] {
            let application = "{ kind = \"bulk\", size = \"5 MB\" }";
            let result = run(&path(controller, application, stack, false), 1);
            let flow = flow(&result);
            println!(
                "{stack}, {controller}: {:?} s, {} packets, {} ACK datagrams, {} estimates, {:?}",
                flow.completed_s,
                flow.sent_packets,
                flow.acknowledgement_datagrams,
                flow.estimates.len(),
                flow.score.mare
            );
            let completed = flow.completed_s.expect("it completes");
            // 5 MB at 10 Mbit/s take 4 s at least.
            assert!(
                (4.0..5.0).contains(&completed),
                "{stack}, {controller}: {completed} s"
            );
            assert_eq!(flow.ended, None);
            assert_eq!(flow.estimates.len() > 40, measures, "{stack}");
            assert_eq!(
                flow.score.mare.is_some_and(|error| error < 0.01),
                measures,
                "{stack}: {:?}",
                flow.score.mare
            );
        }
    }
}

#[test]
fn foreign_clients_read_datagrams() {
    for stack in STACKS {
        let application = "{ kind = \"datagrams\", rate = \"2 Mbit/s\" }";
        let result = run(&path("reno", application, stack, true), 1);
        let goodput = flow(&result).goodput_bps as f64;
        // The handshake takes the first tenth of a second of 15.
        assert!((1.9e6..2.05e6).contains(&goodput), "{stack}: {goodput}");
    }
}

#[test]
fn one_seed_replays_all_byte_for_byte() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop-replays");
    std::fs::create_dir_all(&folder).expect("the folder for test files can be made");
    for stack in STACKS {
        let scenario = path("imtcp", "{ kind = \"bulk\" }", stack, true)
            .link("loss = { rate = \"0.1 %\" }")
            .scenario();
        let written = |seed| {
            let options = RunOptions {
                qlog: Some(Qlog::into_folder(&folder)),
                progress: None,
            };
            let result = scenario.run(seed, options).expect("it runs");
            let json = serde_json::to_string(&result).expect("a result can be serialised");
            let qlog = std::fs::read(qlog_path(&folder, &scenario, seed, "main"));
            (json, qlog.expect("the qlog can be read"))
        };
        let first = written(7);
        assert!(first == written(7), "{stack} does not repeat");
        // Connection ids and packet numbers are drawn from the seed.
        assert!(first.1 != written(8).1, "{stack}: the seed has no effect");
    }
}
