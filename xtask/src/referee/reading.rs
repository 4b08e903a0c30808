//! What somebody reads who asks a tool at every tenth of a second, as the estimate survey does.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Score;

/// Bins of the truth and instants of reading are that far apart, in seconds.
const STEP_S: f64 = 0.1;
/// A reading is compared with the mean of so many bins before it, and as many behind: the second
/// around.
const AROUND: usize = 5;
/// The first second is left out.
const FIRST_BIN: usize = 10;
/// A change has been followed when the error is below this.
const FOLLOWED: f64 = 0.15;

/// The flow that is looked at. Nobody counts what it takes itself.
const MAIN: &str = "main";

/// A run with one tool, or with another stack that sends.
#[derive(Debug, Deserialize)]
pub struct Run {
    sim_seconds: f64,
    truth: Vec<Bin>,
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(default)]
    flows: Vec<Flow>,
}

#[derive(Debug, Deserialize)]
struct Bin {
    link: String,
    capacity_bps: f64,
    cross_bps: f64,
    flow_bps: BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    steps_s: Vec<f64>,
    measurements: Vec<Measurement>,
}

#[derive(Debug, Deserialize)]
struct Flow {
    name: String,
    steps_s: Vec<f64>,
    #[serde(default)]
    told: Vec<Told>,
}

/// What a stack told at an instant.
#[derive(Debug, Deserialize)]
struct Told {
    t: f64,
    bps: f64,
}

#[derive(Debug, Default, Deserialize)]
struct Measurement {
    end_s: Option<f64>,
    value_bps: Option<f64>,
    low_bps: Option<f64>,
    high_bps: Option<f64>,
    bytes: f64,
    other_bytes: f64,
}

/// What the tight link leaves, and its capacity, by bins.
fn truth(run: &Run) -> Vec<(f64, f64)> {
    let mut links: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for bin in &run.truth {
        let others = bin.flow_bps.iter().filter(|(name, _)| *name != MAIN);
        let flows: f64 = others.map(|(_, bps)| bps).sum();
        let left = (bin.capacity_bps - bin.cross_bps - flows).max(0.0);
        let bins = links.entry(&bin.link).or_default();
        bins.push((left, bin.capacity_bps));
    }
    let bins = links.values().map(Vec::len).min().unwrap_or(0);
    let tight = |bin: usize| {
        let at_links = links.values().map(|link| link[bin]);
        at_links.min_by(|one, other| one.0.total_cmp(&other.0))
    };
    (0..bins).filter_map(tight).collect()
}

/// Scores the run's tool.
///
/// # Errors
/// The run has no tool.
pub fn score(run: &Run) -> Result<Score> {
    let tool = run.tools.first().context("the run has no tool")?;
    Ok(score_of(run, tool))
}

/// Scores what the stack of the flow's server told.
///
/// # Errors
/// The run has no such flow.
pub fn score_stack(run: &Run) -> Result<Score> {
    let mut flows = run.flows.iter();
    let flow = flows.find(|flow| flow.name == MAIN);
    let flow = flow.with_context(|| format!("the run has no flow `{MAIN}`"))?;
    let told = flow.told.iter().map(|told| Measurement {
        end_s: Some(told.t),
        value_bps: Some(told.bps),
        ..Measurement::default()
    });
    let tool = Tool {
        steps_s: flow.steps_s.clone(),
        measurements: told.collect(),
    };
    Ok(score_of(run, &tool))
}

fn score_of(run: &Run, tool: &Tool) -> Score {
    let truth = truth(run);
    let mut errors: Vec<(f64, f64)> = Vec::new();
    let mut held: Vec<bool> = Vec::new();
    let instants = FIRST_BIN..truth.len().saturating_sub(AROUND);
    let count = instants.len();
    for bin in instants {
        let at = bin as f64 * STEP_S;
        let Some(latest) = tool.latest(at) else {
            continue;
        };
        let around = &truth[bin - AROUND..bin + AROUND];
        let mean = around.iter().map(|(left, _)| left).sum::<f64>() / around.len() as f64;
        let Some(value) = latest.value_bps else {
            continue;
        };
        errors.push((at, (value - mean) / truth[bin].1));
        if let (Some(low), Some(high)) = (latest.low_bps, latest.high_bps)
            && low < high
        {
            held.push((low..=high).contains(&mean));
        }
    }
    let signed = errors.iter().map(|(_, error)| *error).collect();
    let absolute: Vec<f64> = errors.iter().map(|(_, error)| error.abs()).collect();
    let holding = held.iter().filter(|held| **held).count();
    let bytes = tool
        .measurements
        .iter()
        .map(|one| one.bytes + one.other_bytes);
    Score {
        error_p50: quantile(absolute.clone(), 0.5),
        error_p90: quantile(absolute, 0.9),
        bias: quantile(signed, 0.5),
        told: errors.len() as f64 / count.max(1) as f64,
        coverage: (!held.is_empty()).then(|| holding as f64 / held.len() as f64),
        lag_s: lag(&tool.steps_s, &errors),
        extra_bps: bytes.sum::<f64>() * 8.0 / run.sim_seconds,
        ..Score::default()
    }
}

impl Tool {
    /// The last measurement that has told something by then.
    fn latest(&self, at: f64) -> Option<&Measurement> {
        let told = self
            .measurements
            .iter()
            .filter(|one| one.value_bps.is_some());
        told.take_while(|one| one.end_s.is_some_and(|end| end <= at))
            .last()
    }
}

