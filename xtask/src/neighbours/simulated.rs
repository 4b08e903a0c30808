//! The same in the simulator.

use std::path::Path;

use anyhow::Result;
use serde::Deserialize;

use super::{Carrier, Measured, Neighbour, PROMISE_OF_SIMULATOR};
use crate::testbed::{Launcher, Simulated, parse};

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
    launcher: &Launcher,
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
    let simulated = Simulated {
        scenario,
        settings: &settings,
        seeds,
        json: &json,
        out: &out.join("simulated"),
    };
    let runs: Vec<Run> = parse(&simulated.run(launcher, simulator)?)?;
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
