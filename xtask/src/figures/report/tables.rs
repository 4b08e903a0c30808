//! The same as tables, for other programs.

use std::path::Path;

use anyhow::{Context, Result};

use super::super::bar::Verdict;
use super::super::outcome::Outcome;
use super::page;

/// Writes `figures.csv`, with a line for each number and bar, and `runs.csv`, with a line for each
/// number and seed.
pub fn write(outcomes: &[Outcome], folder: &Path) -> Result<()> {
    let figures = folder.join("figures.csv");
    let runs = folder.join("runs.csv");
    let written = figures_of(outcomes, &figures).and_then(|()| runs_of(outcomes, &runs));
    written.with_context(|| format!("writing the tables in {}", folder.display()))
}

fn figures_of(outcomes: &[Outcome], path: &Path) -> Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record([
        "row",
        "case",
        "measure",
        "unit",
        "published",
        "seeds",
        "over_seeds",
        "value",
        "lowest",
        "highest",
        "at_least",
        "at_most",
        "verdict",
    ])?;
    for outcome in outcomes {
        if let Some(why) = &outcome.row.not_built {
            let verdict = format!("not built: {why}");
            let published = &outcome.row.published;
            let empty = "";
            csv.write_record([
                &outcome.row.id,
                empty,
                empty,
                empty,
                published,
                "0",
                empty,
                empty,
                empty,
                empty,
                empty,
                empty,
                &verdict,
            ])?;
        }
        for (measure, tried, cell) in outcome.cells() {
            for held in cell.lines() {
                csv.write_record([
                    outcome.row.id.clone(),
                    tried.case.label(),
                    measure.name.clone(),
                    measure.unit.clone(),
                    held.published.clone().unwrap_or_default(),
                    cell.values.len().to_string(),
                    page::over(measure, held).to_owned(),
                    number(page::here(cell, held)),
                    number(cell.values.iter().copied().reduce(f64::min)),
                    number(cell.values.iter().copied().reduce(f64::max)),
                    number(held.limit.and_then(|limit| limit.least)),
                    number(held.limit.and_then(|limit| limit.most)),
                    verdict(held.verdict.as_ref()),
                ])?;
            }
        }
    }
    Ok(csv.flush()?)
}

fn number(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

fn verdict(verdict: Option<&Verdict>) -> String {
    match verdict {
        None => String::new(),
        Some(Verdict::Met) => "met".to_owned(),
        Some(Verdict::Missed) => "missed".to_owned(),
        Some(Verdict::Open(why)) => why.clone(),
    }
}

fn runs_of(outcomes: &[Outcome], path: &Path) -> Result<()> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record(["row", "case", "measure", "unit", "seed", "value"])?;
    for outcome in outcomes {
        for (measure, tried, cell) in outcome.cells() {
            for (seed, value) in cell.seeds.iter().zip(&cell.values) {
                csv.write_record([
                    outcome.row.id.clone(),
                    tried.case.label(),
                    measure.name.clone(),
                    measure.unit.clone(),
                    seed.to_string(),
                    value.to_string(),
                ])?;
            }
        }
    }
    Ok(csv.flush()?)
}
