//! Both worlds side by side, misses first.

use std::fmt::Write;

use super::simulated::Run;
use crate::real_path::cells::Cell;
use crate::real_path::results::Row;
use crate::real_path::transfer::REQUIRED_BPS;

/// How far the means may be apart.
const TOLERANCE: f64 = 0.10;

/// A mean, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mean {
    value: f64,
    /// The standard error.
    error: f64,
}

impl Mean {
    /// Nothing without values; the error of a single value is not known and taken as 0.
    fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let value = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|one| (one - value).powi(2)).sum::<f64>();
        let variance = squares / (count - 1.0).max(1.0);
        Some(Self {
            value,
            error: (variance / count).sqrt(),
        })
    }
}

/// One of the worlds.
struct World {
    newcomer: Option<Mean>,
    rivals: Option<Mean>,
    lost: Option<Mean>,
    /// Periods with the rate that is required, of all.
    kept: Option<f64>,
}

/// A cell with one newcomer in both worlds.
pub struct Pair {
    name: String,
    real: World,
    simulated: World,
    failures: usize,
}

impl Pair {
    /// Sums up the rows of the sockets and the runs of the simulator.
    pub fn of<'a>(
        cell: &Cell,
        newcomer: &str,
        rows: impl Iterator<Item = &'a Row>,
        runs: &[Run],
    ) -> Self {
        let (rows, failed): (Vec<&Row>, Vec<&Row>) = rows.partition(|row| row.error.is_none());
        let all = |value: fn(&Row) -> f64| {
            let values: Vec<f64> = rows.iter().map(|row| value(row)).collect();
            Mean::of(&values)
        };
        let of_runs = |value: fn(&Run) -> f64| {
            let values: Vec<f64> = runs.iter().map(value).collect();
            Mean::of(&values)
        };
        let Cell {
            queue_bdp, rivals, ..
        } = cell;
        Self {
            name: format!("{newcomer} beside {rivals}, {queue_bdp} BDP"),
            real: World {
                newcomer: all(|row| row.goodput_bps / 1e6),
                rivals: all(|row| row.rivals_bps / 1e6),
                lost: all(|row| lost_share(row) * 100.0),
                kept: kept(rows.iter().flat_map(|row| row.periods_bps.iter().copied())),
            },
            simulated: World {
                newcomer: of_runs(|run| run.newcomer_bps() / 1e6),
                rivals: of_runs(|run| run.rivals_bps() / 1e6),
                lost: of_runs(|run| run.lost_share() * 100.0),
                kept: kept(runs.iter().flat_map(Run::slots_bps)),
            },
            failures: failed.len(),
        }
    }

    /// The simulator's goodput of the newcomer, and the rivals', as shares of those on sockets.
    fn ratios(&self) -> [Option<f64>; 2] {
        let ratio = |sim: Option<Mean>, real: Option<Mean>| Some(sim?.value / real?.value);
        [
            ratio(self.simulated.newcomer, self.real.newcomer),
            ratio(self.simulated.rivals, self.real.rivals),
        ]
    }

    /// Whether the simulator is near enough.
    pub fn is_alike(&self) -> bool {
        let near = |ratio: Option<f64>| ratio.is_some_and(|is| (is - 1.0).abs() <= TOLERANCE);
        self.failures == 0 && self.ratios().into_iter().all(near)
    }
}

/// Packets that the path dropped, as a share of those that came.
fn lost_share(row: &Row) -> f64 {
    row.path.map_or(0.0, |path| {
        let way = path.to_right;
        way.dropped as f64 / (way.dropped + way.forwarded).max(1) as f64
    })
}

fn kept(rates: impl Iterator<Item = f64>) -> Option<f64> {
    let rates: Vec<f64> = rates.collect();
    let kept = rates.iter().filter(|rate| **rate >= REQUIRED_BPS).count();
    (!rates.is_empty()).then(|| kept as f64 / rates.len() as f64)
}

/// The table.
pub fn table(pairs: &[Pair]) -> String {
    let mut text = format!(
        "Means with standard errors, Mbit/s of data; lost: per cent of all packets, all flows\n\
         {:30}{:>14}{:>14}{:>6}{:>14}{:>14}{:>6}{:>13}{:>13}{:>12}\n",
        "newcomer",
        "sockets",
        "simulated",
        "",
        "rivals:",
        "simulated",
        "",
        "lost",
        "simulated",
        "kept"
    );
    let (alike, missed): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|pair| pair.is_alike());
    for (pair, mark) in missed
        .iter()
        .map(|pair| (pair, "  MISSED"))
        .chain(alike.iter().map(|pair| (pair, "")))
    {
        let [newcomer, rivals] = pair.ratios().map(percent);
        let (real, sim) = (&pair.real, &pair.simulated);
        let kept = match (real.kept, sim.kept) {
            (Some(real), Some(sim)) => format!("{:.0}/{:.0} %", real * 100.0, sim * 100.0),
            _ => String::new(),
        };
        let _ = write!(
            text,
            "{:30}{:>14}{:>14}{newcomer:>6}{:>14}{:>14}{rivals:>6}{:>13}{:>13}{kept:>12}{mark}",
            pair.name,
            mean(real.newcomer),
            mean(sim.newcomer),
            mean(real.rivals),
            mean(sim.rivals),
            mean(real.lost),
            mean(sim.lost),
        );
        if pair.failures > 0 {
            let _ = write!(text, "  {} failed", pair.failures);
        }
        text.push('\n');
    }
    text
}

fn mean(mean: Option<Mean>) -> String {
    mean.map_or("none".to_owned(), |Mean { value, error }| {
        format!("{value:.2} +-{error:.2}")
    })
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or(String::new(), |ratio| {
        format!("{:+.0}%", (ratio - 1.0) * 100.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(newcomer: f64, rivals: f64) -> World {
        World {
            newcomer: Mean::of(&[newcomer]),
            rivals: Mean::of(&[rivals]),
            lost: None,
            kept: None,
        }
    }

    #[test]
    fn worlds_are_alike_within_a_tenth() {
        for (newcomer, rivals, expected) in
            [(10.9, 28.0, true), (8.9, 30.0, false), (10.0, 33.1, false)]
        {
            let pair = Pair {
                name: String::new(),
                real: world(10.0, 30.0),
                simulated: world(newcomer, rivals),
                failures: 0,
            };
            assert_eq!(pair.is_alike(), expected, "{newcomer} {rivals}");
        }
    }

    #[test]
    fn the_standard_error_is_that_of_the_mean() {
        // Mean 4, squares 4 + 0 + 4, variance 4, divided by 3.
        let mean = Mean::of(&[2.0, 4.0, 6.0]).expect("three values");
        assert_eq!(mean.value, 4.0);
        assert!((mean.error - (4.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Mean::of(&[]), None);
    }
}
