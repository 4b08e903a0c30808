//! Files of a sweep: every slot, every row, and figures of them.

use super::OutputError;
use super::sweep_figures::{Lines, Panels, distribution, over_rivals, over_time};
use crate::result::{SweepRow, SweepRun};
use crate::scenario::Sweep;
use std::path::Path;

/// Writes `<sweep>-slots.csv`, `<sweep>-rows.csv`, `<sweep>-kept.svg` (slots kept over the number
/// of rivals), `<sweep>-lost.svg` (what rivals lose against their fair share) and `<sweep>-cdf.svg`
/// (the distribution over slots of the first point of the last axis) and `<sweep>-time.svg` (the
/// slots of each first run over time).
///
/// # Errors
/// A file cannot be written.
pub fn sweep_files(
    sweep: &Sweep,
    runs: &[SweepRun],
    rows: &[SweepRow],
    folder: &Path,
) -> Result<(), OutputError> {
    let path = |suffix: &str| folder.join(format!("{}-{suffix}", sweep.name));
    let file = path("slots.csv");
    slots(sweep, runs, &file).map_err(|error| OutputError::new(&file, error))?;
    let file = path("rows.csv");
    table(sweep, rows, &file).map_err(|error| OutputError::new(&file, error))?;
    let panels = Panels::of(sweep, rows);
    let kept = Lines {
        below: "flows beside",
        left: "slots kept, %",
        lines: |rows, line| over_rivals(rows, line, |row| Some(row.slots.kept_share * 100.0)),
    };
    let lost = Lines {
        below: "flows beside",
        left: "rivals' loss of their fair share, %",
        lines: |rows, line| {
            over_rivals(rows, line, |row| row.lost_share.map(|share| share * 100.0))
        },
    };
    for (suffix, figure) in [("kept.svg", kept), ("lost.svg", lost)] {
        let file = path(suffix);
        let drawn = panels.draw(sweep, &file, |area, panel| {
            figure.draw(area, panel, &panels.lines)
        });
        drawn.map_err(|error| OutputError::new(&file, error))?;
    }
    let file = path("cdf.svg");
    let drawn = panels.draw(sweep, &file, |area, panel| {
        distribution(area, panel, &panels.lines)
    });
    drawn.map_err(|error| OutputError::new(&file, error))?;
    let file = path("time.svg");
    over_time(sweep, runs, &file).map_err(|error| OutputError::new(&file, error))
}

fn slots(sweep: &Sweep, runs: &[SweepRun], path: &Path) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_path(path)?;
    let axes = sweep.axes.iter().map(|axis| axis.name.as_str());
    let columns = [
        "seed",
        "t_s",
        "beside",
        "required_bps",
        "achieved_bps",
        "kept",
        "rival_bps",
        "warned_s",
    ];
    csv.write_record(axes.chain(columns))?;
    for run in runs {
        for slot in &run.promise.slots {
            let rest = [
                run.seed.to_string(),
                slot.t_s.to_string(),
                slot.rivals.to_string(),
                run.promise.required_bps.to_string(),
                slot.achieved_bps.to_string(),
                slot.kept.to_string(),
                slot.rival_bps.map_or(String::new(), |bps| bps.to_string()),
                slot.warned_s.map_or(String::new(), |left| left.to_string()),
            ];
            csv.write_record(run.names.iter().cloned().chain(rest))?;
        }
    }
    csv.flush()?;
    Ok(())
}

fn table(sweep: &Sweep, rows: &[SweepRow], path: &Path) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_path(path)?;
    let axes = sweep.axes.iter().map(|axis| axis.name.as_str());
    let columns = [
        "beside",
        "slots",
        "kept",
        "own_count",
        "p5",
        "mean",
        "rival_bps",
        "fair_bps",
        "lost",
    ];
    csv.write_record(axes.chain(columns))?;
    let optional = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for row in rows {
        let rest = [
            row.rivals.to_string(),
            row.slots.count.to_string(),
            row.slots.kept_share.to_string(),
            optional(row.reported_share),
            row.slots.p5.to_string(),
            row.slots.mean.to_string(),
            optional(row.rival_bps),
            optional(row.fair_bps),
            optional(row.lost_share),
        ];
        csv.write_record(row.names.iter().cloned().chain(rest))?;
    }
    csv.flush()?;
    Ok(())
}
