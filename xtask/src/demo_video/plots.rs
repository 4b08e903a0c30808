//! The plots of one part: a column for each controller, rates above the buffer.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::record::Play;

const SIZE: (u32, u32) = (1260, 560);
const UPPER: u32 = 340;
const SMALL: (&str, u32) = ("sans-serif", 13);

/// The colours of the page's legend, too.
pub const BIT_RATE: RGBColor = RGBColor(20, 20, 20);
pub const SEGMENT: RGBColor = RGBColor(0, 114, 178);
pub const GOODPUT: RGBColor = RGBColor(205, 215, 225);
pub const ESTIMATE: RGBColor = RGBColor(230, 159, 0);
pub const REQUIRED: RGBColor = RGBColor(150, 60, 160);
pub const KEPT: RGBColor = RGBColor(0, 158, 115);
pub const LIMITED: RGBColor = RGBColor(150, 205, 190);
pub const TRIED: RGBColor = RGBColor(190, 160, 215);
pub const MISSED: RGBColor = RGBColor(200, 30, 30);
pub const WAITING: RGBColor = RGBColor(240, 170, 170);

/// Goodput is told for spans of so many seconds.
const BIN_S: f64 = 1.0;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'c> = ChartContext<'c, SVGBackend<'c>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// The plots, as SVG.
pub fn draw(plays: &[&Play], link_mbps: f64) -> Result<String> {
    let end = plays.iter().map(|play| play.end_s()).fold(1.0, f64::max);
    let highest = plays.iter().flat_map(|play| highest(play));
    let top = (highest.fold(1.0, f64::max) * 1.08).min(link_mbps * 1.1);
    let deepest = plays.iter().flat_map(|play| &play.segments);
    let deepest = deepest.map(|one| one.buffer_after_s).fold(1.0, f64::max) * 1.1;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let columns = area.split_evenly((1, plays.len()));
        let drawn = columns.iter().zip(plays).try_for_each(|(column, play)| {
            let (upper, lower) = column.split_vertically(UPPER);
            rates(&upper, play, (end, top))?;
            buffer(&lower, play, (end, deepest))
        });
        let finished = drawn.and_then(|()| area.present());
        finished.map_err(|error| anyhow!("cannot draw: {error}"))?;
    }
    Ok(svg)
}

fn mega(bps: f64) -> f64 {
    bps / 1e6
}

/// The rates that have to be seen, in Mbit/s. Estimates may leave the plot.
fn highest(play: &Play) -> impl Iterator<Item = f64> {
    let segments = play.segments.iter();
    let segments = segments.flat_map(|one| [one.throughput_kbps, one.bitrate_kbps]);
    let required = play.slots.iter().filter_map(|line| line.required_bps);
    segments.map(|kbps| kbps / 1e3).chain(required.map(mega))
}

fn chart<'a, 'b: 'a>(
    area: &'a Area<'b>,
    title: &str,
    (end, top): (f64, f64),
    [below, left]: [&str; 2],
) -> Result<Chart<'b>, DrawingAreaErrorKind<std::io::Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 17))
        .margin(8)
        .margin_right(14)
        .x_label_area_size(34)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.1))
        .x_labels(7)
        .y_labels(6)
        .x_desc(below)
        .y_desc(left)
        .label_style(SMALL)
        .axis_desc_style(SMALL)
        .draw()?;
    Ok(chart)
}

fn rates(area: &Area<'_>, play: &Play, (end, top): (f64, f64)) -> Drawn {
    let title = format!("{}, run {}", play.controller, play.run);
    let mut chart = chart(area, &title, (end, top), ["", "Mbit/s"])?;
    let bars = goodput(play).into_iter();
    chart.draw_series(bars.map(|(at, mbps)| {
        Rectangle::new([(at, 0.0), (at + BIN_S, mbps.min(top))], GOODPUT.filled())
    }))?;
    let within = |(at, bps): &(f64, f64)| (*at, mega(*bps).min(top));
    let estimates = play.estimates.iter().map(within);
    chart.draw_series(LineSeries::new(estimates, ESTIMATE.stroke_width(1)))?;
    chart.draw_series(LineSeries::new(
        required(play, end),
        REQUIRED.stroke_width(2),
    ))?;
    let steps = bit_rates(play, end);
    chart.draw_series(LineSeries::new(steps, BIT_RATE.stroke_width(3)))?;
    let dots = play.segments.iter().map(|one| {
        let at = (
            one.began_s + one.took_s,
            (one.throughput_kbps / 1e3).min(top),
        );
        Circle::new(at, 3, SEGMENT.filled())
    });
    chart.draw_series(dots)?;
    let slots = play.slots.iter().filter_map(|line| {
        let color = match line.what.as_str() {
            _ if line.event != "slot" => return None,
            _ if line.note == "try" => TRIED,
            "kept" => KEPT,
            "missed" => MISSED,
            _ => LIMITED,
        };
        // A gap between two, so that they can be counted.
        let (from, to) = (line.start_s? + 0.1, line.end_s? - 0.1);
        Some(Rectangle::new(
            [(from, 0.0), (to, top * 0.03)],
            color.filled(),
        ))
    });
    chart.draw_series(slots)?;
    Ok(())
}

