//! Files of a sweep: every slot, every row, and figures of them.

use super::OutputError;
use crate::result::{SweepRow, SweepRun};
use crate::scenario::Sweep;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;

const PANEL: (u32, u32) = (760, 520);
/// Okabe and Ito's palette, which the colour-blind can tell apart.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(150, 150, 150),
];

type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Writes `<sweep>-slots.csv`, `<sweep>-rows.csv`, `<sweep>-kept.svg` (slots kept over the number of
/// rivals), `<sweep>-lost.svg` (what rivals lose against their fair share) and `<sweep>-cdf.svg` (the
/// distribution over slots of the first point of the last axis).
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
        lines: |rows, line| over_rivals(rows, line, |row| Some(row.slots.kept * 100.0)),
    };
    let lost = Lines {
        below: "flows beside",
        left: "rivals' loss of their fair share, %",
        lines: |rows, line| over_rivals(rows, line, |row| row.lost.map(|share| share * 100.0)),
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
    drawn.map_err(|error| OutputError::new(&file, error))
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
    ];
    csv.write_record(axes.chain(columns))?;
    for run in runs {
        for slot in &run.promise.slots {
            let rest = [
                run.seed.to_string(),
                slot.t.to_string(),
                slot.rivals.to_string(),
                run.promise.required_bps.to_string(),
                slot.achieved_bps.to_string(),
                slot.kept.to_string(),
                slot.rival_bps.map_or(String::new(), |bps| bps.to_string()),
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
            row.slots.kept.to_string(),
            optional(row.reported),
            row.slots.p5.to_string(),
            row.slots.mean.to_string(),
            optional(row.rival_bps),
            optional(row.fair_bps),
            optional(row.lost),
        ];
        csv.write_record(row.names.iter().cloned().chain(rest))?;
    }
    csv.flush()?;
    Ok(())
}

/// One panel for each combination of all axes but the last and the number of rivals; in it a line for
/// each point of the last axis.
struct Panels<'r> {
    panels: Vec<(String, Vec<&'r SweepRow>)>,
    lines: Vec<String>,
}

impl<'r> Panels<'r> {
    fn of(sweep: &Sweep, rows: &'r [SweepRow]) -> Self {
        let last = sweep.axes.len().saturating_sub(1);
        let titles = |row: &SweepRow| {
            let kept = sweep.axes.iter().zip(&row.names).take(last);
            let kept = kept.filter(|(axis, _)| axis.name != RIVALS);
            let parts: Vec<String> = kept
                .map(|(axis, name)| format!("{} {name}", axis.name))
                .collect();
            parts.join(", ")
        };
        let mut panels: Vec<(String, Vec<&SweepRow>)> = Vec::new();
        for row in rows {
            let title = titles(row);
            match panels.iter_mut().find(|(known, _)| *known == title) {
                Some((_, rows)) => rows.push(row),
                None => panels.push((title, vec![row])),
            }
        }
        let lines = sweep
            .axes
            .last()
            .map(|axis| axis.points.iter().map(|p| p.name.clone()).collect());
        Self {
            panels,
            lines: lines.unwrap_or_default(),
        }
    }

    fn draw(
        &self,
        sweep: &Sweep,
        path: &Path,
        panel: impl Fn(&Area<'_>, &(String, Vec<&'r SweepRow>)) -> Drawn,
    ) -> Drawn {
        let count = u32::try_from(self.panels.len().max(1)).unwrap_or(1);
        let area = SVGBackend::new(path, (PANEL.0 * count, PANEL.1)).into_drawing_area();
        area.fill(&WHITE)?;
        let inner = area.titled(&sweep.title, ("sans-serif", 20).into_font())?;
        for (area, content) in inner
            .split_evenly((1, count as usize))
            .iter()
            .zip(&self.panels)
        {
            panel(area, content)?;
        }
        area.present()
    }
}

/// The axis that the figures have below, and not as panels.
const RIVALS: &str = "rivals";

/// The points of one line, from the rows of a panel and the name of a line.
type Points = fn(&[&SweepRow], &str) -> Vec<(f64, f64)>;

struct Lines {
    below: &'static str,
    left: &'static str,
    lines: Points,
}

fn over_rivals(
    rows: &[&SweepRow],
    line: &str,
    value: impl Fn(&SweepRow) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let mine = rows
        .iter()
        .filter(|row| row.names.last().is_some_and(|name| name == line));
    mine.filter_map(|row| Some((row.rivals as f64, value(row)?)))
        .collect()
}

impl Lines {
    fn draw(&self, area: &Area<'_>, panel: &(String, Vec<&SweepRow>), names: &[String]) -> Drawn {
        let (title, rows) = panel;
        let right = rows.iter().map(|row| row.rivals as f64).fold(1.0, f64::max);
        let all = || names.iter().map(|name| (self.lines)(rows, name));
        let lowest = all().flatten().map(|(_, y)| y).fold(0.0, f64::min);
        let mut chart = ChartBuilder::on(area)
            .caption(title, ("sans-serif", 16))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..right, (lowest * 1.05)..102.0)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.12))
            .x_desc(self.below)
            .y_desc(self.left)
            .label_style(("sans-serif", 14))
            .draw()?;
        for (index, (name, points)) in names.iter().zip(all()).enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 22, y)], colour.stroke_width(2))
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .label_font(("sans-serif", 14))
            .draw()?;
        Ok(())
    }
}

/// Figure 7 of the paper: how many slots had up to so much of what was required, a line for each
/// number of rivals.
fn distribution(area: &Area<'_>, panel: &(String, Vec<&SweepRow>), names: &[String]) -> Drawn {
    let (title, rows) = panel;
    let first = names.first().map_or("", String::as_str);
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{title} {first}"), ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.5..1.5, 0.0..100.0)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("achieved / required")
        .y_desc("slots up to that, %")
        .label_style(("sans-serif", 14))
        .draw()?;
    let mine = rows
        .iter()
        .filter(|row| row.names.last().is_some_and(|name| name == first));
    for (index, row) in mine.enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let count = row.ratios.len() as f64;
        let ranked = row.ratios.iter().enumerate();
        let stairs =
            ranked.map(|(rank, ratio)| (ratio.clamp(0.5, 1.5), (rank + 1) as f64 / count * 100.0));
        chart
            .draw_series(LineSeries::new(stairs, colour.stroke_width(2)))?
            .label(format!("{} beside", row.rivals))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 14))
        .draw()?;
    Ok(())
}
