//! The scores, as a table.

use super::{promises, tools};
use imtcp_sim::result::{CrossDelay, FlowResult, Measuring, Observed, RunResult, Waits};
use imtcp_sim::score::Score;
use imtcp_sim::statistics::{median, quantile_of_sorted};
use std::fmt::Write;

/// A table per estimator over all seeds: medians, and 95th percentiles where there are several.
pub fn of(results: &[RunResult]) -> String {
    let Some(first) = results.first() else {
        return String::new();
    };
    let mut text = String::new();
    let seeds = results.len();
    let over = if seeds > 1 {
        format!(", {seeds} seeds: median (p95)")
    } else {
        format!(", seed {}", first.seed)
    };
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{}{over}", first.scenario);
    if !first.flows.is_empty() {
        let _ = writeln!(text, "{}", flows(results));
    }
    if !first.tools.is_empty() {
        let _ = writeln!(text, "{}", tools::table(results));
    }
    if first.flows.iter().any(|flow| !flow.estimates.is_empty()) {
        let _ = writeln!(text, "{}", estimates(results));
    }
    if first.flows.iter().any(|flow| !flow.observed.is_empty()) {
        let _ = writeln!(text, "{}", observed(results));
    }
    if first.flows.iter().any(|flow| flow.measuring.is_some()) {
        let _ = writeln!(text, "{}", measuring(results));
    }
    if first.flows.iter().any(|flow| flow.promise.is_some()) {
        let _ = writeln!(text, "{}", promises::table(results));
    }
    if !first.cross_delays.is_empty() {
        let _ = writeln!(text, "{}", crossing(results));
    }
    text
}

/// How cross traffic fared.
fn crossing(results: &[RunResult]) -> comfy_table::Table {
    let header = ["cross traffic over", "one-way mean ms", "p50 ms", "p95 ms"];
    let mut table = super::table(header);
    for (index, delay) in results[0].cross_delays.iter().enumerate() {
        let across = |value: fn(&CrossDelay) -> f64| {
            let delays = results.iter().map(|result| result.cross_delays.get(index));
            cell(delays.map(|delay| delay.map(value)).collect(), 3)
        };
        table.add_row([
            delay.link.clone(),
            across(|delay| delay.mean_ms),
            across(|delay| delay.p50_ms),
            across(|delay| delay.p95_ms),
        ]);
    }
    table
}

fn flows(results: &[RunResult]) -> comfy_table::Table {
    let header = [
        "flow",
        "controller",
        "goodput Mbit/s",
        "lost %",
        "RTT p50 ms",
        "RTT p95 ms",
    ];
    let mut table = super::table(header);
    for (name, members) in named(&results[0].flows) {
        let across = |value: fn(&FlowResult) -> Option<f64>| {
            let of_run = |result: &RunResult| {
                let members = members.iter().map(|index| &result.flows[*index]);
                let values: Vec<f64> = members.filter_map(value).collect();
                let count = values.len() as f64;
                (count > 0.0).then(|| values.into_iter().sum::<f64>() / count)
            };
            cell(results.iter().map(of_run).collect(), 3)
        };
        table.add_row([
            name,
            results[0].flows[members[0]].controller.to_owned(),
            across(|flow| Some(flow.goodput_bps as f64 / 1e6)),
            across(|flow| Some(flow.lost_packets as f64 / flow.sent_packets.max(1) as f64 * 100.0)),
            across(|flow| flow.rtt_ms.map(|rtt| rtt.p50_ms)),
            across(|flow| flow.rtt_ms.map(|rtt| rtt.p95_ms)),
        ]);
    }
    table
}

/// The rows: a flow, or flows that are alike, of which the mean is shown.
fn named(flows: &[FlowResult]) -> Vec<(String, Vec<usize>)> {
    let mut rows: Vec<(String, Vec<usize>)> = Vec::new();
    let mut group = None;
    for (index, flow) in flows.iter().enumerate() {
        match rows.last_mut() {
            Some((_, members)) if flow.group.is_some() && flow.group == group => {
                members.push(index)
            }
            _ => rows.push((
                flow.group.clone().unwrap_or_else(|| flow.name.clone()),
                vec![index],
            )),
        }
        group.clone_from(&flow.group);
    }
    for (name, members) in &mut rows {
        if members.len() > 1 {
            name.push_str(&format!(", mean of {}", members.len()));
        }
    }
    rows
}

