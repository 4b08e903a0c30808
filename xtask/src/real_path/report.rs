//! The comparison of runs, the bars, and the table with the misses first.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::CUBIC;
use super::results::Row;
use crate::testbed::median;

/// The bars for transfers alone: goodput against another controller's in the same run, for the
/// median over the runs and for each run.
const MEDIAN_BAR: f64 = 0.98;
const EVERY_BAR: f64 = 0.95;

/// The bar beside rivals, where luck decides much in a single run: the median, against not
/// measuring.
const BESIDE_BAR: f64 = 0.95;

/// The error of the estimate at the median of the time, as a share of the truth.
const ERROR_BAR: f64 = 0.10;

/// The time for which the estimate may be further off than 30 %, in seconds. It is looked at every
/// 100 ms.
const WRONG_BAR_S: f64 = 1.05;

/// The controller that is judged, and those that it is compared with.
const JUDGED: &str = "imtcp";
const OTHERS: [&str; 2] = ["imtcp-off", CUBIC];

/// A cell with all its runs.
pub struct Verdict {
    cell: String,
    /// Median goodputs, by controller, in bit/s.
    goodputs: BTreeMap<String, f64>,
    /// The bars that were missed, in words.
    misses: Vec<String>,
    /// Further remarks.
    notes: Vec<String>,
}

impl Verdict {
    /// Sums up the rows of a cell.
    pub fn of(cell: &str, is_alone: bool, rows: &[&Row]) -> Self {
        let mut verdict = Self {
            cell: cell.to_owned(),
            goodputs: goodputs(rows),
            misses: Vec::new(),
            notes: Vec::new(),
        };
        for other in OTHERS {
            verdict.compare(rows, other, is_alone);
        }
        verdict.judge_estimates(rows);
        for row in rows {
            if let Some(error) = &row.error {
                let Row {
                    controller, run, ..
                } = row;
                verdict
                    .misses
                    .push(format!("{controller} run {run} failed: {error}"));
            }
        }
        verdict
    }

    /// Whether all is as it should be.
    pub fn is_met(&self) -> bool {
        self.misses.is_empty()
    }

    fn compare(&mut self, rows: &[&Row], other: &str, is_alone: bool) {
        let mut ratios: Vec<(f64, u32)> = pairs(rows, other).collect();
        ratios.sort_by(|one, two| one.0.total_cmp(&two.0));
        let Some(&(worst, run)) = ratios.first() else {
            return;
        };
        let median = median(ratios.iter().map(|pair| pair.0)).unwrap_or(worst);
        let text = format!(
            "{:.1} % of {other} at the median, {:.1} % at worst (run {run})",
            median * 100.0,
            worst * 100.0
        );
        let is_met = match (is_alone, other) {
            (true, _) => median >= MEDIAN_BAR && worst >= EVERY_BAR,
            (false, "imtcp-off") => median >= BESIDE_BAR,
            (false, _) => true,
        };
        self.say(is_met, text);
    }

    fn judge_estimates(&mut self, rows: &[&Row]) {
        let judged = rows.iter().filter(|row| row.controller == JUDGED);
        let accuracies: Vec<_> = judged.filter_map(|row| row.accuracy).collect();
        let worst = |value: fn(&super::accuracy::Accuracy) -> f64| {
            accuracies.iter().map(value).max_by(f64::total_cmp)
        };
        let (Some(error), Some(wrong), Some(silent)) = (
            worst(|accuracy| accuracy.median_error),
            worst(|accuracy| accuracy.longest_wrong_s),
            worst(|accuracy| accuracy.silent_share),
        ) else {
            return;
        };
        let text = format!(
            "estimate off by {:.1} % at the median of the worst run, by more than 30 % for up to \
             {wrong:.1} s, silent for up to {:.0} % of the time",
            error * 100.0,
            silent * 100.0
        );
        self.say(error <= ERROR_BAR && wrong <= WRONG_BAR_S, text);
    }

    fn say(&mut self, is_met: bool, text: String) {
        if is_met {
            self.notes.push(text);
        } else {
            self.misses.push(text);
        }
    }
}

/// Goodput of the judged controller as a share of another's in the same run.
fn pairs<'a>(rows: &'a [&Row], other: &'a str) -> impl Iterator<Item = (f64, u32)> {
    let judged = rows.iter().filter(|row| row.controller == JUDGED);
    judged.filter_map(move |row| {
        let mut others = rows.iter().filter(|row| row.controller == other);
        let beside = others.find(|other| other.run == row.run && other.goodput_bps > 0.0)?;
        Some((row.goodput_bps / beside.goodput_bps, row.run))
    })
}

fn goodputs(rows: &[&Row]) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows {
        let of_controller = all.entry(row.controller.clone()).or_default();
        of_controller.push(row.goodput_bps);
    }
    all.into_iter()
        .filter_map(|(controller, goodputs)| Some((controller, median(goodputs)?)))
        .collect()
}

/// All cells, the misses first.
pub fn table(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    let (met, missed): (Vec<_>, Vec<_>) = verdicts.iter().partition(|verdict| verdict.is_met());
    for (title, group) in [("MISSED", missed), ("Met", met)] {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{title}: {} of {} cells", group.len(), verdicts.len());
        for verdict in group {
            let _ = write!(text, "  {}:", verdict.cell);
            for (controller, goodput) in &verdict.goodputs {
                let _ = write!(text, " {controller} {:.2}", goodput / 1e6);
            }
            text.push_str(" Mbit/s\n");
            for miss in &verdict.misses {
                let _ = writeln!(text, "    missed: {miss}");
            }
            for note in &verdict.notes {
                let _ = writeln!(text, "    {note}");
            }
        }
    }
    text
}

/// What the emulator says of itself over all rows: how late its packets came at worst.
pub fn jitter<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let mut p50 = Vec::new();
    let mut p99 = Vec::new();
    let mut refused = 0;
    for path in rows.filter_map(|row| row.path) {
        p50.push(path.lateness_us.p50_us);
        p99.push(path.lateness_us.p99_us);
        refused += path.to_left.refused + path.to_right.refused;
    }
    let worst = p99.iter().copied().max_by(f64::total_cmp)?;
    Some(format!(
        "The path's own lateness: {:.0} µs (p50) and {:.0} µs (p99) in the median transfer, \
         {worst:.0} µs (p99) in the worst; {refused} packets refused by the kernel.",
        median(p50)?,
        median(p99)?
    ))
}
