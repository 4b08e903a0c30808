//! Figures of a survey of promises, as SVG inside a page.

use super::chart::{Area, Drawn, FORECASTS, grid, legend};
use crate::calibration::LEAST;
use crate::survey::promise::{Carrier, Promised, Share, Tally};
use plotters::prelude::*;

const SIZE: (u32, u32) = (1080, 360);
const SQUARE: (u32, u32) = (420, 400);
const COLORS: [RGBColor; 4] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(150, 110, 180),
];
const IDEAL: RGBColor = RGBColor(110, 110, 110);
/// Distributions are drawn up to here: what is above it is enough in any case.
const TOP: f64 = 1.5;

/// The distribution over slots of achieved / required, a panel for each range of required / fair
/// share and a line for each carrier.
pub(super) fn kept(paths: &[Promised]) -> Result<String, String> {
    let ratios = |share: Share, carrier: Carrier| {
        let within = paths.iter().filter(|one| one.wish.share == share);
        let carried = within.flat_map(|one| &one.carriers);
        let carried = carried.filter(|it| it.carrier == carrier);
        carried.flat_map(|it| it.ratios.clone()).collect()
    };
    distributions("achieved / required", "share of slots below", &ratios)
}

/// The distribution over rivals of what each had of what was due to it.
pub(super) fn rivals(paths: &[Promised]) -> Result<String, String> {
    let shares = |share: Share, carrier: Carrier| {
        let within = paths.iter().filter(|one| one.wish.share == share);
        let carried = within.flat_map(|one| &one.carriers);
        let carried = carried.filter(|it| it.carrier == carrier);
        let rivals = carried.flat_map(|it| &it.rivals);
        rivals.filter_map(|it| it.of_due()).collect()
    };
    distributions(
        "a rival's goodput / what is due to it",
        "share of rivals below",
        &shares,
    )
}

fn distributions(
    below: &str,
    left: &str,
    values: &dyn Fn(Share, Carrier) -> Vec<f64>,
) -> Result<String, String> {
    let any = |share: &Share| {
        Carrier::ALL
            .iter()
            .any(|it| !values(*share, *it).is_empty())
    };
    let shares: Vec<Share> = Share::ALL.into_iter().filter(any).collect();
    if shares.is_empty() {
        return Ok(String::new());
    }
    drawn(SIZE, |area| {
        for (panel, share) in area.split_evenly((1, shares.len())).iter().zip(&shares) {
            let title = format!("required {}", share.in_words());
            distribution(panel, &title, (below, left), &|carrier| {
                values(*share, carrier)
            })?;
        }
        Ok(())
    })
}

fn distribution(
    area: &Area<'_>,
    title: &str,
    (below, left): (&str, &str),
    values: &dyn Fn(Carrier) -> Vec<f64>,
) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..TOP, 0.0..1.0)?;
    grid(&mut chart, [below, left], [13; 2])?;
    chart.draw_series(LineSeries::new([(1.0, 0.0), (1.0, 1.0)], IDEAL))?;
    for (carrier, color) in Carrier::ALL.iter().zip(COLORS) {
        let mut ascending = values(*carrier);
        if ascending.is_empty() {
            continue;
        }
        ascending.sort_unstable_by(f64::total_cmp);
        let count = ascending.len() as f64;
        let points = ascending.iter().zip(1..).flat_map(|(value, below)| {
            let x = value.min(TOP);
            [
                (x, (f64::from(below) - 1.0) / count),
                (x, f64::from(below) / count),
            ]
        });
        let width = if *carrier == Carrier::Imtcp { 3 } else { 1 };
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(width)))?
            .label(carrier.name())
            .legend(move |(x, y)| {
                PathElement::new([(x, y), (x + 18, y)], color.stroke_width(width))
            });
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft, 13)?;
    Ok(())
}

/// Forecasts against outcomes. Bins with few forecasts are hollow.
pub(super) fn forecasts(tally: &Tally) -> Result<String, String> {
    let bins = tally.forecasts.iter();
    let points = bins.filter_map(|bin| Some((bin.predicted?, bin.observed?, bin.count)));
    let points: Vec<(f64, f64, u32)> = points.collect();
    if points.is_empty() {
        return Ok(String::new());
    }
    drawn(SQUARE, |area| {
        let mut chart = ChartBuilder::on(area)
            .caption("forecasts", ("sans-serif", 16))
            .margin(8)
            .x_label_area_size(40)
            .y_label_area_size(50)
            .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
        grid(&mut chart, FORECASTS, [13; 2])?;
        chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], IDEAL))?;
        for (x, y, count) in points {
            let style = match count {
                few if few < LEAST => ShapeStyle::from(COLORS[0]),
                _ => COLORS[0].filled(),
            };
            chart.draw_series([Circle::new((x, y), 4, style)])?;
            let label = Text::new(count.to_string(), (8, 4), ("sans-serif", 12));
            chart.draw_series([EmptyElement::at((x, y)) + label])?;
        }
        Ok(())
    })
}

fn drawn(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String, String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let finished = area
            .fill(&WHITE)
            .and_then(|()| draw(&area))
            .and_then(|()| area.present());
        finished.map_err(|error| error.to_string())?;
    }
    Ok(svg)
}
