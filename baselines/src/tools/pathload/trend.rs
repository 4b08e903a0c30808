//! Whether the delays within a stream grow: the two tests of Jain and Dovrolis, 2003, section IV.

use std::cmp::Ordering;

/// What a stream says about its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trend {
    /// The delays grow: the rate is above what is available.
    Increasing,
    /// They do not.
    None,
    /// The tests do not agree, or do not know.
    Unclear,
}

/// The share of growing steps above which PCT says that delays grow, and below which that they do
/// not.
const PCT: (f64, f64) = (0.66, 0.54);
/// The same for PDT.
const PDT: (f64, f64) = (0.55, 0.45);
/// With fewer medians the tests say nothing: the least of release 1.3.2.
const FEWEST_MEDIANS: usize = 5;

/// The trend of a stream's one-way delays in microseconds, in the order in which packets left.
pub(super) fn trend(delays_us: &[i64]) -> Trend {
    let medians = medians(delays_us);
    if medians.len() < FEWEST_MEDIANS {
        return Trend::Unclear;
    }
    let pct = classified(pct(&medians), PCT);
    let pdt = classified(pdt(&medians), PDT);
    match (pct, pdt) {
        (one, other) if one == other => one,
        (known, Trend::Unclear) | (Trend::Unclear, known) => known,
        _ => Trend::Unclear,
    }
}

fn classified(metric: f64, (above, below): (f64, f64)) -> Trend {
    if metric > above {
        Trend::Increasing
    } else if metric < below {
        Trend::None
    } else {
        Trend::Unclear
    }
}

/// The medians of groups of sqrt(K) delays each, where K is the number of delays.
fn medians(delays_us: &[i64]) -> Vec<f64> {
    let group = delays_us.len().isqrt().max(1);
    let median = |group: &[i64]| {
        let mut sorted = group.to_vec();
        sorted.sort_unstable();
        let middle = sorted.len() / 2;
        match sorted.len() % 2 {
            1 => sorted[middle] as f64,
            _ => (sorted[middle - 1] as f64 + sorted[middle] as f64) / 2.0,
        }
    };
    delays_us.chunks(group).map(median).collect()
}

/// Pairwise comparison test: the share of medians that are above the one before.
fn pct(medians: &[f64]) -> f64 {
    let grows = |pair: &&[f64]| pair[0].total_cmp(&pair[1]) == Ordering::Less;
    let growing = medians.windows(2).filter(grows).count();
    growing as f64 / (medians.len() - 1) as f64
}

/// Pairwise difference test: the change from the first median to the last, as a share of all
/// changes. Zero where nothing changes.
fn pdt(medians: &[f64]) -> f64 {
    let changes = medians.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let all: f64 = changes.sum();
    match (medians.first(), medians.last()) {
        (Some(first), Some(last)) if all > 0.0 => (last - first) / all,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_groups_of_a_square_root() {
        let delays = [5, 1, 3, 9, 7, 8, 2, 2, 4];
        assert_eq!(medians(&delays), [3.0, 8.0, 2.0]);
        assert_eq!(medians(&[1, 3, 5, 7]), [2.0, 6.0]);
    }

    #[test]
    fn the_tests_by_hand() {
        // Four of five steps grow; 7 of 11 of the changes remain.
        let medians = [0.0, 2.0, 4.0, 2.0, 5.0, 7.0];
        assert_eq!(pct(&medians), 0.8);
        assert_eq!(pdt(&medians), 7.0 / 11.0);
        let level = [3.0; 6];
        assert_eq!((pct(&level), pdt(&level)), (0.0, 0.0));
    }

    #[test]
    fn delays_that_grow_level_delays_and_a_hump_are_told_apart() {
        let growing: Vec<i64> = (0..100).collect();
        assert_eq!(trend(&growing), Trend::Increasing);
        assert_eq!(trend(&[250; 100]), Trend::None);
        // Growing for two thirds of the steps, and back down: the tests do not agree.
        let hump: Vec<i64> = (0..100).map(|i| if i < 80 { i } else { 0 }).collect();
        assert_eq!(trend(&hump), Trend::Unclear);
        assert_eq!(trend(&[1, 2, 3]), Trend::Unclear, "too few");
    }
}
