//! A promise among TCP flows of the kernel, and the same transfer without one.

use std::fs::File;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::LINK_MBPS;
use super::slots::{self, Slot};
use super::transfer::Bench;
use crate::testbed::{Network, Running, arrivals, parse};

/// What is required, and the same as numbers. An equal share would be a 17th of the link, 1.2
/// Mbit/s.
const PROMISE: &str = "6 Mbit/s per 2 s";
const REQUIRED_BPS: f64 = 6e6;
const PERIOD: Duration = Duration::from_secs(2);

/// How long these have the path for themselves.
const HEAD_START: Duration = Duration::from_secs(3);

/// The share of slots that has to be kept, when without a promise fewer periods have the rate. With
/// eight slots one may be missed.
const LEAST_KEPT: f64 = 0.8;

/// One transfer among the rivals.
pub struct Contest {
    /// The slots as the server reports them, without the first. Empty without a promise.
    slots: Vec<Slot>,
    /// What arrived in each period, in bit/s, without the first.
    arrived_bps: Vec<f64>,
    /// Bits of application data per second of all rivals together, their head start included.
    rivals_bps: f64,
}

/// The same beside so many TCP flows, with a promise in several runs, and once without.
pub struct Verdict {
    rivals: u32,
    with: Vec<Contest>,
    without: Contest,
}

/// What `crosstraffic tcp-receive` prints.
#[derive(Deserialize)]
struct Tally {
    bytes: u64,
    seconds: f64,
}

