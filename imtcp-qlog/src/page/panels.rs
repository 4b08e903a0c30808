//! The lines of a page, panel by panel.

use super::encode::{Packer, Place};
use super::{Run, rounded};
use crate::series::{Column, Gaps};
use serde::Serialize;

/// How a line is drawn.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    /// Each value holds until the next one.
    Steps,
    /// Points alone.
    Dots,
    /// The slope of the values, as a rate.
    Slope,
}

#[derive(Clone, Debug, Serialize)]
struct Line {
    name: String,
    /// The number of its colour.
    color: usize,
    shape: Shape,
    place: Place,
    #[serde(skip_serializing_if = "Option::is_none")]
    band: Option<[Place; 2]>,
    /// From when to when there is no value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<(f64, f64)>,
    /// Whether it is shown before anybody asks.
    shown: bool,
    /// Whether it may leave the panel at the top, because it would press the others flat.
    loose: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Panel {
    title: &'static str,
    unit: &'static str,
    /// By what values are divided to be shown in the unit.
    scale: f64,
    lines: Vec<Line>,
}

/// Integers of rates are in kilobits per second, of times in microseconds.
const KILOBIT: f64 = 1e3;
const MICROSECOND: f64 = 1e-3;

impl Panel {
    fn new(title: &'static str, unit: &'static str, scale: f64) -> Self {
        Self {
            title,
            unit,
            scale,
            lines: Vec::new(),
        }
    }
}

/// All panels that have anything to show.
pub(super) fn panels(runs: &[Run], packer: &mut Packer) -> Vec<Panel> {
    let mut rates = Panel::new("Available bandwidth and rates", "Mbit/s", 1e6);
    let mut goodput = Panel::new("Goodput", "Mbit/s", 1e6);
    let mut window = Panel::new("Window and bytes in flight", "KB", 1e3);
    let mut rtt = Panel::new("Round trip", "ms", 1.0);
    let several = runs.len() > 1;
    for (index, run) in runs.iter().enumerate() {
        let mut pen = Pen {
            packer: &mut *packer,
            run,
            one_of_several: several.then_some(index),
        };
        pen.estimates(&mut rates);
        if several {
            pen.line(&mut goodput, GOODPUT, &run.series.delivered, 1.0);
        } else {
            pen.other_rates(&mut rates);
        }
        pen.window(&mut window);
        pen.round_trip(&mut rtt);
    }
    let mut panels = vec![rates, goodput, window, rtt];
    panels.retain(|panel| !panel.lines.is_empty());
    panels
}

/// Name, number of the colour, and shape of a line.
type Look = (&'static str, usize, Shape);

const GOODPUT: Look = ("goodput", 5, Shape::Slope);

/// Draws the lines of a run.
struct Pen<'a> {
    packer: &'a mut Packer,
    run: &'a Run,
    /// The number of the run, if lines of several runs stand side by side. Then a run is a colour,
    /// and has those lines alone that can be compared.
    one_of_several: Option<usize>,
}

impl Pen<'_> {
    /// Adds a line, unless there is nothing to draw.
    fn line(&mut self, panel: &mut Panel, look: Look, column: &Column, unit: f64) {
        if !column.is_empty() {
            let line = self.drawn(look, column.points(), unit);
            panel.lines.push(line);
        }
    }

    fn drawn(&mut self, (name, color, shape): Look, points: &[(f64, f64)], unit: f64) -> Line {
        Line {
            name: match self.one_of_several {
                Some(_) => format!("{}: {name}", self.run.name),
                None => name.to_owned(),
            },
            color: self.one_of_several.unwrap_or(color),
            shape,
            place: self.packer.add(points, unit),
            band: None,
            gaps: Vec::new(),
            shown: true,
            loose: false,
        }
    }

    /// Estimates and the truth.
    fn estimates(&mut self, rates: &mut Panel) {
        let series = &self.run.series;
        let estimates = &series.statistical;
        if !estimates.value.is_empty() {
            let look = ("estimate, with 95 % interval", 0, Shape::Steps);
            let mut line = self.drawn(look, estimates.value.points(), KILOBIT);
            line.gaps = gaps(&estimates.gaps);
            line.band = Some([
                self.packer.add(estimates.low.points(), KILOBIT),
                self.packer.add(estimates.high.points(), KILOBIT),
            ]);
            rates.lines.push(line);
        }
        let look = ("the paper's estimator", 1, Shape::Dots);
        self.line(rates, look, &series.classic.value, KILOBIT);
        if !self.run.truth.is_empty() {
            let line = self.drawn(("truth", 2, Shape::Steps), &self.run.truth, KILOBIT);
            rates.lines.push(line);
        }
    }

    /// What stands beside the estimates of a run that is drawn alone.
    fn other_rates(&mut self, rates: &mut Panel) {
        let series = &self.run.series;
        let bound = ("lower bound", 6, Shape::Dots);
        self.line(rates, bound, &series.bounds, KILOBIT);
        let capacity = ("capacity", 3, Shape::Steps);
        self.line(rates, capacity, &series.capacity, KILOBIT);
        if !series.pacing.is_empty() {
            let look = ("pacing rate", 4, Shape::Steps);
            let mut line = self.drawn(look, series.pacing.points(), KILOBIT);
            line.loose = true;
            rates.lines.push(line);
        }
        self.line(rates, GOODPUT, &series.delivered, 1.0);
    }

    fn window(&mut self, window: &mut Panel) {
        let series = &self.run.series;
        let look = ("congestion window", 0, Shape::Steps);
        self.line(window, look, &series.window, 1.0);
        if self.one_of_several.is_none() {
            let flight = ("bytes in flight", 1, Shape::Steps);
            self.line(window, flight, &series.in_flight, 1.0);
            let threshold = ("slow-start threshold", 3, Shape::Steps);
            self.line(window, threshold, &series.threshold, 1.0);
        }
    }

    fn round_trip(&mut self, rtt: &mut Panel) {
        let series = &self.run.series;
        let is_alone = self.one_of_several.is_none();
        if is_alone {
            let latest = ("sample", 1, Shape::Steps);
            self.line(rtt, latest, &series.latest_rtt, MICROSECOND);
        }
        let smoothed = ("smoothed", 0, Shape::Steps);
        self.line(rtt, smoothed, &series.smoothed_rtt, MICROSECOND);
        if is_alone {
            let least = ("least", 3, Shape::Steps);
            self.line(rtt, least, &series.min_rtt, MICROSECOND);
        }
    }
}

fn gaps(gaps: &Gaps) -> Vec<(f64, f64)> {
    let spans = gaps.spans().iter();
    spans
        .map(|span| (rounded(span.0), rounded(span.1)))
        .collect()
}
