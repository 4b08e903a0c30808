//! Reads what the programs of a run have left.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::figures::Figures;
use super::scenario::{Flow, Plan, Sender};
use super::simulator::Simulator;
use crate::testbed::{arrivals, parse};

/// What `fetch --json` and `crosstraffic tcp-receive` print.
#[derive(Deserialize)]
struct Transferred {
    bytes: f64,
    seconds: f64,
}

/// What `serve --stats --json` prints.
#[derive(Deserialize)]
struct Served {
    sent_packets: f64,
    lost_packets: f64,
    timing: Option<Timing>,
}

#[derive(Deserialize)]
struct Timing {
    gap_error_us: Quantiles,
}

#[derive(Deserialize)]
struct Quantiles {
    count: u64,
    p50: f64,
    p99: f64,
}

/// The figures of a run, from the folder that its script wrote into.
pub fn read(plan: &Plan, folder: &Path, simulator: &Simulator<'_>) -> Result<Figures> {
    let main = plan.main();
    let others = plan.flows.iter().filter(|flow| flow.name != main.name);
    let others = others.map(|flow| goodput_bps(flow, folder));
    let round_trips = round_trips(&text(folder, "ping.out")?);
    let mut figures = Figures {
        goodput_bps: goodput_bps(main, folder)?,
        rivals_bps: others.sum::<Result<f64>>()?,
        lost_share: 0.0,
        rtt_p50_ms: quantile(&round_trips, 0.5),
        rtt_p95_ms: quantile(&round_trips, 0.95),
        score: None,
        slots_bps: Vec::new(),
        gap_error_us: None,
    };
    let Sender::Quic { .. } = main.sender else {
        return Ok(figures);
    };
    let name = &main.name;
    let served: Served = parse(&text(folder, &format!("{name}-server.out"))?)?;
    figures.lost_share = served.lost_packets / served.sent_packets.max(1.0);
    // Whoever is only watched has no gaps planned.
    let gaps = served.timing.map(|timing| timing.gap_error_us);
    let gaps = gaps.filter(|gaps| gaps.count > 0);
    figures.gap_error_us = gaps.map(|gaps| [gaps.p50, gaps.p99]);
    if let Some(promise) = main.promise {
        let file = folder.join(format!("{name}-arrivals.csv"));
        figures.slots_bps = arrivals::by_period(&file, Duration::from_secs_f64(promise.per_s))?;
    }
    if plan.has_truth() {
        let estimates = folder.join(format!("{name}-estimates.csv"));
        let head_start_s =
            seconds(folder, "began")? - seconds(folder, &format!("{name}-server.began"))?;
        figures.score = Some(simulator.score(name, &estimates, head_start_s)?);
    }
    Ok(figures)
}

fn goodput_bps(flow: &Flow, folder: &Path) -> Result<f64> {
    let end = if flow.is_of_kernel() {
        "receive"
    } else {
        "fetch"
    };
    let transferred: Transferred = parse(&text(folder, &format!("{}-{end}.out", flow.name))?)?;
    Ok(transferred.bytes * 8.0 / transferred.seconds)
}

fn text(folder: &Path, name: &str) -> Result<String> {
    let file = folder.join(name);
    fs::read_to_string(&file).with_context(|| format!("the run has left no {}", file.display()))
}

/// A time that the script has written, in hundredths of a second.
fn seconds(folder: &Path, name: &str) -> Result<f64> {
    let hundredths: f64 = parse(&text(folder, name)?)?;
    Ok(hundredths / 100.0)
}

/// The times that `ping` has printed, ascending.
fn round_trips(printed: &str) -> Vec<f64> {
    let time = |line: &str| line.split_once("time=")?.1.split(' ').next()?.parse().ok();
    let mut times: Vec<f64> = printed.lines().filter_map(time).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    #[expect(clippy::cast_possible_truncation, reason = "an index")]
    #[expect(clippy::cast_sign_loss, reason = "an index")]
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index).or(sorted.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_what_ping_prints() {
        let printed = "PING 198.18.0.10 (198.18.0.10): 56 data bytes\n\
                       64 bytes from 198.18.0.10: seq=1 ttl=62 time=40.110 ms\n\
                       64 bytes from 198.18.0.10: seq=2 ttl=62 time=20.5 ms\n\
                       round-trip min/avg/max = 20.5/30.3/40.1 ms\n";
        let times = round_trips(printed);
        assert_eq!(times, [20.5, 40.11]);
        assert_eq!(quantile(&times, 0.5), Some(40.11));
        assert_eq!(quantile(&times, 0.1), Some(20.5));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn what_a_run_has_not_left_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = text(folder.path(), "ping.out").expect_err("it is empty");
        assert!(error.to_string().contains("ping.out"), "{error}");
    }
}
