//! Figures of a row, as SVG that takes its colours from the page.

use std::fmt::Write;

use super::super::bar::Verdict;
use super::super::outcome::{Cell, Outcome};
use super::super::row::Measure;
use super::{escaped, number};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 60.0;
const LINE: f64 = 20.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 30.0;
/// The height of a figure of lines.
const TALL: f64 = 260.0;
/// Colours of lines, defined by the page's style.
const COLOURS: usize = 8;

/// A measure in all cases. Along an axis of numbers it is a line for each of the others; otherwise
/// each case has a line of its own: its seeds, what they come to, and its bars.
pub fn of(outcome: &Outcome, measure: &Measure, cells: &[Cell]) -> String {
    let any = cells
        .iter()
        .flat_map(|cell| &cell.values)
        .any(|value| value.is_finite());
    if !any {
        return String::new();
    }
    match &outcome.row.along {
        Some(along) => lines(outcome, along, measure, cells),
        None => strips(outcome, measure, cells),
    }
}

/// A scale from numbers to pixels.
#[derive(Clone, Copy)]
struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn new(numbers: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let finite: Vec<f64> = numbers.filter(|number| number.is_finite()).collect();
        let least = finite.iter().copied().fold(0.0, f64::min);
        let most = finite.iter().copied().fold(f64::MIN, f64::max);
        let most = if most > least { most } else { least + 1.0 };
        let step = step(most - least);
        Self {
            from: (least / step).floor() * step,
            to: (most / step).ceil() * step,
            start,
            end,
        }
    }

    fn at(self, number: f64) -> f64 {
        let share = (number.min(self.to) - self.from) / (self.to - self.from);
        self.start + share * (self.end - self.start)
    }

    fn ticks(self) -> Vec<f64> {
        let step = step(self.to - self.from);
        let count = ((self.to - self.from) / step).round();
        #[expect(clippy::cast_possible_truncation, reason = "a handful")]
        #[expect(clippy::cast_sign_loss, reason = "not negative")]
        let count = count as u32;
        (0..=count)
            .map(|index| self.from + f64::from(index) * step)
            .collect()
    }
}

/// A round distance, four to eight of which make up the span.
fn step(span: f64) -> f64 {
    let rough = span / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let rounds = [1.0, 2.0, 2.5, 5.0, 10.0];
    let fits = rounds.into_iter().find(|round| round * power >= rough);
    fits.unwrap_or(10.0) * power
}

fn begin(height: f64, what: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\"><title>{}</title>\n",
        escaped(what)
    )
}

fn strips(outcome: &Outcome, measure: &Measure, cells: &[Cell]) -> String {
    let shown: Vec<(&Cell, String)> = outcome
        .cases
        .iter()
        .zip(cells)
        .filter(|(_, cell)| !cell.values.is_empty())
        .map(|(tried, cell)| (cell, tried.case.label()))
        .collect();
    let height = TOP + LINE * shown.len() as f64 + BOTTOM;
    let limits = |cell: &Cell| -> Vec<f64> {
        let limits = cell.bars.iter().filter_map(|held| held.limit);
        limits
            .flat_map(|limit| [limit.least, limit.most])
            .flatten()
            .collect()
    };
    let numbers = shown.iter().flat_map(|(cell, _)| {
        cell.values
            .iter()
            .copied()
            .chain(limits(cell))
            .collect::<Vec<_>>()
    });
    let scale = Scale::new(numbers, LEFT, WIDTH - RIGHT);
    let mut svg = begin(height, &measure.title());
    horizontal(&mut svg, scale, height, measure);
    for (index, (cell, label)) in shown.iter().enumerate() {
        let y = TOP + LINE * (index as f64 + 0.5);
        let label = if label.is_empty() {
            &outcome.row.id
        } else {
            label
        };
        strip(&mut svg, (y, label), cell, scale, measure);
    }
    svg + "</svg>\n"
}

/// One case: its name, its bars, its seeds, what they come to.
fn strip(svg: &mut String, (y, label): (f64, &str), cell: &Cell, scale: Scale, measure: &Measure) {
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        LEFT - 10.0,
        y + 4.0,
        escaped(&shortened(label))
    );
    for limit in cell.bars.iter().filter_map(|held| held.limit) {
        for (limit, towards) in [(limit.least, 5.0), (limit.most, -5.0)] {
            let Some(limit) = limit else { continue };
            let (x, top, floor) = (scale.at(limit), y - 8.0, y + 8.0);
            let _ = writeln!(
                svg,
                "<path class=\"bar\" d=\"M{x:.1} {top:.1}V{floor:.1}M{x:.1} {y:.1}h{towards}\"/>"
            );
        }
    }
    for value in &cell.values {
        let x = scale.at(*value);
        let _ = writeln!(
            svg,
            "<circle class=\"seed\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"
        );
    }
    let Some(middle) = cell.middle else { return };
    let class = if is_missed(cell) {
        "middle missed"
    } else {
        "middle"
    };
    let x = scale.at(middle);
    let _ = writeln!(
        svg,
        "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        WIDTH - RIGHT + 8.0,
        y + 4.0,
        number(middle, measure.digits)
    );
}

fn is_missed(cell: &Cell) -> bool {
    let mut verdicts = cell.bars.iter().map(|held| &held.verdict);
    verdicts.any(|verdict| *verdict == Some(Verdict::Missed))
}

