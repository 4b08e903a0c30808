//! What a run came to, over a kernel or simulated, and how both are compared.

use serde::Serialize;

use super::simulator::Score;

/// How far goodputs may be apart, as a share of the simulated one.
const GOODPUT_TOLERANCE: f64 = 0.10;

/// How far errors of the estimate may be apart, as a share of the simulated one.
const ERROR_TOLERANCE: f64 = 0.15;

/// Errors that differ by less than this share of the truth do not differ: the clocks by which the
/// path is known are not finer.
const LEAST_DIFFERENCE: f64 = 0.005;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Application data of the main flow per second.
    pub goodput_bps: f64,
    /// The same of all others together.
    pub rivals_bps: f64,
    /// Packets of the main flow that were declared lost, as a share of those sent.
    pub lost_share: f64,
    /// The round trip: over a kernel that of pings, simulated that of the flow's own packets.
    pub rtt_p50_ms: Option<f64>,
    /// Its 95th percentile.
    pub rtt_p95_ms: Option<f64>,
    /// How good the estimates were, where the truth is known.
    pub score: Option<Score>,
    /// What arrived in each period of the promise, in bit/s.
    pub slots_bps: Vec<f64>,
    /// How far gaps inside probe streams were from their plan, p50 and p99, in microseconds.
    pub gap_error_us: Option<[f64; 2]>,
}

/// Runs of one kind, averaged.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct World {
    /// How many runs.
    pub runs: usize,
    pub goodput_bps: f64,
    pub rivals_bps: f64,
    pub lost_share: f64,
    pub rtt_p50_ms: Option<f64>,
    pub rtt_p95_ms: Option<f64>,
    pub error: Option<f64>,
    /// The least error of a run, and the greatest.
    pub errors: Option<[f64; 2]>,
    pub bias: Option<f64>,
    pub coverage: Option<f64>,
    /// Periods with what was required, and all periods.
    pub kept: Option<[usize; 2]>,
    pub gap_error_us: Option<[f64; 2]>,
}

impl World {
    /// The means, with the slots of all runs counted together against the required rate.
    pub fn of(runs: &[Figures], required_bps: Option<f64>) -> Self {
        let all = |value: fn(&Figures) -> Option<f64>| mean(runs.iter().filter_map(value));
        let always = |value: fn(&Figures) -> f64| mean(runs.iter().map(value)).unwrap_or(0.0);
        let errors = || runs.iter().filter_map(|run| run.score?.error);
        let least = errors().min_by(f64::total_cmp);
        let slots = || runs.iter().flat_map(|run| &run.slots_bps);
        let kept = required_bps.map(|required| {
            let kept = slots().filter(|rate| **rate >= required).count();
            [kept, slots().count()]
        });
        let gap = |index: usize| mean(runs.iter().filter_map(|run| Some(run.gap_error_us?[index])));
        Self {
            runs: runs.len(),
            goodput_bps: always(|run| run.goodput_bps),
            rivals_bps: always(|run| run.rivals_bps),
            lost_share: always(|run| run.lost_share),
            rtt_p50_ms: all(|run| run.rtt_p50_ms),
            rtt_p95_ms: all(|run| run.rtt_p95_ms),
            error: mean(errors()),
            errors: least.zip(errors().max_by(f64::total_cmp)).map(Into::into),
            bias: all(|run| run.score?.bias),
            coverage: all(|run| run.score?.coverage),
            kept,
            gap_error_us: gap(0).zip(gap(1)).map(|(p50, p99)| [p50, p99]),
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// A scenario in both worlds.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The scenario, with what was changed in it.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Over a real kernel.
    pub kernel: World,
    /// In the simulator; nothing where it has no such rival.
    pub simulated: Option<World>,
}

impl Comparison {
    /// What differs too much, in words.
    pub fn misses(&self) -> Vec<String> {
        let Some(simulated) = &self.simulated else {
            return Vec::new();
        };
        let mut misses = Vec::new();
        // Beside rivals luck decides too much in a single run.
        let is_alone = self.kernel.rivals_bps == 0.0;
        let ratio = self.kernel.goodput_bps / simulated.goodput_bps - 1.0;
        if is_alone && ratio.abs() > GOODPUT_TOLERANCE {
            misses.push(format!("goodput {:+.1} %", ratio * 100.0));
        }
        if let (Some(kernel), Some(mean), Some([least, greatest])) =
            (self.kernel.error, simulated.error, simulated.errors)
        {
            let difference = kernel - mean;
            let most = (mean * ERROR_TOLERANCE).max(LEAST_DIFFERENCE);
            // What chance does in the simulator is no difference between the two.
            let is_chance = (least..=greatest).contains(&kernel);
            if difference.abs() > most && !is_chance {
                let points = difference * 100.0;
                misses.push(format!("estimate's error {points:+.2} points"));
            }
        }
        misses
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A run alone on its path.
    pub fn alone(goodput_bps: f64, error: f64) -> Figures {
        Figures {
            goodput_bps,
            rivals_bps: 0.0,
            lost_share: 0.01,
            rtt_p50_ms: Some(40.0),
            rtt_p95_ms: None,
            score: Some(Score {
                error: Some(error),
                bias: Some(-error),
                coverage: Some(0.9),
            }),
            slots_bps: vec![3e6, 5e6],
            gap_error_us: Some([2.0, 30.0]),
        }
    }

    /// Both worlds.
    pub fn compared(kernel: &Figures, simulated: &Figures) -> Comparison {
        Comparison {
            name: "test".to_owned(),
            title: "A test".to_owned(),
            kernel: World::of(std::slice::from_ref(kernel), Some(4e6)),
            simulated: Some(World::of(std::slice::from_ref(simulated), Some(4e6))),
        }
    }

    #[test]
    fn worlds_are_means_and_count_all_slots() {
        let world = World::of(&[alone(8e6, 0.02), alone(9e6, 0.04)], Some(4e6));
        assert_eq!((world.runs, world.goodput_bps), (2, 8.5e6));
        assert_eq!(world.kept, Some([2, 4]));
        assert_eq!(world.gap_error_us, Some([2.0, 30.0]));
        assert!((world.error.expect("scored") - 0.03).abs() < 1e-12);
        assert_eq!(World::of(&[], None), World::default());
    }

    #[test]
    fn a_tenth_of_goodput_and_a_sixth_of_the_error_are_alike() {
        for (goodput, error, count) in [
            (9.2e6, 0.055, 0),
            (8.9e6, 0.05, 1),
            (10e6, 0.058, 1),
            (11.5e6, 0.2, 2),
        ] {
            let misses = compared(&alone(goodput, error), &alone(10e6, 0.05)).misses();
            assert_eq!(misses.len(), count, "{goodput} {error}: {misses:?}");
        }
        let mut by_chance = compared(&alone(10e6, 0.2), &alone(10e6, 0.05));
        if let Some(simulated) = &mut by_chance.simulated {
            simulated.errors = Some([0.01, 0.21]);
        }
        assert!(
            by_chance.misses().is_empty(),
            "a seed gave as much: {by_chance:?}"
        );
        let tiny = compared(&alone(10e6, 0.004), &alone(10e6, 0.0001)).misses();
        assert!(tiny.is_empty(), "neither is an error: {tiny:?}");
    }
}
