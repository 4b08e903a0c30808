//! A figure for each measuring flow: its estimates against the truth.

use super::OutputError;
use super::chart::{Area, Chart, Drawn, grid, legend};
use crate::result::{EstimatePoint, FlowResult, RunResult};
use crate::scenario::Scenario;
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (1200, 620);
const TRUTH: RGBColor = RGBColor(110, 110, 110);
const ESTIMATE: RGBColor = RGBColor(0, 114, 178);
const CLASSIC: RGBColor = RGBColor(213, 94, 0);
const OWN: RGBColor = RGBColor(0, 158, 115);
/// More points than pixels would only make the file large.
const MOST_POINTS: usize = 2400;

/// Writes `<scenario>-seed<N>-<flow>.svg` for every flow.
///
/// # Errors
/// A file cannot be written.
pub fn figures(scenario: &Scenario, result: &RunResult, folder: &Path) -> Result<(), OutputError> {
    for flow in &result.flows {
        let name = format!("{}-seed{}-{}.svg", result.scenario, result.seed, flow.name);
        let path = folder.join(name);
        let area = SVGBackend::new(&path, SIZE).into_drawing_area();
        draw(&area, scenario, result, flow).map_err(|error| OutputError::new(&path, error))?;
    }
    Ok(())
}

fn draw(area: &Area<'_>, scenario: &Scenario, result: &RunResult, flow: &FlowResult) -> Drawn {
    area.fill(&WHITE)?;
    let area = area.titled(&scenario.title, ("sans-serif", 20).into_font())?;
    let own = own_throughput(result, flow);
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .margin_right(28)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..result.sim_seconds, 0.0..top(flow, &own))?;
    let below = format!("time in s (flow {}, seed {})", flow.name, result.seed);
    grid(&mut chart, [&below, "Mbit/s of IP packets"], [15, 16])?;
    draw_series(&mut chart, flow, own)?;
    legend(&mut chart, SeriesLabelPosition::UpperRight, 15)?;
    area.present()
}

fn draw_series(chart: &mut Chart<'_>, flow: &FlowResult, own: Vec<(f64, f64)>) -> Drawn {
    let line = |color: RGBColor, width: u32| {
        move |(x, y): (i32, i32)| PathElement::new([(x, y), (x + 22, y)], color.stroke_width(width))
    };
    chart
        .draw_series(LineSeries::new(own, OWN.mix(0.6).stroke_width(1)))?
        .label("own throughput")
        .legend(line(OWN, 1));
    chart
        .draw_series(LineSeries::new(truth(flow), TRUTH.stroke_width(1)))?
        .label("available bandwidth (truth)")
        .legend(line(TRUTH, 1));
    let estimates = thinned(&flow.estimates);
    if !flow.estimates_classic.is_empty() {
        let classic = thinned(&flow.estimates_classic);
        let dots = classic
            .iter()
            .map(|p| Circle::new((p.t_s, mega(p)), 2, CLASSIC.mix(0.5).filled()));
        chart
            .draw_series(dots)?
            .label("classic estimator")
            .legend(|(x, y)| Circle::new((x + 11, y), 3, CLASSIC.filled()));
    }
    if !estimates.is_empty() {
        chart.draw_series([Polygon::new(band(&estimates), ESTIMATE.mix(0.18))])?;
        let points = estimates.iter().map(|p| (p.t_s, mega(p)));
        chart
            .draw_series(LineSeries::new(points, ESTIMATE.stroke_width(2)))?
            .label("estimate with its 95 % interval")
            .legend(line(ESTIMATE, 2));
    }
    Ok(())
}

fn mega(point: &EstimatePoint) -> f64 {
    point.available_bps as f64 / 1e6
}

/// The outline of the intervals: along their upper ends and back along the lower ones.
fn band(points: &[EstimatePoint]) -> Vec<(f64, f64)> {
    let upper = points.iter().map(|p| (p.t_s, p.high_bps as f64 / 1e6));
    let lower = points.iter().rev().map(|p| (p.t_s, p.low_bps as f64 / 1e6));
    upper.chain(lower).collect()
}

/// The truth as stairs, on the server's clock.
fn truth(flow: &FlowResult) -> Vec<(f64, f64)> {
    let segments = flow.reference.truth.segments();
    let value = |bps: f64| bps / 1e6;
    let stairs = segments.windows(2).flat_map(|pair| {
        let (from, to) = (pair[0].0.as_secs_f64(), pair[1].0.as_secs_f64());
        [(from, value(pair[0].1)), (to, value(pair[0].1))]
    });
    stairs.collect()
}

/// What the flow sent over its first link, per bin.
fn own_throughput(result: &RunResult, flow: &FlowResult) -> Vec<(f64, f64)> {
    let uses = |row: &&crate::result::TruthRow| row.flow_bps.contains_key(&flow.name);
    let first = result.truth.iter().find(uses).map(|row| row.link.as_str());
    let rows = result
        .truth
        .iter()
        .filter(|row| Some(row.link.as_str()) == first);
    rows.map(|row| {
        (
            row.t_s,
            row.flow_bps.get(&flow.name).copied().unwrap_or(0) as f64 / 1e6,
        )
    })
    .collect()
}

/// The figure's upper end, a little above what has to be shown. A single wide interval may leave
/// the figure.
fn top(flow: &FlowResult, own: &[(f64, f64)]) -> f64 {
    let truth = flow
        .reference
        .truth
        .segments()
        .iter()
        .map(|(_, bps)| bps / 1e6);
    let own = own.iter().map(|(_, rate)| *rate);
    let highest = truth.chain(own).fold(0.0, f64::max);
    (highest * 1.35).max(0.1)
}

/// Picks at most this many points, evenly.
fn thinned(points: &[EstimatePoint]) -> Vec<EstimatePoint> {
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    points.iter().step_by(every).cloned().collect()
}