fn horizontal(svg: &mut String, scale: Scale, height: f64, measure: &Measure) {
    let floor = height - BOTTOM;
    for tick in scale.ticks() {
        let x = scale.at(tick);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{x:.1} {TOP}V{floor:.1}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            floor + 14.0,
            short(tick)
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        height - 3.0,
        escaped(&measure.title())
    );
}

/// Without the digits that rounding leaves.
fn short(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn shortened(label: &str) -> String {
    const MOST: usize = 38;
    match label.chars().count() > MOST {
        true => label.chars().take(MOST - 1).chain(['…']).collect(),
        false => label.to_owned(),
    }
}

/// The number with which a point's name begins.
fn leading(name: &str) -> Option<f64> {
    let end = name
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(name.len());
    name[..end].parse().ok()
}

/// What stands in a line: its name, and a cell for each number of the axis.
type Line<'c> = (String, Vec<(f64, &'c Cell)>);

fn lines(outcome: &Outcome, along: &str, measure: &Measure, cells: &[Cell]) -> String {
    const KEY: f64 = 200.0;
    let lines = by_line(outcome, along, cells);
    let right = WIDTH - KEY;
    let all = || lines.iter().flat_map(|(_, cells)| cells);
    let x = Scale::new(all().map(|(x, _)| *x), 60.0, right);
    let limits = |cell: &Cell| {
        cell.bars
            .iter()
            .filter_map(|held| held.limit)
            .collect::<Vec<_>>()
    };
    let tall = all().flat_map(|(_, cell)| {
        let limits = limits(cell)
            .into_iter()
            .flat_map(|limit| [limit.least, limit.most]);
        limits.flatten().chain(cell.middle).collect::<Vec<_>>()
    });
    let y = Scale::new(tall, TALL - 34.0, TOP + 8.0);
    let mut svg = begin(TALL, &measure.title());
    let words = format!("{} along {along}", measure.title());
    around(&mut svg, (x, y), right, &words);
    for (index, (label, cells)) in lines.iter().enumerate() {
        line(&mut svg, (index, label), cells, (x, y), right);
    }
    svg + "</svg>\n"
}

/// The grid and its numbers.
fn around(svg: &mut String, (x, y): (Scale, Scale), right: f64, words: &str) {
    for tick in y.ticks() {
        let at = y.at(tick);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M60 {at:.1}H{right:.1}\"/>\
             <text class=\"tick\" x=\"54\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            at + 4.0,
            short(tick)
        );
    }
    for tick in x.ticks() {
        let _ = writeln!(
            svg,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x.at(tick),
            TALL - 18.0,
            short(tick)
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(60.0, right),
        TALL - 3.0,
        escaped(words)
    );
}

fn line(
    svg: &mut String,
    (index, label): (usize, &str),
    cells: &[(f64, &Cell)],
    (x, y): (Scale, Scale),
    right: f64,
) {
    let class = format!("c{}", index % COLOURS);
    let mut path = String::new();
    for (number, cell) in cells {
        let Some(middle) = cell.middle else { continue };
        let step = if path.is_empty() { 'M' } else { 'L' };
        let (x, y_of) = (x.at(*number), y.at(middle));
        let _ = write!(path, "{step}{x:.1} {y_of:.1}");
        let missed = is_missed(cell);
        let radius = if missed { 5.0 } else { 3.0 };
        let _ = writeln!(
            svg,
            "<circle class=\"{class} dot{}\" cx=\"{x:.1}\" cy=\"{y_of:.1}\" r=\"{radius}\"/>",
            if missed { " hollow" } else { "" }
        );
        for limit in cell.bars.iter().filter_map(|held| held.limit) {
            for limit in [limit.least, limit.most].into_iter().flatten() {
                let at = y.at(limit);
                let _ = writeln!(
                    svg,
                    "<path class=\"bar\" d=\"M{:.1} {at:.1}h12\"/>",
                    x - 6.0
                );
            }
        }
    }
    let key = 16.0 + 17.0 * index as f64;
    let _ = writeln!(
        svg,
        "<path class=\"{class} line\" d=\"{path}\"/>\
         <path class=\"{class} line\" d=\"M{:.1} {key}h18\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        right + 14.0,
        right + 38.0,
        key + 4.0,
        escaped(&shortened(label))
    );
}

fn by_line<'c>(outcome: &Outcome, along: &str, cells: &'c [Cell]) -> Vec<Line<'c>> {
    let axis = outcome.row.axes.iter().position(|axis| axis.name == along);
    let mut lines: Vec<Line<'c>> = Vec::new();
    for (tried, cell) in outcome.cases.iter().zip(cells) {
        let Some(axis) = axis else { continue };
        let Some(number) = leading(&tried.case.names[axis]) else {
            continue;
        };
        if cell.values.is_empty() {
            continue;
        }
        let mut others = tried.case.names.clone();
        others.remove(axis);
        let label = others.join(", ");
        match lines.iter_mut().find(|(name, _)| *name == label) {
            Some((_, line)) => line.push((number, cell)),
            None => lines.push((label, vec![(number, cell)])),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers_and_what_never_comes_stands_at_their_end() {
        let scale = Scale::new([3.2, 47.1, f64::INFINITY].into_iter(), 0.0, 100.0);
        assert_eq!((scale.from, scale.to), (0.0, 50.0));
        assert_eq!(scale.at(f64::INFINITY), 100.0);
        assert_eq!(scale.ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
    }

    #[test]
    fn a_points_number_is_what_its_name_begins_with() {
        assert_eq!(leading("0.5 %"), Some(0.5));
        assert_eq!(leading("25"), Some(25.0));
        assert_eq!(leading("none"), None);
    }
}
