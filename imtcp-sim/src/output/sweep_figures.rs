//! Figures of a sweep.

use super::chart::{Area, Drawn, grid, legend};
use crate::result::{SweepRow, SweepRun};
use crate::scenario::Sweep;
use plotters::prelude::*;
use std::path::Path;

const PANEL: (u32, u32) = (760, 520);
/// The size of numbers and names.
const TEXT: u32 = 14;
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

/// One panel for each combination of all axes but the last and the number of rivals; in it a line
/// for each point of the last axis.
pub(super) struct Panels<'r> {
    panels: Vec<(String, Vec<&'r SweepRow>)>,
    pub(super) lines: Vec<String>,
}

impl<'r> Panels<'r> {
    pub(super) fn of(sweep: &Sweep, rows: &'r [SweepRow]) -> Self {
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

    pub(super) fn draw(
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

/// Points of the line of that name.
type Points = fn(&[&SweepRow], &str) -> Vec<(f64, f64)>;

pub(super) struct Lines {
    pub(super) below: &'static str,
    pub(super) left: &'static str,
    pub(super) lines: Points,
}

pub(super) fn over_rivals(
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
    pub(super) fn draw(
        &self,
        area: &Area<'_>,
        panel: &(String, Vec<&SweepRow>),
        names: &[String],
    ) -> Drawn {
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
        grid(&mut chart, [self.below, self.left], [TEXT; 2])?;
        for (index, (name, points)) in names.iter().zip(all()).enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 22, y)], colour.stroke_width(2))
                });
        }
        legend(&mut chart, SeriesLabelPosition::LowerLeft, TEXT)
    }
}

/// Figure 7 of the paper: the share of slots that had up to a certain part of what was required. It
/// has a line for each number of rivals.
pub(super) fn distribution(
    area: &Area<'_>,
    panel: &(String, Vec<&SweepRow>),
    names: &[String],
) -> Drawn {
    let (title, rows) = panel;
    let first = names.first().map_or("", String::as_str);
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{title} {first}"), ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.5..1.5, 0.0..100.0)?;
    grid(
        &mut chart,
        ["achieved / required", "slots up to that, %"],
        [TEXT; 2],
    )?;
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
    legend(&mut chart, SeriesLabelPosition::UpperLeft, TEXT)
}

/// Figure 5 of the paper: what each slot had, over time. It has a line for each cell, with its
/// first seed.
pub(super) fn over_time(sweep: &Sweep, runs: &[SweepRun], path: &Path) -> Drawn {
    let firsts: Vec<&SweepRun> = runs
        .chunk_by(|one, next| one.names == next.names)
        .filter_map(<[SweepRun]>::first)
        .take(COLOURS.len())
        .collect();
    let ratio = |run: &SweepRun, bps: u64| bps as f64 / run.promise.required_bps as f64;
    let slots = || firsts.iter().flat_map(|run| &run.promise.slots);
    let right = slots().map(|slot| slot.t_s).fold(1.0, f64::max);
    let area = SVGBackend::new(path, (PANEL.0 + PANEL.0 / 2, PANEL.1)).into_drawing_area();
    area.fill(&WHITE)?;
    let inner = area.titled(&sweep.title, ("sans-serif", 20).into_font())?;
    let mut chart = ChartBuilder::on(&inner)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..right, 0.0..2.0)?;
    grid(
        &mut chart,
        ["time in s", "achieved / required, up to 2"],
        [TEXT; 2],
    )?;
    let required = LineSeries::new([(0.0, 1.0), (right, 1.0)], BLACK.mix(0.6).stroke_width(1));
    chart.draw_series(required)?;
    for (index, run) in firsts.into_iter().enumerate() {
        let colour = COLOURS[index];
        let all = run.promise.slots.iter();
        let points = all.map(|slot| (slot.t_s, ratio(run, slot.achieved_bps).min(2.0)));
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(run.names.join(" "))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], colour.stroke_width(2)));
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight, TEXT)?;
    inner.present()
}
