//! quinn and noq as servers of flows, with their own controllers.

use crate::common::{Path, run};
use crate::flow;
use imtcp_sim::result::FlowResult;

const CONTROLLERS: [&str; 4] = ["quinn-cubic", "quinn-bbr", "noq-cubic", "noq-bbr3"];
/// Those whose every draw is seeded.
const SEEDED: [&str; 2] = ["quinn-cubic", "noq-cubic"];

fn path(controller: &str, application: &str, stack: &str) -> Path {
    let receiver = format!("receiver = {{ stack = \"{stack}\" }}");
    Path::default().flow("main", controller, application, &receiver)
}

/// The median of what the stack told.
fn told(flow: &FlowResult) -> u64 {
    let mut told: Vec<u64> = flow.told.iter().map(|reading| reading.bps).collect();
    told.sort_unstable();
    told[told.len() / 2]
}

#[test]
fn they_fill_a_link_and_tell_what_it_carries() {
    for controller in CONTROLLERS {
        for stack in ["quiche", "quinn", "noq"] {
            let application = "{ kind = \"bulk\", size = \"5 MB\" }";
            let result = run(&path(controller, application, stack), 1);
            let flow = flow(&result);
            println!(
                "{controller} to {stack}: {:?} s, {} packets, {} lost, {} bit/s",
                flow.completed_s,
                flow.sent_packets,
                flow.lost_packets,
                told(flow)
            );
            // 5 MB at 10 Mbit/s take 4 s at least.
            let completed = flow.completed_s.expect("it completes");
            assert!((4.0..6.0).contains(&completed), "{controller}, {stack}");
            assert_eq!(flow.ended, None);
            assert!(flow.sent_packets > 3700, "{controller}, {stack}");
            assert!(
                (8_000_000..20_000_000).contains(&told(flow)),
                "{controller}, {stack}"
            );
        }
    }
}

#[test]
fn they_send_frames_and_datagrams_at_the_rate_of_the_source() {
    for controller in CONTROLLERS {
        for (kind, more) in [("frames", ", per_second = 30"), ("datagrams", "")] {
            let application = format!("{{ kind = \"{kind}\", rate = \"2 Mbit/s\"{more} }}");
            let result = run(&path(controller, &application, "quiche"), 1);
            let goodput = flow(&result).goodput_bps as f64;
            assert!(
                (1.9e6..2.05e6).contains(&goodput),
                "{controller}, {kind}: {goodput}"
            );
        }
    }
}

#[test]
fn a_rival_of_another_stack_has_its_part() {
    for controller in CONTROLLERS {
        let path = path(controller, "{ kind = \"bulk\" }", "quiche").flow(
            "ours",
            "imtcp",
            "{ kind = \"bulk\" }",
            "",
        );
        let result = run(&path, 1);
        for name in ["main", "ours"] {
            let flow = result.flow(name).expect("it is in the result");
            println!("{controller}: {name} {}", flow.goodput_bps);
            assert!(flow.goodput_bps > 500_000, "{controller}: {name}");
        }
    }
}

#[test]
fn one_seed_replays_those_that_draw_nothing_by_themselves() {
    for controller in SEEDED {
        let scenario = path(controller, "{ kind = \"bulk\" }", "quiche")
            .link("loss = { rate = \"0.1 %\" }")
            .scenario();
        let written = || {
            let result = scenario.run(7, Default::default()).expect("it runs");
            serde_json::to_string(&result).expect("a result can be serialised")
        };
        assert!(written() == written(), "{controller} does not repeat");
    }
}
