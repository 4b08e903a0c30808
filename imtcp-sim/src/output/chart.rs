//! What all charts have in common: their backend, their grid and their legend.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Chart<'c> =
    ChartContext<'c, SVGBackend<'c>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub(super) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// The names of the axes of forecasts against outcomes.
pub(super) const FORECASTS: [&str; 2] = [
    "predicted probability that the slot is kept",
    "share of slots that were kept",
];

/// Draws the axes with their names, below and left, and the grid. Numbers and names have these
/// sizes.
pub(super) fn grid(
    chart: &mut Chart<'_>,
    [below, left]: [&str; 2],
    [numbers, names]: [u32; 2],
) -> Drawn {
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc(below)
        .y_desc(left)
        .label_style(("sans-serif", numbers))
        .axis_desc_style(("sans-serif", names))
        .draw()
}

/// Draws what the series have been labelled with.
pub(super) fn legend<'c>(chart: &mut Chart<'c>, position: SeriesLabelPosition, size: u32) -> Drawn {
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", size))
        .draw()
}
