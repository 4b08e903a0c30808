//! One HTML file with everything in it: figures of one connection, or of several side by side.

mod encode;

use crate::series::{Column, Gaps, Series};
use encode::{Packer, Place};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};

/// A connection to be drawn.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it is called on the page.
    pub name: String,
    /// What its log says.
    pub series: Series,
    /// The available bandwidth as it really was, if somebody knows: bits per second over
    /// milliseconds.
    pub truth: Vec<(f64, f64)>,
}

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 3] = [
    include_str!("data.js"),
    include_str!("draw.js"),
    include_str!("page.js"),
];

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
struct Panel {
    title: &'static str,
    unit: &'static str,
    /// By what values are divided to be shown in the unit.
    scale: f64,
    lines: Vec<Line>,
}

/// Integers of rates are in kilobits per second, of times in microseconds.
const KILOBIT: f64 = 1e3;
const MICROSECOND: f64 = 1e-3;

/// Makes the lines of panels.
struct Drawer {
    packer: Packer,
    /// Whether lines of several runs stand side by side. Then a run is a colour.
    several: bool,
}

impl Drawer {
    fn line(
        &mut self,
        run: usize,
        (name, color, shape): (&str, usize, Shape),
        points: &[(f64, f64)],
        unit: f64,
    ) -> Line {
        Line {
            name: name.to_owned(),
            color: if self.several { run } else { color },
            shape,
            place: self.packer.add(points, unit),
            band: None,
            gaps: Vec::new(),
            shown: true,
            loose: false,
        }
    }

    /// Adds a line, unless there is nothing to draw.
    fn add(
        &mut self,
        panel: &mut Panel,
        run: usize,
        look: (&str, usize, Shape),
        column: &Column,
        unit: f64,
    ) {
        if !column.is_empty() {
            let line = self.line(run, look, column.points(), unit);
            panel.lines.push(line);
        }
    }
}

