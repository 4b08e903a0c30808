//! Files of a survey of shares.

use super::OutputError;
use crate::survey::Class;
use crate::survey::share::{Instant, Reader, Shared, Tally};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Written<'a> {
    class: &'static str,
    tally: &'a Tally,
}

/// Writes an array with one object per class.
///
/// # Errors
/// The file cannot be written.
pub fn share_json(surveyed: &[(Class, Tally)], path: &Path) -> Result<(), OutputError> {
    let written = surveyed.iter().map(|(class, tally)| Written {
        class: class.name(),
        tally,
    });
    super::json(&written.collect::<Vec<_>>(), path)
}

/// Writes `<class>-shares.csv`, a line per path and instant.
///
/// # Errors
/// The file cannot be written.
pub fn share_files(class: Class, all: &[Shared], folder: &Path) -> Result<(), OutputError> {
    let file = folder.join(format!("{}-shares.csv", class.name()));
    lines(all, &file).map_err(|error| OutputError::new(&file, error))
}

fn lines(all: &[Shared], file: &Path) -> Result<(), csv::Error> {
    let mut lines = csv::Writer::from_path(file)?;
    let readers = Reader::ALL.map(|reader| format!("{}_bps", reader.name()));
    let first = ["seed", "t_s", "truth_bps", "low_bps", "high_bps", "basis"];
    lines.write_record(first.map(str::to_owned).into_iter().chain(readers))?;
    for one in all {
        for instant in &one.instants {
            lines.write_record(line(one.seed, instant))?;
        }
    }
    lines.flush()?;
    Ok(())
}

fn line(seed: u64, instant: &Instant) -> impl Iterator<Item = String> {
    let whole = |value: Option<f64>| value.map_or(String::new(), |it| format!("{it:.0}"));
    let [low, high] = [0, 1].map(|end| instant.interval_bps.map(|interval| interval[end]));
    let first = [
        seed.to_string(),
        format!("{:.1}", instant.at_s),
        whole(Some(instant.truth_bps)),
        whole(low),
        whole(high),
        instant.basis.unwrap_or_default().to_owned(),
    ];
    first.into_iter().chain(instant.values_bps.map(whole))
}
