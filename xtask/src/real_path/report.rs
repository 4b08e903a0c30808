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
    /// How many bars there were.
    bars: usize,
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
            bars: 0,
            misses: Vec::new(),
            notes: Vec::new(),
        };
        for other in OTHERS {
            verdict.compare(rows, other, is_alone);
        }
        verdict.notes.extend(unjudged(rows, is_alone));
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

    /// Whether anything was held against a bar.
    fn is_judged(&self) -> bool {
        self.bars > 0 || !self.misses.is_empty()
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
        match (is_alone, is_reference(other, is_alone)) {
            (true, _) => self.judge(median >= MEDIAN_BAR && worst >= EVERY_BAR, text),
            (false, true) => self.judge(median >= BESIDE_BAR, text),
            (false, false) => self.notes.push(text),
        }
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
        self.judge(error <= ERROR_BAR && wrong <= WRONG_BAR_S, text);
    }

    fn judge(&mut self, is_met: bool, text: String) {
        self.bars += 1;
        if is_met {
            self.notes.push(text);
        } else {
            self.misses.push(text);
        }
    }
}

/// Whether another controller sets a bar.
fn is_reference(other: &str, is_alone: bool) -> bool {
    is_alone || other != CUBIC
}

/// Why no goodput is held against a bar, if none is.
fn unjudged(rows: &[&Row], is_alone: bool) -> Option<String> {
    let has_one = OTHERS
        .into_iter()
        .filter(|other| is_reference(other, is_alone))
        .any(|other| pairs(rows, other).next().is_some());
    let is_measured = rows.iter().any(|row| row.controller == JUDGED);
    let reason = match (is_measured, is_alone) {
        _ if has_one => return None,
        (false, _) => "`imtcp` was not measured",
        (true, true) => "neither `imtcp-off` nor `cubic` was measured in a run of `imtcp`",
        (true, false) => "`imtcp-off` was not measured in a run of `imtcp`",
    };
    Some(format!(
        "no goodput was judged: {reason}; name both with --controllers"
    ))
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
    let (judged, others): (Vec<_>, Vec<_>) = verdicts.iter().partition(|one| one.is_judged());
    let (met, missed): (Vec<_>, Vec<_>) = judged.into_iter().partition(|one| one.is_met());
    let groups = [("MISSED", missed), ("Not judged", others), ("Met", met)];
    for (title, group) in groups {
        if title == "Not judged" && group.is_empty() {
            continue;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(controller: &str, mbps: f64) -> Row {
        Row {
            goodput_bps: mbps * 1e6,
            ..Row::new("cell".to_owned(), controller, 1)
        }
    }

    fn told(rows: &[Row], is_alone: bool) -> String {
        let rows: Vec<&Row> = rows.iter().collect();
        table(&[Verdict::of("cell", is_alone, &rows)])
    }

    #[test]
    fn what_has_no_bar_is_not_met_but_said_to_be_unjudged() {
        let with =
            |others: &[&str]| -> Vec<Row> { others.iter().map(|name| row(name, 30.0)).collect() };
        for (rows, is_alone, reason) in [
            (
                with(&["kernel", "imtcp-off"]),
                true,
                "`imtcp` was not measured;",
            ),
            (
                with(&["imtcp"]),
                true,
                "neither `imtcp-off` nor `cubic` was measured",
            ),
            (
                with(&["imtcp", "cubic"]),
                false,
                "`imtcp-off` was not measured",
            ),
        ] {
            let said = told(&rows, is_alone);
            assert!(said.contains("Not judged: 1 of 1 cells"), "{said}");
            assert!(said.contains("Met: 0 of 1 cells"), "{said}");
            assert!(
                said.contains(&format!("no goodput was judged: {reason}")),
                "{said}"
            );
        }
    }

    #[test]
    fn one_reference_is_enough_for_a_verdict() {
        for (mbps, title) in [(30.0, "\nMet: 1 of 1"), (20.0, "MISSED: 1 of 1")] {
            for (other, is_alone) in [("cubic", true), ("imtcp-off", false)] {
                let said = told(&[row("imtcp", mbps), row(other, 30.0)], is_alone);
                assert!(said.contains(title), "{said}");
                assert!(!said.contains("judged"), "{said}");
            }
        }
    }
}