/// Writes the page of these runs.
///
/// # Errors
/// The output fails.
pub fn write(title: &str, runs: &[Run], mut output: impl Write) -> io::Result<()> {
    let mut drawer = Drawer {
        packer: Packer::default(),
        several: runs.len() > 1,
    };
    let panels: Vec<Panel> = panels(runs, &mut drawer)
        .into_iter()
        .filter(|panel| !panel.lines.is_empty())
        .collect();
    let lanes: Vec<Value> = runs.iter().map(lanes).collect();
    let end_ms = runs.iter().map(|run| run.series.end_ms).fold(0.0, f64::max);
    let directory = json!({
        "end_ms": end_ms,
        "several": drawer.several,
        "panels": panels,
        "lanes": lanes,
    });
    let data = drawer.packer.finish()?;
    // Text inside a script element must neither end it nor begin a comment in it. In JSON this
    // letter is in strings alone.
    let directory = directory.to_string().replace('<', "\\u003c");
    let script = SCRIPTS.concat();
    let page = HTML
        .replace("/*STYLE*/", STYLE)
        .replace("<!--TITLE-->", &escaped(title))
        .replace("/*SCRIPT*/", &script);
    let (before, rest) = page.split_once("/*DIRECTORY*/").unwrap_or((&page, ""));
    let (between, after) = rest.split_once("/*DATA*/").unwrap_or((rest, ""));
    for part in [before, &directory, between, &data, after] {
        output.write_all(part.as_bytes())?;
    }
    output.flush()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn panel(title: &'static str, unit: &'static str, scale: f64) -> Panel {
    Panel {
        title,
        unit,
        scale,
        lines: Vec::new(),
    }
}

fn panels(runs: &[Run], drawer: &mut Drawer) -> Vec<Panel> {
    let mut rates = panel("Available bandwidth and rates", "Mbit/s", 1e6);
    let mut goodput = panel("Goodput", "Mbit/s", 1e6);
    let mut window = panel("Window and bytes in flight", "KB", 1e3);
    let mut rtt = panel("Round trip", "ms", 1.0);
    for (index, run) in runs.iter().enumerate() {
        let series = &run.series;
        let prefix = if drawer.several {
            format!("{}: ", run.name)
        } else {
            String::new()
        };
        let named = |what: &str| format!("{prefix}{what}");
        if !series.statistical.value.is_empty() {
            let estimates = &series.statistical;
            let look = (named("estimate, with 95 % interval"), 0, Shape::Steps);
            let look = (look.0.as_str(), look.1, look.2);
            let mut line = drawer.line(index, look, estimates.value.points(), KILOBIT);
            line.gaps = gaps(&estimates.gaps);
            line.band = Some([
                drawer.packer.add(estimates.low.points(), KILOBIT),
                drawer.packer.add(estimates.high.points(), KILOBIT),
            ]);
            rates.lines.push(line);
        }
        let look = named("the paper's estimator");
        let look = (look.as_str(), 1, Shape::Dots);
        drawer.add(&mut rates, index, look, &series.classic.value, KILOBIT);
        if !run.truth.is_empty() {
            let look = named("truth");
            let line = drawer.line(index, (&look, 2, Shape::Steps), &run.truth, KILOBIT);
            rates.lines.push(line);
        }
        if !drawer.several {
            drawer.add(
                &mut rates,
                index,
                ("lower bound", 6, Shape::Dots),
                &series.bounds,
                KILOBIT,
            );
            let capacity = ("capacity", 3, Shape::Steps);
            drawer.add(&mut rates, index, capacity, &series.capacity, KILOBIT);
            if !series.pacing.is_empty() {
                let look = ("pacing rate", 4, Shape::Steps);
                let mut line = drawer.line(index, look, series.pacing.points(), KILOBIT);
                line.loose = true;
                rates.lines.push(line);
            }
            let delivered = ("goodput", 5, Shape::Slope);
            drawer.add(&mut rates, index, delivered, &series.delivered, 1.0);
        } else {
            let look = named("goodput");
            let look = (look.as_str(), 5, Shape::Slope);
            drawer.add(&mut goodput, index, look, &series.delivered, 1.0);
        }
        let look = named("congestion window");
        drawer.add(
            &mut window,
            index,
            (&look, 0, Shape::Steps),
            &series.window,
            1.0,
        );
        if !drawer.several {
            let flight = ("bytes in flight", 1, Shape::Steps);
            drawer.add(&mut window, index, flight, &series.in_flight, 1.0);
            let threshold = ("slow-start threshold", 3, Shape::Steps);
            drawer.add(&mut window, index, threshold, &series.threshold, 1.0);
            let latest = ("sample", 1, Shape::Steps);
            drawer.add(&mut rtt, index, latest, &series.latest_rtt, MICROSECOND);
        }
        let look = named("smoothed");
        drawer.add(
            &mut rtt,
            index,
            (&look, 0, Shape::Steps),
            &series.smoothed_rtt,
            MICROSECOND,
        );
        if !drawer.several {
            let least = ("least", 3, Shape::Steps);
            drawer.add(&mut rtt, index, least, &series.min_rtt, MICROSECOND);
        }
    }
    vec![rates, goodput, window, rtt]
}

fn gaps(gaps: &Gaps) -> Vec<(f64, f64)> {
    let spans = gaps.spans().iter();
    spans
        .map(|span| (rounded(span.0), rounded(span.1)))
        .collect()
}

/// A time to the microsecond.
fn rounded(time_ms: f64) -> f64 {
    (time_ms * 1e3).round() / 1e3
}

/// What is drawn as marks below the panels.
fn lanes(run: &Run) -> Value {
    let series = &run.series;
    let streams: Vec<Value> = series
        .streams
        .iter()
        .map(|stream| {
            json!([
                rounded(stream.start_ms),
                rounded(stream.end_ms),
                rounded(stream.judged_ms),
                stream.trend,
                stream.measurement,
                stream.stream,
                stream.low_bps,
                stream.high_bps,
                stream.packets,
                stream.verdict,
            ])
        })
        .collect();
    let slots: Vec<Value> = series
        .slots
        .iter()
        .map(|slot| {
            let start = rounded(slot.end_ms - slot.length_ms);
            let (required, achieved) = (slot.required_bps, slot.achieved_bps);
            json!([
                start,
                rounded(slot.end_ms),
                slot.outcome,
                required,
                achieved
            ])
        })
        .collect();
    let states = |is_promise: bool| -> Vec<Value> {
        let states = series
            .states
            .iter()
            .filter(|state| state.is_promise == is_promise);
        states
            .map(|state| json!([rounded(state.time_ms), state.name]))
            .collect()
    };
    let losses: Vec<f64> = series
        .losses
        .points()
        .iter()
        .map(|point| rounded(point.0))
        .collect();
    json!({
        "name": run.name,
        "streams": streams,
        "slots": slots,
        "states": states(false),
        "statuses": states(true),
        "losses": losses,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Log;
    use std::path::Path;

    #[test]
    fn no_name_gets_out_of_the_page() {
        let odd = "a</script>b<!--<script>c";
        let header = b"{\"qlog_version\":\"0.3\"}\n";
        let mut log = Log::new(&header[..], Path::new("run")).expect("a log");
        let run = Run {
            name: odd.to_owned(),
            series: Series::of(&mut log, 16).expect("it can be read"),
            truth: vec![(0.0, 1.0)],
        };
        let mut page = Vec::new();
        write(odd, &[run], &mut page).expect("memory takes all");
        let page = String::from_utf8(page).expect("text");
        let start = "<script id=\"directory\" type=\"application/json\">";
        let (_, rest) = page.split_once(start).expect("a directory");
        let (directory, _) = rest.split_once("</script>").expect("its end");
        assert!(!directory.contains('<'), "{directory}");
        let directory: Value = serde_json::from_str(directory).expect("it is whole");
        assert_eq!(directory["lanes"][0]["name"], odd);
        assert!(page.contains("<title>a&lt;/script&gt;b&lt;!--&lt;script&gt;c</title>"));
    }
}
