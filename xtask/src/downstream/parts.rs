//! The parts that compare controllers: the same transfer with each in turn, round by round.

use std::collections::BTreeMap;

use anyhow::Result;

use super::report::Report;
use super::transfer::{Bench, Client, Measured, Server, Transfer};
use crate::testbed::{Network, median};

/// The controller that the others are compared with.
const REFERENCE: &str = "cubic";
/// The controller that is judged.
const JUDGED: &str = "imtcp";
const CONTROLLERS: [&str; 3] = [REFERENCE, "imtcp-off", JUDGED];

/// Goodput, as a share of the reference's in the same round.
const GOODPUT_BAR: f64 = 0.98;
/// Time of many transfers together, processor time and system calls, as multiples of the
/// reference's.
const TIME_BAR: f64 = 1.1;
const COST_BAR: f64 = 1.1;
/// The error of the median estimate, as a share of the link's rate.
const ERROR_BAR: f64 = 0.1;

const TRANSFER_MBPS: u32 = 50;
const TRANSFER_BYTES: u64 = 50_000_000;

const LOOPBACK_CONNECTIONS: usize = 20;
const LOOPBACK_BYTES: u64 = 10_000_000;

/// How long a transfer of the part `rates` takes, in seconds.
const RATES_S: u64 = 6;

/// Estimates of the first second, which do not count.
const SETTLING: usize = 10;

/// A full packet's IP bytes and those of its Ethernet frame, as the token bucket counts.
const PACKET_SHARE: f64 = 1378.0 / 1392.0;

/// How often, and what.
pub struct Plan<'a> {
    /// Rounds.
    pub runs: u32,
    /// In Mbit/s.
    pub rates: &'a [u32],
    /// Which clients there are.
    pub clients: &'a [Client],
}

/// What each controller came to, round by round; `None` where a transfer did not come to its end.
type Rounds = BTreeMap<&'static str, Vec<Option<Measured>>>;

/// 50 MB through 50 Mbit/s.
pub fn transfer(bench: &Bench<'_>, plan: &Plan<'_>, report: &mut Report) -> Result<()> {
    let network = Network::create("down", TRANSFER_MBPS)?;
    say!("\n50 MB. {network}")?;
    for &client in plan.clients {
        let transfer = Transfer {
            network: Some(&network),
            server: Server::Stranger,
            controller: REFERENCE,
            client,
            connections: 1,
            bytes: TRANSFER_BYTES,
        };
        let rounds = all_rounds(bench, plan.runs, transfer)?;
        let what = format!("50 MB at 50 Mbit/s to {}", client.name());
        for controller in &CONTROLLERS[1..] {
            goodput(&what, controller, &rounds, report)?;
        }
    }
    Ok(())
}

/// Many connections over loopback, from a stranger's server and from `serve`.
pub fn loopback(bench: &Bench<'_>, plan: &Plan<'_>, report: &mut Report) -> Result<()> {
    // quic-go's takes less of the processor.
    let client = plan.clients.iter().copied().next().unwrap_or(Client::Fetch);
    for (server, name) in [(Server::Stranger, "tokio-quiche"), (Server::Serve, "serve")] {
        let transfer = Transfer {
            network: None,
            server,
            controller: REFERENCE,
            client,
            connections: LOOPBACK_CONNECTIONS,
            bytes: LOOPBACK_BYTES,
        };
        say!(
            "\n{LOOPBACK_CONNECTIONS} connections from {name} to {} over loopback",
            client.name()
        )?;
        let rounds = all_rounds(bench, plan.runs, transfer)?;
        let what = format!("{LOOPBACK_CONNECTIONS} connections from {name} over loopback");
        for controller in &CONTROLLERS[1..] {
            let times = ratios(&rounds, controller, |measured| Some(measured.seconds));
            multiple(&what, controller, "time", TIME_BAR, &times, report)?;
            unfinished(&what, controller, &rounds, report)?;
        }
    }
    Ok(())
}

/// Goodput, costs and estimates at several rates.
pub fn rates(bench: &Bench<'_>, plan: &Plan<'_>, report: &mut Report) -> Result<()> {
    let client = plan.clients.iter().copied().next().unwrap_or(Client::Fetch);
    if !bench.counts_calls {
        say!(
            "\nSKIPPED: system calls, because perf cannot count them here. On Debian: apt-get \
             install linux-perf"
        )?;
    }
    for &rate_mbps in plan.rates {
        let network = Network::create("down", rate_mbps)?;
        say!("\n{network}")?;
        let transfer = Transfer {
            network: Some(&network),
            server: Server::Stranger,
            controller: REFERENCE,
            client,
            connections: 1,
            bytes: u64::from(rate_mbps) * 1_000_000 / 8 * RATES_S,
        };
        let rounds = all_rounds(bench, plan.runs, transfer)?;
        let what = format!("{rate_mbps} Mbit/s to {}", client.name());
        for controller in &CONTROLLERS[1..] {
            goodput(&what, controller, &rounds, report)?;
        }
        let cpu = ratios(&rounds, JUDGED, |measured| {
            Some(measured.usage.cpu_s / measured.bytes)
        });
        multiple(
            &what,
            JUDGED,
            "processor time per GB",
            COST_BAR,
            &cpu,
            report,
        )?;
        let calls = ratios(&rounds, JUDGED, |measured| {
            Some(measured.usage.calls? / measured.bytes)
        });
        if bench.counts_calls {
            multiple(
                &what,
                JUDGED,
                "system calls per MB",
                COST_BAR,
                &calls,
                report,
            )?;
        }
        estimates(
            &what,
            f64::from(rate_mbps) * 1e6 * PACKET_SHARE,
            &rounds,
            report,
        )?;
    }
    Ok(())
}

