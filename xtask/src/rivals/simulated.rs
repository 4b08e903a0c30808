//! The cells in the simulator.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Arguments, FIRST_JOIN, JOINS_WITHIN};
use crate::real_path::cells::{Cell, Extensions};
use crate::testbed::{Launcher, Simulated, parse};

/// The simulator's scenario: rivals, and `main`, which comes later.
const SCENARIO: &str = "rivals";

/// What the newcomer is called there.
const NEWCOMER: &str = "main";

/// A server in user space reads acknowledgements late, and several at a time; the kernel's TCP does
/// not. quiche's CUBIC fills the rest of its window with a small packet at each acknowledgement, so
/// this matters to it: otherwise half of its packets are small.
const USER_SPACE: &str = "{ receive_late = \"1 us to 1 ms\" }";

/// One run.
#[derive(Deserialize)]
pub struct Run {
    seed: u64,
    flows: Vec<Flow>,
    #[serde(skip)]
    rivals_bps: f64,
}

/// A line of a flow's `-state.csv`.
#[derive(Clone, Copy, Deserialize)]
struct State {
    #[serde(rename = "t_s")]
    time_s: f64,
    delivered_bytes: f64,
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
    /// What the newcomer got, in bit/s. The simulator counts it from its start.
    pub fn newcomer_bps(&self) -> f64 {
        let newcomer = self.flows.iter().filter(|flow| flow.name == NEWCOMER);
        newcomer.map(|flow| flow.goodput_bps).sum()
    }

    /// What the others got while the newcomer was there. The simulator's own `goodput_bps` counts
    /// their whole lives, and so the time in which they had the path to themselves.
    pub fn rivals_bps(&self) -> f64 {
        self.rivals_bps
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

    /// Reads from the states of all flows what the rivals got.
    fn read_rivals(&mut self, folder: &Path) -> Result<()> {
        let states = |flow: &Flow| {
            let file = format!("{SCENARIO}-seed{}-{}-state.csv", self.seed, flow.name);
            let file = folder.join(file);
            let states =
                states(&file).with_context(|| format!("cannot read {}", file.display()))?;
            Ok((flow.name == NEWCOMER, states))
        };
        let states: Result<Vec<_>> = self.flows.iter().map(states).collect();
        let (newcomer, rivals): (Vec<_>, Vec<_>) = states?.into_iter().partition(|(is, _)| *is);
        let first = newcomer.iter().find_map(|(_, states)| states.first());
        let first_s = first.context("the newcomer never came")?.time_s;
        let rates = rivals.iter().map(|(_, states)| rate_since(first_s, states));
        self.rivals_bps = rates.sum();
        Ok(())
    }
}

fn states(file: &Path) -> csv::Result<Vec<State>> {
    csv::Reader::from_path(file)?.deserialize().collect()
}

/// What a flow got from a time on, in bit/s. All flows are looked at at the same times.
fn rate_since(first_s: f64, states: &[State]) -> f64 {
    let mut before = states.iter().filter(|state| state.time_s <= first_s);
    let (Some(first), Some(last)) = (before.next_back(), states.last()) else {
        return 0.0;
    };
    let span_s = last.time_s - first_s;
    (last.delivered_bytes - first.delivered_bytes) * 8.0 / span_s.max(f64::MIN_POSITIVE)
}

/// Simulates a cell with all seeds.
pub fn run(
    launcher: &Launcher,
    simulator: &Path,
    out: &Path,
    cell: &Cell,
    newcomer: &str,
    arguments: &Arguments,
) -> Result<Vec<Run>> {
    let json = out.join(format!("{cell}-{newcomer}.json"));
    let runs = out.join("runs");
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
    let told = Simulated {
        scenario: SCENARIO,
        settings: &settings,
        seeds: arguments.seeds,
        json: &json,
        out: &runs,
    };
    let mut simulated: Vec<Run> = parse(&told.run(launcher, simulator)?)?;
    for run in &mut simulated {
        run.read_rivals(&runs)?;
    }
    Ok(simulated)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_rivals_head_start_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, states: &str| {
            let file = folder.path().join(format!("rivals-seed7-{name}-state.csv"));
            let text = format!("t_s,window_bytes,delivered_bytes\n{states}");
            fs::write(file, text).expect("a file");
        };
        // Alone they had 40 Mbit/s for two seconds, and then 20 beside the newcomer's 20.
        write("main", "2.1,9,0\n4,9,4750000\n");
        for rival in ["rival-1", "rival-2"] {
            write(rival, "0.1,9,0\n2,9,4750000\n2.1,9,5000000\n4,9,7375000\n");
        }
        let flow = |name: &str| {
            format!(
                "{{\"name\":\"{name}\",\"goodput_bps\":20e6,\"sent_packets\":1,\
                 \"lost_packets\":0,\"promise\":null}}"
            )
        };
        let flows = ["main", "rival-1", "rival-2"].map(flow).join(",");
        let mut run: Run = parse(&format!("{{\"seed\":7,\"flows\":[{flows}]}}")).expect("a run");
        run.read_rivals(folder.path()).expect("all files are there");
        assert!(
            (run.rivals_bps() - 20e6).abs() < 1.0,
            "{}",
            run.rivals_bps()
        );
        assert_eq!(run.newcomer_bps(), 20e6);
    }
}
