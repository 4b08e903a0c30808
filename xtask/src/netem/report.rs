//! Both worlds side by side, as text and as a table for Markdown; misses first.

use std::fmt::Write;

use super::figures::{Comparison, World};

const HEADER: [&str; 8] = [
    "scenario",
    "goodput",
    "rivals",
    "lost",
    "round trip p50 / p95",
    "error (bias; range)",
    "intervals that hold",
    "periods kept",
];

/// The table, with the kernel's line above the simulator's.
pub fn table(comparisons: &[Comparison]) -> String {
    let mut sorted: Vec<&Comparison> = comparisons.iter().collect();
    sorted.sort_by_key(|comparison| comparison.misses().is_empty());
    let mut rows = vec![HEADER.map(str::to_owned)];
    for comparison in sorted {
        rows.push(row(
            &format!("{}, kernel", comparison.name),
            &comparison.kernel,
        ));
        if let Some(simulated) = &comparison.simulated {
            rows.push(row(&format!("{}, simulated", comparison.name), simulated));
        }
    }
    let mut text = aligned(&rows);
    for comparison in comparisons {
        let misses = comparison.misses();
        if !misses.is_empty() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "MISSED in {}: {}", comparison.name, misses.join(", "));
        }
        if let Some([p50, p99]) = comparison.kernel.gap_error_us {
            let name = &comparison.name;
            let _ = writeln!(
                text,
                "{name}: gaps in probe streams off by {p50:.1} µs (p50), {p99:.1} µs (p99)"
            );
        }
    }
    text
}

fn row(name: &str, world: &World) -> [String; 8] {
    let mbps = |rate: f64| format!("{:.2} Mbit/s", rate / 1e6);
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let round_trips = world.rtt_p50_ms.zip(world.rtt_p95_ms);
    let error = world.error.zip(world.bias).map(|(error, bias)| {
        let several = world.errors.filter(|_| world.runs > 1);
        let range =
            several.map(|[least, most]| format!("; {:.2} to {:.2}", least * 100.0, most * 100.0));
        let range = range.unwrap_or_default();
        format!("{} ({:+.2}{range})", percent(error), bias * 100.0)
    });
    [
        name.to_owned(),
        mbps(world.goodput_bps),
        or_none((world.rivals_bps > 0.0).then(|| mbps(world.rivals_bps))),
        percent(world.lost_share),
        or_none(round_trips.map(|(p50, p95)| format!("{p50:.1} / {p95:.1} ms"))),
        or_none(error),
        or_none(
            world
                .coverage
                .map(|share| format!("{:.0} %", share * 100.0)),
        ),
        or_none(world.kept.map(|[kept, of]| format!("{kept} of {of}"))),
    ]
}

/// Columns of one width, with bars between, so that the table is one in Markdown, too.
fn aligned(rows: &[[String; 8]]) -> String {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADER.len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        for (cell, &width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {cell:width$} ");
        }
        text.push_str("|\n");
        if index == 0 {
            for width in &widths {
                let _ = write!(text, "|{}", "-".repeat(width + 2));
            }
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::{alone, compared};
    use super::*;

    #[test]
    fn misses_come_first_and_are_said_in_words() {
        let good = compared(&alone(9.5e6, 0.01), &alone(9.6e6, 0.01));
        let mut bad = compared(&alone(8e6, 0.01), &alone(10e6, 0.01));
        bad.name = "bad".to_owned();
        let text = table(&[good, bad]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].starts_with("| bad, kernel"), "{text}");
        assert!(lines[4].starts_with("| test, kernel"), "{text}");
        assert!(text.contains("MISSED in bad: goodput -20.0 %"), "{text}");
        assert!(lines[4].contains("| 1 of 2 "), "{text}");
        assert!(
            lines[..6]
                .iter()
                .all(|line| line.chars().count() == lines[0].chars().count())
        );
    }

    #[test]
    fn a_rival_that_the_simulator_lacks_leaves_one_line() {
        let mut alone = compared(&alone(9.5e6, 0.01), &alone(9.6e6, 0.01));
        alone.simulated = None;
        let text = table(&[alone]);
        assert!(!text.contains("simulated"), "{text}");
    }
}