/// The longest time from a change until the error is small, or until the next change or the end.
/// None without a change inside the readings.
fn lag(steps_s: &[f64], errors: &[(f64, f64)]) -> Option<f64> {
    let first = errors.first()?.0;
    let last = errors.last()?.0;
    let lags = steps_s.iter().enumerate().filter_map(|(index, step)| {
        let end = steps_s.get(index + 1).copied().unwrap_or(last);
        let mut behind = errors.iter().filter(|(at, _)| at >= step && *at <= end);
        let followed = behind.find(|(_, error)| error.abs() < FOLLOWED);
        let lag = followed.map_or(end - step, |(at, _)| at - step);
        (*step >= first && *step < last).then_some(lag)
    });
    lags.max_by(f64::total_cmp)
}

/// A quantile; between two values it is as far as its rank is.
pub fn quantile(mut values: Vec<f64>, share: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let rank = share * values.len().checked_sub(1)? as f64;
    #[expect(clippy::cast_possible_truncation, reason = "a rank is small")]
    #[expect(clippy::cast_sign_loss, reason = "a rank is not negative")]
    let below = rank as usize;
    let low = *values.get(below)?;
    let high = values.get(below + 1).copied().unwrap_or(low);
    let share = rank - below as f64;
    // What is infinite has no distance from what is infinite as well.
    let is_low = share <= 0.0 || low.total_cmp(&high).is_eq();
    Some(if is_low {
        low
    } else {
        low + (high - low) * share
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(link: &str, capacity: f64, cross: f64) -> Bin {
        Bin {
            link: link.to_owned(),
            capacity_bps: capacity,
            cross_bps: cross,
            flow_bps: BTreeMap::new(),
        }
    }

    fn told(end: f64, value: f64, range: f64) -> Measurement {
        Measurement {
            end_s: Some(end),
            value_bps: Some(value),
            low_bps: Some(value - range),
            high_bps: Some(value + range),
            bytes: 100.0,
            other_bytes: 25.0,
        }
    }

    #[test]
    fn a_tool_is_read_at_every_tenth_and_compared_with_the_second_around() {
        // The near link leaves 80 of 100, and from 2 s on the far one 30 of 160: 4 s in all.
        let near = (0..40).map(|_| bin("near", 100.0, 20.0));
        let far = (0..40).map(|index| bin("far", 160.0, if index < 20 { 40.0 } else { 130.0 }));
        let run = Run {
            sim_seconds: 4.0,
            truth: near.chain(far).collect(),
            tools: vec![Tool {
                steps_s: vec![2.0],
                measurements: vec![told(1.45, 80.0, 1.0), told(3.05, 33.0, 2.0)],
            }],
            flows: Vec::new(),
        };
        let score = score(&run).expect("a tool");
        // Instants from 1 to 3.4 s. From 1.5 s on something is told: 20 of 25.
        assert!((score.told - 0.8).abs() < 1e-9, "{score:?}");
        // Until 1.5 s the second around is right; at 2 s it has half of the change. The second
        // value is 3 of 160 too high, and its range misses.
        assert_eq!(score.coverage, Some(0.05));
        // The error after the step is 50 of 160 until 3.1 s.
        assert!(
            (score.lag_s.expect("a step") - 1.1).abs() < 1e-9,
            "{score:?}"
        );
        assert!((score.extra_bps - 500.0).abs() < 1e-9, "{score:?}");
        assert!(score.error_p90 == Some(50.0 / 160.0), "{score:?}");
    }

    #[test]
    fn what_the_flow_takes_itself_is_free_for_it() {
        let with_flows = |_| Bin {
            flow_bps: [("main".to_owned(), 30.0), ("other".to_owned(), 10.0)].into(),
            ..bin("link", 100.0, 20.0)
        };
        let run = Run {
            sim_seconds: 3.0,
            truth: (0..30).map(with_flows).collect(),
            tools: Vec::new(),
            flows: vec![Flow {
                name: "main".to_owned(),
                steps_s: Vec::new(),
                told: vec![Told { t: 0.5, bps: 77.0 }],
            }],
        };
        let score = score_stack(&run).expect("a flow");
        assert_eq!(
            (score.bias, score.told, score.coverage),
            (Some(0.07), 1.0, None)
        );
    }

    #[test]
    fn a_quantile_lies_between_its_neighbours() {
        let values = vec![4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(values.clone(), 0.5), Some(2.5));
        assert_eq!(quantile(values, 1.0), Some(4.0));
        assert_eq!(quantile(Vec::new(), 0.5), None);
        let never = f64::INFINITY;
        assert_eq!(quantile(vec![1.0, never, never], 0.5), Some(never));
        assert_eq!(quantile(vec![1.0, 2.0, never], 0.5), Some(2.0));
        assert_eq!(quantile(vec![never; 2], 0.5), Some(never));
    }

    #[test]
    fn nothing_told_is_no_error() {
        let run = Run {
            sim_seconds: 3.0,
            truth: (0..30).map(|_| bin("link", 9.0, 1.0)).collect(),
            tools: vec![Tool {
                steps_s: Vec::new(),
                measurements: vec![Measurement::default()],
            }],
            flows: Vec::new(),
        };
        let score = score(&run).expect("a tool");
        assert_eq!(
            (score.told, score.error_p50, score.lag_s),
            (0.0, None, None)
        );
    }
}