fn all_rounds(bench: &Bench<'_>, runs: u32, transfer: Transfer<'_>) -> Result<Rounds> {
    let mut rounds = Rounds::new();
    for run in 0..runs as usize {
        let mut in_turn = CONTROLLERS;
        in_turn.rotate_left(run % CONTROLLERS.len());
        for controller in in_turn {
            let outcome = bench.run(Transfer {
                controller,
                ..transfer
            });
            let said = match &outcome {
                Ok(measured) => line(measured),
                Err(error) => format!("{error:#}"),
            };
            say!("  run {} {controller}: {said}", run + 1)?;
            bench.launcher.ensure_not_interrupted()?;
            rounds.entry(controller).or_default().push(outcome.ok());
        }
    }
    Ok(rounds)
}

fn line(measured: &Measured) -> String {
    let Measured {
        seconds,
        bytes,
        usage,
        estimates,
    } = measured;
    let mut text = format!(
        "{:.2} Mbit/s in {seconds:.2} s, {:.2} s of CPU per GB",
        bytes * 8e-6 / seconds,
        usage.cpu_s / bytes * 1e9
    );
    if let Some(calls) = usage.calls {
        text += &format!(", {:.0} system calls per MB", calls / bytes * 1e6);
    }
    if let Some(estimate) = settled(estimates) {
        text += &format!(", estimate {:.2} Mbit/s", estimate / 1e6);
    }
    text
}

/// The median of the estimates after the first second.
fn settled(estimates: &[f64]) -> Option<f64> {
    median(estimates.iter().skip(SETTLING).copied())
}

/// A figure of each round as a multiple of the reference's.
fn ratios(rounds: &Rounds, controller: &str, figure: fn(&Measured) -> Option<f64>) -> Vec<f64> {
    let of = |name: &str| rounds.get(name).into_iter().flatten();
    of(controller)
        .zip(of(REFERENCE))
        .filter_map(|(judged, reference)| {
            Some(figure(judged.as_ref()?)? / figure(reference.as_ref()?)?)
        })
        .collect()
}

fn goodput(what: &str, controller: &str, rounds: &Rounds, report: &mut Report) -> Result<()> {
    let ratios = ratios(rounds, controller, |measured| {
        Some(measured.bytes / measured.seconds)
    });
    let worst = ratios.iter().copied().min_by(f64::total_cmp);
    if let (Some(worst), Some(median)) = (worst, median(ratios)) {
        report.say(
            worst >= GOODPUT_BAR,
            format!(
                "{what}: {controller} has {:.1} % of {REFERENCE}'s goodput at the median, {:.1} % \
                 at worst",
                median * 100.0,
                worst * 100.0
            ),
        )?;
    }
    unfinished(what, controller, rounds, report)
}

fn unfinished(what: &str, controller: &str, rounds: &Rounds, report: &mut Report) -> Result<()> {
    for name in [controller, REFERENCE] {
        let all = rounds.get(name).into_iter().flatten();
        let (done, not): (Vec<_>, Vec<_>) = all.partition(|round| round.is_some());
        if !not.is_empty() {
            let of = done.len() + not.len();
            report.miss(format!(
                "{what}: {name} did not finish {} of {of} transfers",
                not.len()
            ))?;
        }
    }
    Ok(())
}

fn multiple(
    what: &str,
    controller: &str,
    figure: &str,
    bar: f64,
    ratios: &[f64],
    report: &mut Report,
) -> Result<()> {
    let worst = ratios.iter().copied().max_by(f64::total_cmp);
    if let (Some(worst), Some(median)) = (worst, median(ratios.iter().copied())) {
        report.say(
            median <= bar,
            format!(
                "{what}: {controller} takes {median:.2} times {REFERENCE}'s {figure} at the \
                 median, {worst:.2} at worst"
            ),
        )?;
    }
    Ok(())
}

fn estimates(what: &str, truth_bps: f64, rounds: &Rounds, report: &mut Report) -> Result<()> {
    let measured = rounds.get(JUDGED).into_iter().flatten().flatten();
    let made = measured.map(|measured| settled(&measured.estimates));
    let errors = made.map(|made| made.map(|estimate| (estimate / truth_bps - 1.0).abs()));
    let errors: Vec<Option<f64>> = errors.collect();
    let silent = errors.iter().filter(|error| error.is_none()).count();
    if silent > 0 {
        let of = errors.len();
        report.miss(format!("{what}: no estimate in {silent} of {of} transfers"))?;
    }
    if let Some(worst) = errors.into_iter().flatten().max_by(f64::total_cmp) {
        let percent = worst * 100.0;
        let text = format!("{what}: the estimate of the worst transfer is {percent:.1} % off");
        report.say(worst <= ERROR_BAR, text)?;
    }
    Ok(())
}
