//! What became of requirements, as a table.

use imtcp_sim::result::{BesideRivals, RunResult};

/// A row for each flow that requires something and each number of rivals; the slots of all seeds
/// together.
pub fn table(results: &[RunResult]) -> comfy_table::Table {
    let mut table = super::table([
        "flow",
        "controller",
        "required Mbit/s",
        "rivals",
        "slots",
        "kept %",
        "p5 of required %",
        "mean %",
        "rival Mbit/s",
        "fair share",
        "rivals lose %",
    ]);
    for (index, flow) in results[0].flows.iter().enumerate() {
        let Some(promise) = &flow.promise else {
            continue;
        };
        let runs = || {
            results
                .iter()
                .filter_map(|result| result.flows[index].promise.as_ref())
        };
        let mut numbers: Vec<usize> = runs()
            .flat_map(|run| run.by_rivals.iter().map(|beside| beside.rivals))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let beside: Vec<BesideRivals> = runs()
                .flat_map(|run| run.by_rivals.iter().copied())
                .filter(|beside| beside.rivals == number)
                .collect();
            let mut row = vec![
                flow.name.clone(),
                flow.controller.to_owned(),
                format!("{:.1}", promise.required_bps as f64 / 1e6),
            ];
            row.extend(cells(&beside));
            table.add_row(row);
        }
    }
    table
}

/// Means over the runs, weighted by their slots.
fn cells(runs: &[BesideRivals]) -> Vec<String> {
    let slots: usize = runs.iter().map(|run| run.slots.count).sum();
    let mean = |value: &dyn Fn(&BesideRivals) -> Option<f64>| {
        let values = runs
            .iter()
            .filter_map(|run| Some((value(run)?, run.slots.count as f64)));
        let (sum, weight) = values.fold((0.0, 0.0), |(sum, weight), (value, count)| {
            (sum + value * count, weight + count)
        });
        (weight > 0.0).then(|| sum / weight)
    };
    let cell = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    vec![
        runs.first().map_or(0, |run| run.rivals).to_string(),
        slots.to_string(),
        cell(mean(&|run| Some(run.slots.kept_share * 100.0)), 1),
        cell(mean(&|run| Some(run.slots.p5 * 100.0)), 1),
        cell(mean(&|run| Some(run.slots.mean * 100.0)), 1),
        cell(mean(&|run| Some(run.rival_bps? as f64 / 1e6)), 2),
        cell(mean(&|run| Some(run.fair_bps? as f64 / 1e6)), 2),
        cell(mean(&|run| Some(run.lost_share? * 100.0)), 1),
    ]
}
