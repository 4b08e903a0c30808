//! What the simulator says: what a scenario is, what comes of it, how good estimates were.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::scenario::{Description, Plan};
use crate::testbed::parse;

/// The simulator's program, and a scenario for it.
pub struct Simulator<'a> {
    /// The program.
    pub program: &'a Path,
    /// A file, or the name of a built-in scenario.
    pub scenario: &'a str,
    /// Changes of keys.
    pub overrides: &'a [String],
}

/// How good a series of estimates was, as the simulator scores it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Mean error as a share of the truth, up or down.
    #[serde(rename = "mare")]
    pub error: Option<f64>,
    /// The same, signed.
    pub bias: Option<f64>,
    /// The share of 95 % intervals that hold the truth.
    #[serde(rename = "coverage95")]
    pub coverage: Option<f64>,
}

/// One run, as far as it is of interest here.
#[derive(Deserialize)]
struct Simulated {
    flows: Vec<Flow>,
}

#[derive(Deserialize)]
struct Flow {
    name: String,
    goodput_bps: f64,
    sent_packets: f64,
    lost_packets: f64,
    rtt_ms: Option<RoundTrips>,
    score: Score,
    promise: Option<Slots>,
}

#[derive(Deserialize)]
struct RoundTrips {
    p50: f64,
    p95: f64,
}

#[derive(Deserialize)]
struct Slots {
    slots: Vec<Slot>,
}

#[derive(Deserialize)]
struct Slot {
    achieved_bps: f64,
}

impl Simulator<'_> {
    /// The scenario in plain numbers.
    pub fn describe(&self) -> Result<Description> {
        parse(&self.ask("explain", &["--json"])?)
    }

    /// What the simulator makes of the plan, a line for each seed.
    pub fn run(&self, plan: &Plan, seeds: u32, folder: &Path) -> Result<Vec<Figures>> {
        let json = std::path::absolute(folder.join("simulated.json"))?;
        let out = std::path::absolute(folder.join("simulated"))?;
        let seeds = format!("1..{seeds}");
        let (json_text, out) = (json.to_string_lossy(), out.to_string_lossy());
        let options = [
            "--qlog", "none", "--seeds", &seeds, "--json", &json_text, "--out", &out,
        ];
        self.ask("run", &options)?;
        let text = std::fs::read_to_string(&json);
        let text = text.with_context(|| format!("cannot read {}", json.display()))?;
        let runs: Vec<Simulated> = parse(&text)?;
        runs.iter().map(|run| figures(plan, run)).collect()
    }

    /// Scores what `serve` has written. It was there for so long before the scenario began.
    pub fn score(&self, flow: &str, estimates: &Path, head_start_s: f64) -> Result<Score> {
        let estimates = std::path::absolute(estimates)?;
        let estimates = estimates.to_string_lossy();
        let head_start = head_start_s.to_string();
        let options = [
            "--flow",
            flow,
            "--estimates",
            &estimates,
            "--head-start",
            &head_start,
        ];
        parse(&self.ask("score", &options)?)
    }

    fn ask(&self, command: &str, options: &[&str]) -> Result<String> {
        let mut line = Command::new(self.program);
        line.args([command, self.scenario]).args(options);
        for setting in self.overrides {
            line.args(["--set", setting]);
        }
        let output = line.output();
        let output = output.with_context(|| format!("cannot start {}", self.program.display()))?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn figures(plan: &Plan, run: &Simulated) -> Result<Figures> {
    let wanted = &plan.main().name;
    let main = run.flows.iter().find(|flow| flow.name == *wanted);
    let main = main.with_context(|| format!("the simulator tells nothing of {wanted}"))?;
    let rivals = run.flows.iter().filter(|flow| flow.name != *wanted);
    let truth = plan.has_truth().then_some(main.score);
    let slots = main.promise.iter().flat_map(|promise| &promise.slots);
    Ok(Figures {
        goodput_bps: main.goodput_bps,
        rivals_bps: rivals.map(|flow| flow.goodput_bps).sum(),
        lost_share: main.lost_packets / main.sent_packets.max(1.0),
        rtt_p50_ms: main.rtt_ms.as_ref().map(|rtt| rtt.p50),
        rtt_p95_ms: main.rtt_ms.as_ref().map(|rtt| rtt.p95),
        score: truth,
        slots_bps: slots.map(|slot| slot.achieved_bps).collect(),
        gap_error_us: None,
    })
}