fn estimates(results: &[RunResult]) -> comfy_table::Table {
    let header = [
        "flow",
        "estimator",
        "estimates",
        "MARE %",
        "bias %",
        "coverage95 %",
        "settle s",
        "longest gap s",
    ];
    let mut table = super::table(header);
    for (index, flow) in results[0].flows.iter().enumerate() {
        if flow.estimates.is_empty() && flow.estimates_classic.is_empty() {
            continue;
        }
        type Pick = fn(&FlowResult) -> (&Score, usize);
        let estimators: [(&str, Pick); 2] = [
            ("default", |flow| (&flow.score, flow.estimates.len())),
            ("classic", |flow| {
                (&flow.score_classic, flow.estimates_classic.len())
            }),
        ];
        for (name, pick) in estimators {
            let picked = || results.iter().map(|result| pick(&result.flows[index]));
            let percent = |value: fn(&Score) -> Option<f64>| {
                cell(
                    picked()
                        .map(|(scores, _)| value(scores).map(|v| v * 100.0))
                        .collect(),
                    2,
                )
            };
            table.add_row([
                flow.name.clone(),
                name.to_owned(),
                cell(picked().map(|(_, count)| Some(count as f64)).collect(), 0),
                percent(|scores| scores.mare),
                percent(|scores| scores.bias),
                percent(|scores| scores.coverage95),
                settle(picked().map(|(scores, _)| scores).collect()),
                cell(
                    picked().map(|(scores, _)| scores.longest_gap_s).collect(),
                    2,
                ),
            ]);
        }
    }
    table
}

/// What estimators that watched said, as half-second means against the truth.
fn observed(results: &[RunResult]) -> comfy_table::Table {
    let header = [
        "flow",
        "observer, 0.5 s means",
        "median Mbit/s",
        "highest Mbit/s",
        "MARE %",
        "bias %",
        "settle s",
    ];
    let mut table = super::table(header);
    for (index, flow) in results[0].flows.iter().enumerate() {
        let names = flow.observed.iter().map(|observed| observed.name);
        for name in names {
            let runs = results.iter();
            let all: Vec<&Observed> = runs
                .flat_map(|result| &result.flows[index].observed)
                .filter(|observed| observed.name == name)
                .collect();
            let across = |value: fn(&Observed) -> Option<f64>, digits| {
                cell(all.iter().map(|one| value(one)).collect(), digits)
            };
            table.add_row([
                flow.name.clone(),
                name.to_owned(),
                across(|one| one.median_bps.map(|bps| bps as f64 / 1e6), 3),
                across(|one| one.highest_bps.map(|bps| bps as f64 / 1e6), 3),
                across(|one| one.score.mare.map(|share| share * 100.0), 2),
                across(|one| one.score.bias.map(|share| share * 100.0), 2),
                settle(all.iter().map(|one| &one.score).collect()),
            ]);
        }
    }
    table
}

fn measuring(results: &[RunResult]) -> comfy_table::Table {
    let header = [
        "flow",
        "measurements",
        "completed",
        "streams",
        "abandoned",
        "wait p50 ms",
        "wait p99 ms",
        "p99 of T %",
    ];
    let mut table = super::table(header);
    for (index, flow) in results[0].flows.iter().enumerate() {
        let counts = |value: fn(&Measuring) -> f64| {
            let flows = results.iter().map(|result| &result.flows[index]);
            cell(
                flows
                    .map(|flow| flow.measuring.as_ref().map(value))
                    .collect(),
                0,
            )
        };
        let waits = |value: fn(&Waits) -> f64| {
            let flows = results.iter().map(|result| &result.flows[index]);
            let waits = flows.map(|flow| flow.measuring.and_then(|m| m.waits));
            cell(waits.map(|waits| waits.as_ref().map(value)).collect(), 2)
        };
        if flow.measuring.is_some() {
            table.add_row([
                flow.name.clone(),
                counts(|m| m.started as f64),
                counts(|m| m.completed as f64),
                counts(|m| m.streams as f64),
                counts(|m| m.streams_abandoned as f64),
                waits(|w| w.p50_ms),
                waits(|w| w.p99_ms),
                waits(|w| w.p99_of_limit * 100.0),
            ]);
        }
    }
    table
}

/// Median and 95th percentile, or the value if there is only one. Runs without a value are left
/// out.
pub(super) fn cell(values: Vec<Option<f64>>, digits: usize) -> String {
    let mut values: Vec<f64> = values.into_iter().flatten().collect();
    values.sort_unstable_by(f64::total_cmp);
    let p95 = quantile_of_sorted(&values, 0.95);
    match (median(values.clone()), p95) {
        (Some(median), Some(p95)) if values.len() > 1 => {
            format!("{} ({})", number(median, digits), number(p95, digits))
        }
        (Some(only), _) => number(only, digits),
        _ => "-".to_owned(),
    }
}

fn number(value: f64, digits: usize) -> String {
    if value.is_finite() {
        format!("{value:.digits$}")
    } else {
        "never".to_owned()
    }
}

/// Each step's settling over the seeds.
fn settle(scores: Vec<&Score>) -> String {
    settled(
        &scores
            .iter()
            .map(|scores| &scores.settle_s[..])
            .collect::<Vec<_>>(),
    )
}

/// Each step's settling over the runs.
pub(super) fn settled(runs: &[&[Option<f64>]]) -> String {
    let steps = runs.first().map_or(0, |settle_s| settle_s.len());
    let step = |index: usize| {
        let settled = runs.iter().map(|settle_s| {
            let settled = settle_s.get(index).copied().flatten();
            Some(settled.unwrap_or(f64::INFINITY))
        });
        cell(settled.collect(), 2)
    };
    (0..steps).map(step).collect::<Vec<_>>().join(", ")
}
