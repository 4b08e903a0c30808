//! Small charts: available bandwidth over the hours, a chart for each of the busiest networks.

use super::escaped;
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 270.0;
const HEIGHT: f64 = 110.0;
const LEFT: f64 = 34.0;

/// An hour of a network.
struct Hour {
    at: usize,
    p5: f64,
    p50: f64,
}

/// The charts of the answer to `available`: date, hour, prefix, connections, estimates, p5, p50.
pub fn charts(rows: &[Vec<String>], most: usize) -> String {
    let mut hours: Vec<(&str, u32)> = Vec::new();
    let mut networks: BTreeMap<&str, (u64, Vec<Hour>)> = BTreeMap::new();
    for row in rows {
        let [date, hour, prefix, connections, _, p5, p50] = row.as_slice() else {
            continue;
        };
        let hour = (date.as_str(), hour.parse().unwrap_or(0));
        // The answer is in the order of date and hour.
        if hours.last() != Some(&hour) {
            hours.push(hour);
        }
        let (Ok(p5), Ok(p50)) = (p5.parse(), p50.parse()) else {
            continue;
        };
        let network = networks.entry(prefix).or_default();
        network.0 += connections.parse::<u64>().unwrap_or(0);
        let at = hours.len() - 1;
        network.1.push(Hour { at, p5, p50 });
    }
    let mut busiest: Vec<_> = networks.into_iter().collect();
    busiest.sort_by_key(|(prefix, (connections, _))| (std::cmp::Reverse(*connections), *prefix));
    busiest.truncate(most);
    let (Some(first), Some(last)) = (hours.first(), hours.last()) else {
        return String::new();
    };
    let mut text = format!(
        "<p>The line is the median, and the band goes down to the 5th percentile, in Mbit/s, from \
         {} {}:00 to {} {}:00 UTC.</p>\n<div class=\"charts\">\n",
        escaped(first.0),
        first.1,
        escaped(last.0),
        last.1
    );
    for (prefix, (connections, points)) in &busiest {
        let _ = writeln!(
            text,
            "<figure>{}<figcaption>{}, {connections} connections</figcaption></figure>",
            drawing(points, hours.len()),
            escaped(prefix)
        );
    }
    text.push_str("</div>\n");
    text
}

fn drawing(points: &[Hour], hours: usize) -> String {
    let top = points
        .iter()
        .fold(0.0_f64, |top, hour| top.max(hour.p50))
        .max(1e-3);
    let step = (WIDTH - LEFT) / hours.saturating_sub(1).max(1) as f64;
    let x = |hour: &Hour| LEFT + step * hour.at as f64;
    let y = |rate: f64| HEIGHT - 4.0 - (HEIGHT - 14.0) * rate / top;
    let path = |points: &mut dyn Iterator<Item = (f64, f64)>| -> String {
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        points.join(" ")
    };
    let median = path(&mut points.iter().map(|hour| (x(hour), y(hour.p50))));
    let fifth = path(&mut points.iter().rev().map(|hour| (x(hour), y(hour.p5))));
    let (zero, high) = (y(0.0), y(top));
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\
         <line x1=\"{LEFT}\" y1=\"{zero:.1}\" x2=\"{WIDTH}\" y2=\"{zero:.1}\" \
         stroke=\"var(--grid)\"/>\
         <polygon points=\"{median} {fifth}\" fill=\"var(--band)\"/>\
         <polyline points=\"{median}\" fill=\"none\" stroke=\"var(--line)\" stroke-width=\"1.5\"/>\
         <text x=\"0\" y=\"{zero:.1}\">0</text><text x=\"0\" y=\"{:.1}\">{top:.1}</text></svg>",
        high + 4.0
    )
}