/// A line of the table: a name, and how to say it of a transfer.
type Row = (&'static str, fn(&Contest) -> String);

/// Makes the transfers beside so many TCP flows with this congestion control, those with a promise
/// `runs` times. Few flows of CUBIC leave a paced flow more than its share: the kernel sends in
/// bursts, which pay for the full queue. Beside six or eight nothing needs to be promised in most
/// periods.
pub fn run(bench: &Bench<'_>, rivals: (u32, &str), runs: u32) -> Result<Verdict> {
    let flows = rivals.0;
    let without = contest(bench, rivals, &format!("no-promise-{flows}"), None)?;
    let with = (1..=runs).map(|run| {
        let name = format!("promise-{flows}-{run}");
        contest(bench, rivals, &name, Some(PROMISE))
    });
    Ok(Verdict {
        rivals: flows,
        with: with.collect::<Result<_>>()?,
        without,
    })
}

fn contest(
    bench: &Bench<'_>,
    rivals: (u32, &str),
    name: &str,
    promise: Option<&str>,
) -> Result<Contest> {
    let (flows, congestion_control) = rivals;
    say!(
        "{} s beside {flows} TCP flows ({congestion_control}), {}",
        bench.seconds,
        promise.map_or("nothing required".to_owned(), |text| format!(
            "{text} required"
        ))
    )?;
    let log = |what: &str| bench.scratch.join(format!("{name}-{what}"));
    let file = bench.scratch.join("root").join(name);
    File::create(&file)
        .and_then(|made| made.set_len(bytes_of_the_whole_link(bench.seconds)))
        .with_context(|| format!("cannot create {}", file.display()))?;
    let rivals = Rivals::start(bench, rivals, &log)?;

    let slots = log("slots.csv");
    let slots_name = slots.to_string_lossy();
    let mut options = vec!["--qlog"];
    let qlogs = log("qlogs");
    let qlogs_name = qlogs.to_string_lossy();
    options.push(&qlogs_name);
    if let Some(text) = promise {
        options.extend(["--promise", text, "--slots", &slots_name]);
    }
    let server = bench.serve("imtcp", &log("serve"), &options)?;
    let arrived = log("arrivals.csv");
    let client = bench.launcher.start(
        bench.network.client(),
        &log("fetch"),
        &[
            "fetch",
            &format!("https://{}:4433/{name}", Network::SERVER),
            "--insecure",
            "--json",
            "--seconds",
            &bench.seconds.to_string(),
            "--arrivals",
            &arrived.to_string_lossy(),
        ],
    )?;
    client.wait_until_it_ends(bench.patience())?;
    server.stop()?;
    let rivals_bps = rivals.stop()?;
    let slots = match promise {
        Some(_) => slots::read(&slots)?,
        None => Vec::new(),
    };
    Ok(Contest {
        slots: slots.into_iter().skip(1).collect(),
        arrived_bps: arrivals::by_period(&arrived, PERIOD)?,
        rivals_bps,
    })
}

/// More bytes than can arrive.
fn bytes_of_the_whole_link(seconds: u32) -> u64 {
    u64::from(seconds) * u64::from(LINK_MBPS) * 1_000_000 / 8
}

/// Both ends of the TCP flows.
struct Rivals {
    sender: Running,
    receiver: Running,
}

impl Rivals {
    fn start(
        bench: &Bench<'_>,
        (flows, congestion_control): (u32, &str),
        log: &dyn Fn(&str) -> std::path::PathBuf,
    ) -> Result<Self> {
        let address = format!("{}:9", Network::CLIENT);
        let mut receiver = bench.launcher.start(
            bench.network.client(),
            &log("tcp-receive"),
            &["crosstraffic", "tcp-receive", "--listen", &address],
        )?;
        receiver.wait_until_it_listens()?;
        let send = [
            "crosstraffic",
            "tcp-send",
            "--to",
            &address,
            "--flows",
            &flows.to_string(),
            "--congestion-control",
            congestion_control,
        ];
        let mut sender = bench
            .launcher
            .start(bench.network.server(), &log("tcp-send"), &send)?;
        sleep(HEAD_START);
        sender.ensure_it_runs()?;
        Ok(Self { sender, receiver })
    }

    /// Ends them and returns what came through, in bits of application data per second.
    fn stop(self) -> Result<f64> {
        // The sender goes first. If the receiver went first, the sender would be reset.
        self.sender.stop()?;
        let tally: Tally = parse(&self.receiver.stop()?)?;
        ensure!(tally.bytes > 0, "no byte of the TCP flows came through");
        Ok(tally.bytes as f64 * 8.0 / tally.seconds)
    }
}

impl Contest {
    fn periods_with_the_rate(&self) -> usize {
        let kept = self
            .arrived_bps
            .iter()
            .filter(|rate| **rate >= REQUIRED_BPS);
        kept.count()
    }
}

impl Verdict {
    /// Whether the promise was kept often enough in each run, by the server's reports, and if it
    /// was needed, was of use, by what arrived.
    pub fn is_kept(&self) -> bool {
        let without = &self.without;
        let is_needed = without.periods_with_the_rate() < without.arrived_bps.len();
        self.with.iter().all(|with| {
            let kept = with.slots.iter().filter(|slot| slot.is_kept).count();
            let is_enough =
                !with.slots.is_empty() && kept as f64 >= LEAST_KEPT * with.slots.len() as f64;
            let is_of_use = with.periods_with_the_rate() > without.periods_with_the_rate();
            is_enough && (is_of_use || !is_needed)
        })
    }

    /// The run in which the fewest periods had the rate.
    fn worst(&self) -> Option<&Contest> {
        self.with
            .iter()
            .min_by_key(|run| run.periods_with_the_rate())
    }

    /// The message if it is not.
    pub fn complaint() -> String {
        format!(
            "Less than {:.0} % of the slots were kept, or no more than without a promise.",
            LEAST_KEPT * 100.0
        )
    }

    /// All figures: the worst run beside the one without a promise, and each run.
    pub fn table(&self) -> String {
        let rows: [Row; 7] = [
            ("slots kept, as the server reports", |c| {
                let kept = c.slots.iter().filter(|slot| slot.is_kept).count();
                of(kept, c.slots.len())
            }),
            ("missed, with warning half a slot ahead", |c| {
                let missed: Vec<_> = c.slots.iter().filter(|slot| !slot.is_kept).collect();
                let warned = missed.iter().filter(|slot| slot.is_warned_in_time());
                of(warned.count(), missed.len())
            }),
            ("kept, with warning half a slot ahead", |c| {
                let kept: Vec<_> = c.slots.iter().filter(|slot| slot.is_kept).collect();
                let warned = kept.iter().filter(|slot| slot.is_warned_in_time());
                of(warned.count(), kept.len())
            }),
            ("periods of 2 s with the rate, by arrival", |c| {
                of(c.periods_with_the_rate(), c.arrived_bps.len())
            }),
            ("arrived: mean", |c| mbps(mean(&c.arrived_bps))),
            ("arrived: least period", |c| {
                mbps(c.arrived_bps.iter().copied().reduce(f64::min))
            }),
            ("all TCP flows together", |c| mbps(Some(c.rivals_bps))),
        ];
        let line = |(name, say): Row| {
            let worst = self.worst().map_or("none".to_owned(), say);
            format!("{name:42}{worst:>20}{:>20}", say(&self.without))
        };
        let flows = format!(
            "beside {} TCP flows, worst of {}",
            self.rivals,
            self.with.len()
        );
        let head = format!("{flows:42}{PROMISE:>20}{:>20}", "no promise");
        let each = self.with.iter();
        let each = each.map(|run| of(run.periods_with_the_rate(), run.arrived_bps.len()));
        let each = each.collect::<Vec<_>>().join(", ");
        let runs = format!("periods with the rate, each run: {each}");
        let lines = std::iter::once(head).chain(rows.into_iter().map(line));
        lines.chain([runs]).collect::<Vec<_>>().join("\n")
    }
}

fn of(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "none".to_owned();
    }
    format!("{part} of {whole}")
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn mbps(bps: Option<f64>) -> String {
    bps.map_or("none".to_owned(), |bps| format!("{:.2} Mbit/s", bps / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_slots_of_five_have_to_be_kept_and_more_than_without() {
        let contest = |kept: usize, missed: usize| Contest {
            slots: (0..kept + missed)
                .map(|number| Slot {
                    is_kept: number < kept,
                    notice_s: Some(1.5),
                    length_s: 2.0,
                })
                .collect(),
            arrived_bps: vec![if kept > 0 { 6.2e6 } else { 4e6 }, 5.9e6],
            rivals_bps: 12e6,
        };
        let verdict = |with: &[(usize, usize)], without| Verdict {
            rivals: 16,
            with: with
                .iter()
                .map(|(kept, missed)| contest(*kept, *missed))
                .collect(),
            without,
        };
        assert!(!verdict(&[(8, 0)], contest(8, 0)).is_kept(), "of no use");
        let mut rich = contest(8, 0);
        rich.arrived_bps = vec![6.2e6; 2];
        assert!(verdict(&[(8, 0)], rich).is_kept(), "not needed");
        for (kept, missed, expected) in [(4, 1, true), (7, 1, true), (6, 2, false), (0, 0, false)] {
            let one = verdict(&[(kept, missed)], contest(0, 0));
            assert_eq!(one.is_kept(), expected, "{kept} kept, {missed} missed");
            let two = verdict(&[(8, 0), (kept, missed)], contest(0, 0));
            assert_eq!(two.is_kept(), expected, "the second run counts, too");
        }
        let verdict = verdict(&[(8, 2)], contest(0, 0));
        let table = verdict.table();
        let row = |name: &str| {
            let row = table.lines().find(|line| line.starts_with(name));
            let words: Vec<_> = row.expect("it is there").split("  ").collect();
            words
                .into_iter()
                .filter(|word| !word.is_empty())
                .map(|word| word.trim().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(row("slots kept")[1..], ["8 of 10", "none"]);
        assert_eq!(row("missed, with warning")[1..], ["2 of 2", "none"]);
        assert_eq!(row("periods of 2 s")[1..], ["1 of 2", "0 of 2"]);
        assert_eq!(row("arrived: least")[1..], ["5.90 Mbit/s", "4.00 Mbit/s"]);
    }
}
