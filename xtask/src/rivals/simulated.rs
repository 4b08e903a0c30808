//! The cells in the simulator.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Arguments, FIRST_JOIN, JOINS_WITHIN};
use crate::real_path::cells::{Cell, Extensions};
use crate::testbed::parse;
use crate::workspace;

/// The simulator's scenario: rivals, and `main`, which comes later.
const SCENARIO: &str = "rivals";

/// A server in user space reads acknowledgements late, and several at a time; the kernel's TCP does
/// not. quiche's CUBIC fills the rest of its window with a small packet at each acknowledgement, so
/// this matters to it: otherwise half of its packets are small.
const USER_SPACE: &str = "{ receive_late = \"1 us to 1 ms\" }";

/// One run.
#[derive(Deserialize)]
pub struct Run {
    flows: Vec<Flow>,
}

#[derive(Deserialize)]
struct Flow {
    name: String,
    goodput_bps: f64,
    sent_packets: f64,
    lost_packets: f64,
    promise: Option<Promise>,
}

#[derive(Deserialize)]
struct Promise {
    slots: Vec<Slot>,
}

#[derive(Deserialize)]
struct Slot {
    achieved_bps: f64,
}

impl Run {
    /// What the newcomer got, in bit/s.
    pub fn newcomer_bps(&self) -> f64 {
        self.goodput(|flow| flow.name == "main")
    }

    /// What the others got.
    pub fn rivals_bps(&self) -> f64 {
        self.goodput(|flow| flow.name != "main")
    }

    /// Packets lost, as a share of those sent, all flows together.
    pub fn lost_share(&self) -> f64 {
        let sum = |value: fn(&Flow) -> f64| self.flows.iter().map(value).sum::<f64>();
        sum(|flow| flow.lost_packets) / sum(|flow| flow.sent_packets)
    }

    /// What arrived in each slot of the promise.
    pub fn slots_bps(&self) -> impl Iterator<Item = f64> {
        let promises = self.flows.iter().filter_map(|flow| flow.promise.as_ref());
        promises.flat_map(|promise| promise.slots.iter().map(|slot| slot.achieved_bps))
    }

    fn goodput(&self, wanted: impl Fn(&Flow) -> bool) -> f64 {
        let flows = self.flows.iter().filter(|flow| wanted(flow));
        flows.map(|flow| flow.goodput_bps).sum()
    }
}

/// Simulates a cell with all seeds.
pub fn run(
    simulator: &Path,
    out: &Path,
    cell: &Cell,
    newcomer: &str,
    arguments: &Arguments,
) -> Result<Vec<Run>> {
    let json = out.join(format!("{cell}-{newcomer}.json"));
    let joins = JOINS_WITHIN.as_secs();
    let seconds = u64::from(arguments.seconds) + FIRST_JOIN.as_secs() + joins / 2;
    let mut settings = vec![
        format!("duration=\"{seconds} s\""),
        format!("link.bottleneck.rate=\"{} Mbit/s\"", cell.rate_mbps),
        format!("link.bottleneck.delay=\"{} us\"", cell.delay_us()),
        format!("link.bottleneck.queue=\"{} B\"", cell.queue_bytes()),
        format!("flow.rival.count={}", cell.rivals),
        format!("flow.main.start_within=\"{joins} s\""),
    ];
    settings.extend(of_newcomer(newcomer).iter().map(|&text| text.to_owned()));
    if newcomer != "kernel" {
        settings.push(format!("flow.main.host={USER_SPACE}"));
        let spoken = of_extensions(cell.extensions);
        settings.extend(spoken.iter().map(|&text| text.to_owned()));
    }
    let mut command = Command::new(simulator);
    command
        .current_dir(workspace::root())
        .args(["run", SCENARIO, "--qlog", "none"])
        .args(["--seeds", &format!("1..{}", arguments.seeds)])
        .arg("--json")
        .arg(std::path::absolute(&json)?)
        .arg("--out")
        .arg(std::path::absolute(out.join("runs"))?);
    for setting in settings {
        command.args(["--set", &setting]);
    }
    let output = command.output();
    let output = output.with_context(|| format!("cannot start {}", simulator.display()))?;
    anyhow::ensure!(
        output.status.success(),
        "the simulator failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let text = fs::read_to_string(&json);
    parse(&text.with_context(|| format!("cannot read {}", json.display()))?)
}

/// What makes `main` of the scenario this newcomer.
fn of_newcomer(name: &str) -> &'static [&'static str] {
    match name {
        "kernel" => &["flow.main.controller=tcp-cubic"],
        "promise" => &[
            "flow.main.controller=imtcp",
            "flow.main.imtcp.promise={ rate = \"8 Mbit/s\", per = \"2 s\" }",
        ],
        "promise-exactly" => &[
            "flow.main.controller=imtcp",
            "flow.main.imtcp.promise={ rate = \"8 Mbit/s\", per = \"2 s\", demand = \"exactly\" }",
        ],
        "imtcp" => &["flow.main.controller=imtcp"],
        "imtcp-off" => &[
            "flow.main.controller=imtcp",
            "flow.main.imtcp.measurement=false",
        ],
        "reno" => &["flow.main.controller=reno"],
        "bbr2" => &["flow.main.controller=bbr2"],
        // What else there is was refused on the command line.
        _ => &["flow.main.controller=cubic"],
    }
}

/// What its client speaks.
fn of_extensions(extensions: Extensions) -> &'static [&'static str] {
    const FREQUENCY: &str = "flow.main.receiver.ack_frequency=true";
    const TIMES: &str = "flow.main.receiver.receive_timestamps=true";
    match extensions {
        Extensions::Both => &[FREQUENCY, TIMES],
        Extensions::AckFrequency => &[FREQUENCY],
        Extensions::ReceiveTimestamps => &[TIMES],
        Extensions::None | Extensions::Foreign => &[],
    }
}
