//! The table at the end, and the verdict.

use anyhow::Result;

use super::LINK_MBPS;
use super::estimates::{CLASSIC_ESTIMATOR, Summary};
use super::transfer::{Outcome, Timing};
use crate::testbed::estimates::DEFAULT_ESTIMATOR;

/// How far the median estimate may be from the configured rate.
pub const TOLERANCE_PERCENT: f64 = 15.0;

/// A transfer with measuring beside one without, under the same cross traffic.
pub struct Comparison {
    /// What the configuration leaves, in bit/s.
    available_bps: f64,
    /// What came through of the cross traffic, in bit/s.
    cross_bps: f64,
    estimate: Summary,
    /// The paper's estimator may have found nothing.
    classic: Option<Summary>,
    goodput_bps: f64,
    goodput_without_bps: f64,
    loss_percent: f64,
    loss_without_percent: f64,
    timing: Option<Timing>,
}

impl Comparison {
    /// Of two transfers under `cross_mbps` of cross traffic.
    pub fn new(cross_mbps: u32, measuring: &Outcome, without: &Outcome) -> Result<Self> {
        Ok(Self {
            available_bps: f64::from(LINK_MBPS - cross_mbps) * 1e6,
            cross_bps: measuring.cross_bps,
            estimate: Summary::of(&measuring.estimates, DEFAULT_ESTIMATOR)?,
            classic: Summary::of(&measuring.estimates, CLASSIC_ESTIMATOR).ok(),
            goodput_bps: measuring.goodput_bps,
            goodput_without_bps: without.goodput_bps,
            loss_percent: loss_percent(measuring),
            loss_without_percent: loss_percent(without),
            timing: measuring.server.timing,
        })
    }

    /// Whether the default estimator's median is within the tolerance.
    pub fn is_close(&self) -> bool {
        self.error_percent(self.estimate.median_bps).abs() <= TOLERANCE_PERCENT
    }

    fn error_percent(&self, estimate_bps: f64) -> f64 {
        (estimate_bps / self.available_bps - 1.0) * 100.0
    }
}

fn loss_percent(outcome: &Outcome) -> f64 {
    let server = &outcome.server;
    server.lost_packets as f64 * 100.0 / server.sent_packets.max(1) as f64
}

/// A line of the table: a name, and how to say it of a transfer.
type Row = (&'static str, fn(&Comparison) -> String);

const ROWS: &[Row] = &[
    ("configured rate less cross traffic", |c| {
        mbps(c.available_bps)
    }),
    ("cross traffic that came through", |c| mbps(c.cross_bps)),
    ("estimate: median", |c| mbps(c.estimate.median_bps)),
    ("estimate: mean", |c| mbps(c.estimate.mean_bps)),
    ("estimate: mean 95 % interval", |c| {
        format!(
            "{} to {}",
            number(c.estimate.low_bps),
            mbps(c.estimate.high_bps)
        )
    }),
    ("estimate: error of the median", |c| {
        format!("{:+.1} %", c.error_percent(c.estimate.median_bps))
    }),
    ("estimates", |c| c.estimate.count.to_string()),
    ("the paper's estimator: median", |c| {
        classic(c, |summary| mbps(summary.median_bps))
    }),
    ("the paper's estimator: error", |c| {
        classic(c, |summary| {
            format!("{:+.1} %", c.error_percent(summary.median_bps))
        })
    }),
    ("goodput, measuring", |c| mbps(c.goodput_bps)),
    ("goodput, not measuring", |c| mbps(c.goodput_without_bps)),
    ("ratio of these", |c| {
        format!("{:.1} %", c.goodput_bps / c.goodput_without_bps * 100.0)
    }),
    ("packets lost, measuring", |c| {
        format!("{:.2} %", c.loss_percent)
    }),
    ("packets lost, not measuring", |c| {
        format!("{:.2} %", c.loss_without_percent)
    }),
    ("probe gaps, planned: p50", |c| {
        timing(c, |t| micros(t.planned_gap_us.p50_us))
    }),
    ("probe gaps, off by: p50", |c| {
        timing(c, |t| micros(t.gap_error_us.p50_us))
    }),
    ("probe gaps, off by: p99", |c| {
        timing(c, |t| micros(t.gap_error_us.p99_us))
    }),
    ("probe gaps", |c| {
        timing(c, |t| t.gap_error_us.count.to_string())
    }),
    ("release times, late by: p50", |c| {
        timing(c, |t| micros(t.lateness_us.p50_us))
    }),
    ("release times, late by: p99", |c| {
        timing(c, |t| micros(t.lateness_us.p99_us))
    }),
];

/// All figures, a column for each comparison.
pub fn table(comparisons: &[Comparison]) -> String {
    let line = |(name, say): &Row| {
        let cells: String = comparisons
            .iter()
            .map(|comparison| format!("{:>26}", say(comparison)))
            .collect();
        format!("{name:36}{cells}")
    };
    ROWS.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn classic(comparison: &Comparison, say: impl Fn(&Summary) -> String) -> String {
    let none = || "none".to_owned();
    comparison.classic.as_ref().map_or_else(none, say)
}

fn timing(comparison: &Comparison, say: fn(&Timing) -> String) -> String {
    let none = || "none".to_owned();
    comparison.timing.as_ref().map_or_else(none, say)
}

fn number(bps: f64) -> String {
    format!("{:.2}", bps / 1e6)
}

fn mbps(bps: f64) -> String {
    format!("{} Mbit/s", number(bps))
}

fn micros(us: f64) -> String {
    format!("{us:.1} µs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(median_bps: f64) -> Comparison {
        let summary = Summary {
            count: 100,
            median_bps,
            mean_bps: median_bps,
            low_bps: median_bps - 1e6,
            high_bps: median_bps + 1e6,
        };
        Comparison {
            available_bps: 12e6,
            cross_bps: 8e6,
            estimate: summary,
            classic: None,
            goodput_bps: 11.2e6,
            goodput_without_bps: 11.2e6,
            loss_percent: 0.5,
            loss_without_percent: 0.5,
            timing: None,
        }
    }

    #[test]
    fn an_estimate_is_close_within_fifteen_per_cent_either_way() {
        for (median, close) in [
            (10.1e6, false),
            (10.3e6, true),
            (13.7e6, true),
            (13.9e6, false),
        ] {
            assert_eq!(comparison(median).is_close(), close, "{median}");
        }
    }

    #[test]
    fn the_table_says_what_is_missing() {
        let table = table(&[comparison(12.6e6)]);
        let row = |name: &str| {
            let row = table.lines().find(|line| line.starts_with(name));
            row.expect("the row is there").to_owned()
        };
        assert!(row("estimate: error").ends_with("+5.0 %"), "{table}");
        assert!(
            row("the paper's estimator: median").ends_with("none"),
            "{table}"
        );
        assert!(row("ratio").ends_with("100.0 %"), "{table}");
    }
}
