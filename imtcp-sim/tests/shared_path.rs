//! Promises of one server over one path share its bounds.

use imtcp_cc::event::Event;
use imtcp_cc::promise::{Cause, Status};
use imtcp_sim::result::{FlowResult, RunResult};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::{Scenario, library};
use std::time::Duration;

const PROMISES: [&str; 3] = ["main-1", "main-2", "main-3"];
const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

/// Three promises of 12 of 30 Mbit/s beside four flows of CUBIC.
fn hopeless(own_process: bool, seed: u64) -> RunResult {
    let overrides = [("flow.main.own_process".to_owned(), own_process.to_string())];
    let text = library::text("hopeless").expect("a built-in scenario");
    let scenario = Scenario::parse("hopeless.toml", text, &overrides);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let result = scenario.run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn flow<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    result.flow(name).expect("the flow is in the result")
}

#[test]
fn print() {
    for own in [true, false] {
        for seed in SEEDS {
            let result = hopeless(own, seed);
            for flow in &result.flows {
                println!(
                    "own {own} seed {seed} {} {:.2} Mbit/s lost {:.2} % kept {:?}",
                    flow.name,
                    flow.goodput_bps as f64 / 1e6,
                    100.0 * flow.lost_packets as f64 / flow.sent_packets as f64,
                    flow.promise.as_ref().map(|p| (p.all.kept_share, p.slots.iter().map(|s| s.kept as u8).collect::<Vec<_>>())),
                );
                for said in &flow.events {
                    if let Event::PromiseStatusChanged { status } = said.event {
                        println!("   {:.2} {status:?}", said.at.as_secs_f64());
                    }
                }
            }
        }
    }
}
