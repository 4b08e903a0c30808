//! Sums over many seeds.

use super::bars::{GOODPUT_MEDIAN, Miss};
use super::compare::Paired;
use crate::statistics::median;
use serde::Serialize;
use std::cmp::Ordering;

/// Counts and medians over the paths.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tally {
    /// How many paths.
    pub paths: usize,
    /// The median of goodput, as a share of what it is without measuring.
    pub of_not_measuring: f64,
    /// The same against CUBIC.
    pub of_cubic: f64,
    /// Packets lost on all paths: measuring, not measuring, with CUBIC.
    pub lost: [u64; 3],
    /// Paths that miss the bar of goodput, that of age, and that of statements.
    pub missed: [usize; 3],
    /// Paths that missed goodput or age in the first pair of runs, but not over many pairs. They
    /// missed by chance.
    pub by_chance: usize,
    /// Paths on which the placebo misses the bar of goodput, and that of age. None where it was not
    /// run.
    pub placebo_missed: Option<[usize; 2]>,
}

impl Tally {
    /// Sums up.
    pub fn of(all: &[Paired]) -> Self {
        let middle =
            |share: fn(&Paired) -> f64| median(all.iter().map(share).collect()).unwrap_or(f64::NAN);
        let lost = |outcome: fn(&Paired) -> u64| all.iter().map(outcome).sum();
        let missed = |kind: fn(&Miss) -> bool| {
            let misses = all.iter().filter(|paired| paired.misses.iter().any(kind));
            misses.count()
        };
        Self {
            paths: all.len(),
            of_not_measuring: middle(Paired::of_not_measuring),
            of_cubic: middle(Paired::of_cubic),
            lost: [
                lost(|paired| paired.measuring.lost_packets),
                lost(|paired| paired.not_measuring.lost_packets),
                lost(|paired| paired.cubic.lost_packets),
            ],
            missed: [
                missed(|miss| matches!(miss, Miss::Goodput(_))),
                missed(|miss| matches!(miss, Miss::Age { .. })),
                missed(|miss| matches!(miss, Miss::Silence(_))),
            ],
            by_chance: all
                .iter()
                .filter(|paired| paired.missed_by_chance())
                .count(),
            placebo_missed: placebo(all),
        }
    }

    /// Whether all bars are kept.
    pub fn is_kept(&self) -> bool {
        self.missed == [0; 3] && self.of_not_measuring >= GOODPUT_MEDIAN
    }
}

fn placebo(all: &[Paired]) -> Option<[usize; 2]> {
    use super::bars::{AGE_ABOVE_MS, GOODPUT_EACH};
    all.iter().find(|paired| paired.placebo.is_some())?;
    let less = |paired: &&Paired| paired.of_placebo().is_some_and(|s| s < GOODPUT_EACH);
    let older = |paired: &&Paired| {
        let allowed = AGE_ABOVE_MS.min(paired.facts.rtt_ms);
        let above = paired.placebo_age_above_ms();
        above.is_some_and(|above| above > allowed)
    };
    Some([
        all.iter().filter(less).count(),
        all.iter().filter(older).count(),
    ])
}

impl Paired {
    fn missed_by_chance(&self) -> bool {
        self.repeats.is_some() && !self.misses.iter().any(Miss::may_be_chance)
    }

    /// The worst path comes first. Paths with a miss come before all others: goodput before age
    /// before silence, and the greater miss before the lesser. The others are ordered by goodput.
    pub fn worse_first(&self, other: &Self) -> Ordering {
        let rank = |paired: &Self| {
            let ranks = paired.misses.iter().map(Miss::rank);
            let first = ranks.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            first.unwrap_or((u8::MAX, paired.of_not_measuring()))
        };
        let (one, two) = (rank(self), rank(other));
        let order = one.0.cmp(&two.0).then(one.1.total_cmp(&two.1));
        order.then(self.seed.cmp(&other.seed))
    }
}
