//! Promises in the closed loop: a path, a requirement, and the outcome.

use super::{DATAGRAM, Path, Run};
use imtcp_cc::config::ConfigBuilder;
use imtcp_cc::event::{Event, Recorder};
use imtcp_cc::promise::{Demand, Outcome, Requirement, SlotLengthRule, SlotReport};
use imtcp_cc::units::{Bandwidth, Bytes};
use imtcp_cc::{Config, ImTcp, Window};
use std::sync::Arc;
use std::time::Duration;

pub const TWO_SECONDS: Duration = Duration::from_secs(2);

pub fn path(mbps: u64) -> Path {
    Path {
        capacity: Bandwidth::from_mbps(mbps),
        delay: Duration::from_millis(20),
        queue: Duration::from_millis(40),
        cross: Bandwidth::ZERO,
        loss: 0.0,
        ack_loss: 0.0,
        ack_every: 1,
    }
}

pub fn require(mbps: f64, demand: Demand) -> Requirement {
    Requirement::from_f64(mbps * 1e6, TWO_SECONDS.as_secs_f64())
        .expect("possible")
        .demand(demand)
}

pub struct Outcomes {
    pub reports: Vec<SlotReport>,
    pub lengths: Vec<u32>,
    pub run: Run,
}

/// The outcome of a bulk source that runs for `seconds`.
pub fn bulk(path: Path, config: ConfigBuilder, seconds: u64, seed: u64) -> Outcomes {
    with_source(path, config, seconds, seed, |run| {
        run.write_at(Duration::ZERO, 1 << 40);
    })
}

pub fn with_source(
    path: Path,
    config: ConfigBuilder,
    seconds: u64,
    seed: u64,
    source: impl FnOnce(&mut Run),
) -> Outcomes {
    let recorder = Arc::new(Recorder::default());
    let config = config.build().expect("valid");
    let core = ImTcp::new(config, Bytes::new(DATAGRAM), Some(recorder.clone()));
    let mut run = Run::new(core, path, seed);
    source(&mut run);
    run.until(Duration::from_secs(seconds));
    let (mut reports, mut lengths) = (Vec::new(), Vec::new());
    for (_, event) in recorder.take() {
        match event {
            Event::SlotEnded { report } => reports.push(report),
            Event::ControlSlotStarted { round_trips, .. } => lengths.push(round_trips),
            _ => {}
        }
    }
    Outcomes {
        reports,
        lengths,
        run,
    }
}

/// The number of kept slots and of all slots, over a run of a minute per seed.
pub fn kept(
    path: &Path,
    rule: SlotLengthRule,
    mbps: f64,
    seeds: std::ops::Range<u64>,
) -> (usize, usize) {
    seeds.fold((0, 0), |(kept, all), seed| {
        let promise = Some(require(mbps, Demand::AtLeast));
        // Reno answers every loss.
        let config = Config::builder().window(Window::Reno);
        let config = config.slot_length(rule).promise(promise);
        let reports = bulk(path.clone(), config, 60, seed).reports;
        let good = reports
            .iter()
            .filter(|r| r.outcome == Outcome::Kept)
            .count();
        (kept + good, all + reports.len())
    })
}