fn buffer(area: &Area<'_>, play: &Play, (end, deepest): (f64, f64)) -> Drawn {
    let mut chart = chart(area, "", (end, deepest), ["seconds", "buffer, s"])?;
    let start = play.qoe.startup_delay_s.unwrap_or(end);
    let stalls = play.segments.iter().filter(|one| one.stalled_s > 0.0);
    let stalls = stalls.map(|one| {
        let until = one.began_s + one.took_s;
        (until - one.stalled_s, until)
    });
    let waits = [(0.0, start)].into_iter().chain(stalls);
    chart.draw_series(
        waits.map(|(from, to)| Rectangle::new([(from, 0.0), (to, deepest)], WAITING.filled())),
    )?;
    let mut level = Vec::new();
    for one in &play.segments {
        let came = one.began_s + one.took_s;
        // It plays until the segment is there, which then is added at once.
        let left = (one.buffer_before_s - (came - one.began_s.max(start)).max(0.0)).max(0.0);
        level.extend([(one.began_s, one.buffer_before_s), (came, left)]);
        level.push((came, one.buffer_after_s));
    }
    level.push((play.end_s(), 0.0));
    chart.draw_series(LineSeries::new(level, SEGMENT.stroke_width(2)))?;
    Ok(())
}

/// What came in each span, in Mbit/s. A segment comes evenly in its time.
fn goodput(play: &Play) -> Vec<(f64, f64)> {
    let mut bins: Vec<f64> = Vec::new();
    for one in &play.segments {
        let (from, to) = (one.began_s, one.began_s + one.took_s.max(1e-6));
        let starts = (0..).map(|at: u32| f64::from(at) * BIN_S);
        for (place, first) in starts.enumerate().take_while(|(_, first)| *first < to) {
            if bins.len() <= place {
                bins.push(0.0);
            }
            let overlap = (to.min(first + BIN_S) - from.max(first)).max(0.0);
            bins[place] += mega(one.bytes * 8.0) * overlap / (to - from) / BIN_S;
        }
    }
    (0..)
        .map(|at: u32| f64::from(at) * BIN_S)
        .zip(bins)
        .collect()
}

/// The bit rate of what is asked for, in stairs.
fn bit_rates(play: &Play, end: f64) -> Vec<(f64, f64)> {
    let rates = play
        .segments
        .iter()
        .map(|one| (one.began_s, one.bitrate_kbps / 1e3));
    let last = play.segments.last();
    stairs(rates, last.map_or(end, |last| last.began_s + last.took_s))
}

/// The rate that is required, in stairs.
fn required(play: &Play, end: f64) -> Vec<(f64, f64)> {
    let changes = play
        .slots
        .iter()
        .filter_map(|line| match line.event.as_str() {
            "required" => Some((line.seconds?, mega(line.required_bps?))),
            "withdrawn" => Some((line.seconds?, 0.0)),
            _ => None,
        });
    let last = play.segments.last();
    stairs(changes, last.map_or(end, |last| last.began_s + last.took_s))
}

fn stairs(changes: impl Iterator<Item = (f64, f64)>, end: f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, value) in changes {
        if let Some((_, before)) = points.last().copied() {
            points.push((at, before));
        }
        points.push((at, value));
    }
    if let Some((at, value)) = points.last().copied() {
        points.push((end.max(at), value));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_have_a_corner_at_each_change() {
        let points = stairs([(0.0, 1.0), (2.0, 4.0)].into_iter(), 3.0);
        assert_eq!(points, [(0.0, 1.0), (2.0, 1.0), (2.0, 4.0), (3.0, 4.0)]);
        assert_eq!(stairs(std::iter::empty(), 3.0), []);
    }
}
