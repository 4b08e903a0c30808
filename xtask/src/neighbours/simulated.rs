//! The same in the simulator.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Carrier, Measured, Neighbour, PROMISE_OF_SIMULATOR};
use crate::testbed::parse;
use crate::workspace;

#[derive(Deserialize)]
struct Run {
    flows: Vec<Flow>,
    #[serde(default)]
    cross_delays: Vec<Delays>,
}

#[derive(Deserialize)]
struct Flow {
    name: String,
    goodput_bps: f64,
    promise: Option<Promise>,
}

#[derive(Deserialize)]
struct Promise {
    required_bps: f64,
    slots: Vec<Slot>,
}

#[derive(Deserialize)]
struct Slot {
    achieved_bps: f64,
    kept: bool,
}

#[derive(Deserialize)]
struct Delays {
    mean_ms: f64,
    p95_ms: f64,
}

/// Simulates with all seeds: one result for each.
pub fn run(
    simulator: &Path,
    out: &Path,
    (carrier, neighbour): (Carrier, Neighbour),
    (seconds, seeds): (u32, u32),
) -> Result<Vec<Measured>> {
    let json = out.join(format!("simulated-{carrier}-{neighbour}.json"));
    let mut settings = vec![format!("duration=\"{seconds} s\"")];
    settings.push(match carrier {
        Carrier::Imtcp => format!("flow.video.imtcp={PROMISE_OF_SIMULATOR}"),
        Carrier::Cubic => "flow.video.controller=cubic".to_owned(),
    });
    let scenario = match neighbour {
        Neighbour::Tcp => {
            // The simulator's own copy of the kernel's CUBIC.
            settings.push("flow.neighbour.controller=tcp-cubic".to_owned());
            "m12-tcp"
        }
        Neighbour::Udp => "m12-udp",
    };
    let mut command = Command::new(simulator);
    command
        .current_dir(workspace::root())
        .args(["run", scenario, "--qlog", "none"])
        .args(["--seeds", &format!("1..{seeds}")])
        .arg("--json")
        .arg(std::path::absolute(&json)?)
        .arg("--out")
        .arg(std::path::absolute(out.join("simulated"))?);
    for setting in &settings {
        command.args(["--set", setting]);
    }
    let output = command.output();
    let output = output.with_context(|| format!("cannot start {}", simulator.display()))?;
    ensure!(
        output.status.success(),
        "the simulator failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let text = fs::read_to_string(&json);
    let runs: Vec<Run> = parse(&text.with_context(|| format!("cannot read {}", json.display()))?)?;
    Ok(runs.iter().map(Run::measured).collect())
}

impl Run {
    fn measured(&self) -> Measured {
        let flow = |name: &str| self.flows.iter().find(|flow| flow.name == name);
        let promise = flow("video").and_then(|flow| flow.promise.as_ref());
        let slots = promise.iter().flat_map(|promise| {
            let over = |slot: &Slot| (slot.kept, slot.achieved_bps / promise.required_bps);
            promise.slots.iter().map(over)
        });
        let slots: Vec<_> = slots.collect();
        Measured {
            tcp_bps: flow("neighbour").map(|flow| flow.goodput_bps),
            delay_ms: self.cross_delays.first().map(|it| (it.mean_ms, it.p95_ms)),
            slots: slots.len(),
            kept: slots.iter().filter(|slot| slot.0).count(),
            achieved: slots.iter().map(|slot| slot.1).collect(),
        }
    }
}
