//! Files of a sweep with columns: each run's values, and what they come to.

use super::OutputError;
use crate::result::{ComparedCell, ComparedRun};
use crate::scenario::Sweep;
use std::path::Path;

/// Writes `<sweep>-runs.csv` and `<sweep>-cells.csv`.
///
/// # Errors
/// A file cannot be written.
pub fn comparison_files(
    sweep: &Sweep,
    all: &[ComparedRun],
    cells: &[ComparedCell],
    folder: &Path,
) -> Result<(), OutputError> {
    let file = folder.join(format!("{}-runs.csv", sweep.name));
    runs(sweep, all, &file).map_err(|error| OutputError::new(&file, error))?;
    let file = folder.join(format!("{}-cells.csv", sweep.name));
    summary(sweep, cells, &file).map_err(|error| OutputError::new(&file, error))
}

fn optional(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn runs(sweep: &Sweep, runs: &[ComparedRun], path: &Path) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_path(path)?;
    let axes = sweep.axes.iter().map(|axis| axis.name.as_str());
    let columns = sweep.columns.iter().map(|column| column.name.as_str());
    csv.write_record(axes.chain(["seed"]).chain(columns))?;
    for run in runs {
        let names = run.names.iter().cloned();
        let values = run.values.iter().map(|value| optional(*value));
        csv.write_record(names.chain([run.seed.to_string()]).chain(values))?;
    }
    csv.flush()?;
    Ok(())
}

fn summary(sweep: &Sweep, cells: &[ComparedCell], path: &Path) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_path(path)?;
    let axes = sweep.axes.iter().map(|axis| axis.name.as_str());
    csv.write_record(axes.chain(["column", "middle", "p95", "change"]))?;
    for cell in cells {
        for (column, value) in sweep.columns.iter().zip(&cell.values) {
            let Some(value) = value else { continue };
            let rest = [
                column.name.clone(),
                value.middle.to_string(),
                value.p95.to_string(),
                optional(value.change),
            ];
            csv.write_record(cell.names.iter().cloned().chain(rest))?;
        }
    }
    csv.flush()?;
    Ok(())
}
