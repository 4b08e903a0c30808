//! What tools measured, as a table.

use super::summary::{cell, settled};
use imtcp_sim::result::{Measurement, RunResult};

/// A row for each tool. Its measurements of all runs are counted alike.
pub(super) fn table(results: &[RunResult]) -> comfy_table::Table {
    let header = [
        "tool",
        "kind",
        "answers",
        "value Mbit/s",
        "error %",
        "bias %",
        "range holds truth %",
        "seconds",
        "KB",
        "other KB",
        "added ms",
        "at most ms",
        "settle s",
    ];
    let mut table = super::table(header);
    for (index, tool) in results[0].tools.iter().enumerate() {
        let runs = results
            .iter()
            .flat_map(|run| &run.tools[index].measurements);
        let all: Vec<&Measurement> = runs.collect();
        let answered = all.iter().filter(|one| one.value_bps.is_some());
        let across = |value: fn(&Measurement) -> Option<f64>, digits| {
            cell(all.iter().map(|one| value(one)).collect(), digits)
        };
        let share = |value: fn(&Measurement) -> Option<bool>| {
            let told: Vec<bool> = all.iter().filter_map(|one| value(one)).collect();
            let hits = told.iter().filter(|hit| **hit).count();
            match told.len() {
                0 => "-".to_owned(),
                count => format!("{:.0}", hits as f64 / count as f64 * 100.0),
            }
        };
        table.add_row([
            tool.name.clone(),
            tool.kind.to_owned(),
            format!("{} of {}", answered.count(), all.len()),
            across(|one| Some(one.value_bps? as f64 / 1e6), 3),
            across(|one| Some(one.error?.abs() * 100.0), 1),
            across(|one| Some(one.error? * 100.0), 1),
            share(Measurement::holds_truth),
            across(|measured| measured.took_s, 2),
            across(|one| one.end_s.map(|_| one.bytes as f64 / 1e3), 1),
            across(|one| one.end_s.map(|_| one.other_bytes as f64 / 1e3), 1),
            across(|one| one.added_mean_ms, 3),
            across(|one| one.end_s.map(|_| one.added_max_ms), 2),
            settled(&runs_settled(results, index)),
        ]);
    }
    table
}

/// What each run of a tool says of settling.
fn runs_settled(results: &[RunResult], tool: usize) -> Vec<&[Option<f64>]> {
    let runs = results.iter().map(|run| &run.tools[tool].settle_s[..]);
    runs.collect()
}
