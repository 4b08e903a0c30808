//! A reliability diagram: what was predicted against what came.

use super::OutputError;
use super::chart::{Area, Drawn, FORECASTS, grid};
use crate::calibration::Reliability;
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (640, 620);
const IDEAL: RGBColor = RGBColor(110, 110, 110);
const SEEN: RGBColor = RGBColor(0, 114, 178);
/// A gap may be as large as this.
const TOLERATED: f64 = 0.1;

/// The place of the count, seen from its point, in pixels.
const LABEL: (i32, i32) = (10, 6);

/// Draws the bins as points, larger where there were more predictions, with the diagonal that they
/// should lie on and the band of 0.1 around it.
///
/// # Errors
/// The file cannot be written.
pub fn reliability(title: &str, reliability: &Reliability, path: &Path) -> Result<(), OutputError> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    draw(&area, title, reliability).map_err(|error| OutputError::new(path, error))
}

fn draw(area: &Area<'_>, title: &str, reliability: &Reliability) -> Drawn {
    area.fill(&WHITE)?;
    let area = area.titled(title, ("sans-serif", 20).into_font())?;
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .margin_right(28)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
    grid(&mut chart, FORECASTS, [15, 16])?;
    let band = vec![
        (0.0, 0.0),
        (0.0, TOLERATED),
        (1.0 - TOLERATED, 1.0),
        (1.0, 1.0),
        (1.0, 1.0 - TOLERATED),
        (TOLERATED, 0.0),
    ];
    chart.draw_series([Polygon::new(band, IDEAL.mix(0.12))])?;
    chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], IDEAL))?;
    let points = reliability.bins.iter().filter_map(|bin| {
        let filled = bin.gap().is_some();
        Some((bin.predicted()?, bin.observed()?, bin.count, filled))
    });
    let points: Vec<_> = points.collect();
    let line = points
        .iter()
        .filter(|point| point.3)
        .map(|point| (point.0, point.1));
    chart.draw_series(LineSeries::new(line, SEEN.stroke_width(2)))?;
    for (x, y, count, filled) in points {
        let style = if filled {
            SEEN.filled()
        } else {
            ShapeStyle::from(SEEN)
        };
        chart.draw_series([Circle::new((x, y), radius(count), style)])?;
        let label = Text::new(count.to_string(), LABEL, ("sans-serif", 13));
        chart.draw_series([EmptyElement::at((x, y)) + label])?;
    }
    area.present()
}

/// The radius grows with the logarithm of the count, because counts differ by factors of hundreds.
fn radius(count: u32) -> u32 {
    2 + count.max(1).ilog2() / 2
}
