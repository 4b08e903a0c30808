//! The table, and the bars.

use std::fmt;

use super::bench::{Reading, Way, truth_bps};
use crate::testbed::median;

/// How far the median may be from what an idle path has.
const IDLE_ERROR_PERCENT: f64 = 10.0;

/// What a measurement towards a QUIC server may cost on an idle path.
const QUIC_KILOBYTES: f64 = 500.0;
const QUIC_SECONDS: f64 = 2.0;
const QUIC_WAIT_MS: f64 = 5.0;

/// What stands beside these figures.
pub const OTHER_TOOLS: &str =
    "No other tool is run beside: Debian has no package of pathload or udpst.";

/// The measurements of a path in one way.
pub struct Row {
    rate_mbps: u32,
    cross_percent: u32,
    way: Way,
    runs: usize,
    values: usize,
    truth_bps: f64,
    median_bps: f64,
    worst_error_percent: f64,
    low_bps: f64,
    high_bps: f64,
    /// How many intervals hold the truth.
    held: usize,
    seconds: f64,
    kilobytes: f64,
    mean_wait_ms: f64,
    longest_wait_ms: f64,
}

impl Row {
    /// Of all measurements of a path.
    pub fn new(rate_mbps: u32, cross_percent: u32, way: Way, readings: &[Reading]) -> Self {
        let truth = truth_bps(rate_mbps, cross_percent);
        let values: Vec<f64> = readings.iter().filter_map(|r| r.available_bps).collect();
        // No number where no run has a value: that is missed, and the other paths have theirs.
        let of = |get: fn(&Reading) -> Option<f64>| {
            median(readings.iter().filter_map(get)).unwrap_or(f64::NAN)
        };
        let error = |value: &f64| (value / truth - 1.0) * 100.0;
        let worst = values
            .iter()
            .map(error)
            .max_by(|a, b| a.abs().total_cmp(&b.abs()));
        let holds = |r: &&Reading| {
            let within = r.low_bps.zip(r.high_bps);
            within.is_some_and(|(low, high)| low <= truth && truth <= high)
        };
        Self {
            rate_mbps,
            cross_percent,
            way,
            runs: readings.len(),
            values: values.len(),
            truth_bps: truth,
            median_bps: of(|r| r.available_bps),
            worst_error_percent: worst.unwrap_or(f64::NAN),
            low_bps: of(|r| r.low_bps),
            high_bps: of(|r| r.high_bps),
            held: readings.iter().filter(holds).count(),
            seconds: of(|r| Some(r.seconds)),
            kilobytes: of(|r| Some(r.bytes_sent / 1e3)),
            mean_wait_ms: of(|r| Some(r.mean_wait_ms)),
            longest_wait_ms: of(|r| Some(r.longest_wait_ms)),
        }
    }

    fn error_percent(&self) -> f64 {
        (self.median_bps / self.truth_bps - 1.0) * 100.0
    }

    /// The bars that it misses, in words.
    pub fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        let path = format!(
            "{} at {} Mbit/s with {} % of cross traffic",
            self.way.name(),
            self.rate_mbps,
            self.cross_percent
        );
        if self.values < self.runs {
            missed.push(format!(
                "{path}: {} runs have no value",
                self.runs - self.values
            ));
        }
        if self.cross_percent > 0 || self.way == Way::Search {
            return missed;
        }
        let error = self.error_percent().abs();
        if error > IDLE_ERROR_PERCENT {
            missed.push(format!(
                "{path}: {error:.1} % off, {IDLE_ERROR_PERCENT} % allowed"
            ));
        }
        if self.way == Way::Quic {
            let costs = [
                ("kB", self.kilobytes, QUIC_KILOBYTES),
                ("s", self.seconds, QUIC_SECONDS),
                ("ms of queue", self.longest_wait_ms, QUIC_WAIT_MS),
            ];
            for (unit, value, bar) in costs {
                if value > bar {
                    missed.push(format!("{path}: {value:.2} {unit}, {bar} allowed"));
                }
            }
        }
        missed
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mbps = |bps: f64| bps / 1e6;
        write!(
            f,
            "| {} Mbit/s | {} % | {} | {:.2} | {:.2} | {:+.1} % ({:+.1} %) | {:.2} to {:.2} | \
             {}/{} | {:.2} s | {:.0} kB | {:.1} ms ({:.1} ms) |",
            self.rate_mbps,
            self.cross_percent,
            self.way.name(),
            mbps(self.truth_bps),
            mbps(self.median_bps),
            self.error_percent(),
            self.worst_error_percent,
            mbps(self.low_bps),
            mbps(self.high_bps),
            self.held,
            self.runs,
            self.seconds,
            self.kilobytes,
            self.longest_wait_ms,
            self.mean_wait_ms
        )
    }
}

/// All rows with a heading. Columns are medians of the runs.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| link | cross | way | truth | median | error (worst) | interval | held | time | sent | \
         longest wait (mean) |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        text.push_str(&format!("{row}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(available_mbps: f64, wait_ms: f64) -> Reading {
        Reading {
            available_bps: Some(available_mbps * 1e6),
            low_bps: Some(available_mbps * 0.95e6),
            high_bps: Some(available_mbps * 1.05e6),
            seconds: 0.5,
            bytes_sent: 200_000.0,
            mean_wait_ms: 1.0,
            longest_wait_ms: wait_ms,
        }
    }

    fn row(way: Way, cross: u32, readings: &[Reading]) -> Row {
        Row::new(20, cross, way, readings)
    }

    #[test]
    fn a_good_measurement_misses_nothing() {
        let good = row(Way::Quic, 0, &[reading(19.0, 4.0), reading(19.5, 4.5)]);
        assert_eq!(good.missed(), Vec::<String>::new());
        assert_eq!(good.held, 2);
    }

    #[test]
    fn what_is_off_or_waits_too_long_is_named() {
        let bad = row(Way::Quic, 0, &[reading(15.0, 6.0)]);
        let missed = bad.missed();
        assert_eq!(missed.len(), 2, "{missed:?}");
        assert!(missed[0].contains("23.9 % off"), "{missed:?}");
        assert!(missed[1].contains("6.00 ms of queue"), "{missed:?}");
        assert_eq!(row(Way::Echo, 40, &[reading(15.0, 6.0)]).missed().len(), 0);
    }

    #[test]
    fn a_run_without_a_value_is_missed() {
        let mut silent = reading(19.0, 1.0);
        silent.available_bps = None;
        let missed = row(Way::Echo, 40, &[reading(12.0, 1.0), silent.clone()]).missed();
        assert_eq!(missed.len(), 1, "{missed:?}");
        let missed = row(Way::Quic, 0, &[silent]).missed();
        assert_eq!(
            missed,
            ["quic at 20 Mbit/s with 0 % of cross traffic: 1 runs have no value"]
        );
    }
}
