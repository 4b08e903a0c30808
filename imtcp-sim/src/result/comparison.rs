//! The columns of a sweep: a value of each run, and what the runs of a cell come to.

use super::{FlowResult, RivalShare, RunResult, learnt};
use crate::scenario::{Baseline, Column, Sweep, Value};
use crate::score::{Crossings, NEAR, Reading, crossings, found, shares_of_truth};
use crate::statistics::{jain, mean, median, quantile_of_sorted};
use std::time::Duration;

/// One run of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRun {
    /// The cell: the points' names, axis by axis.
    pub names: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// A value for each column. None where the column has no value here, infinite for never.
    pub values: Vec<Option<f64>>,
}

/// The runs of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedCell {
    /// The cell: the points' names, axis by axis.
    pub names: Vec<String>,
    /// For each column what its runs come to.
    pub values: Vec<Option<Compared>>,
}

/// A column's value in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The mean over the seeds for what is a share of slots, and the median for all else.
    pub middle: f64,
    /// The 95th percentile over the seeds.
    pub p95: f64,
    /// The difference from the baseline, as a share of the baseline's value. None for the baseline
    /// itself, and where the baseline has no value or zero.
    pub change: Option<f64>,
}

impl ComparedRun {
    /// What the columns show of a run.
    pub fn of(names: Vec<String>, columns: &[Column], result: &RunResult) -> Self {
        let values = columns.iter().map(|column| value(column, result));
        Self {
            names,
            seed: result.seed,
            values: values.collect(),
        }
    }
}

impl ComparedCell {
    /// The cells, in the runs' order.
    pub fn of(sweep: &Sweep, runs: &[ComparedRun]) -> Vec<Self> {
        let cells = runs.chunk_by(|one, next| one.names == next.names);
        let mut cells: Vec<Self> = cells.map(|runs| Self::one(&sweep.columns, runs)).collect();
        if let Some(baseline) = &sweep.baseline {
            let without_change = cells.clone();
            for cell in &mut cells {
                cell.compare(sweep, baseline, &without_change);
            }
        }
        cells
    }

    fn one(columns: &[Column], runs: &[ComparedRun]) -> Self {
        let of_column = |index: usize| {
            let mut values: Vec<f64> = runs.iter().filter_map(|run| run.values[index]).collect();
            values.sort_unstable_by(f64::total_cmp);
            let middle = match columns[index].value {
                Value::Kept | Value::Overshoot | Value::LossShare | Value::Ended => {
                    let sum: f64 = values.iter().sum();
                    (!values.is_empty()).then(|| sum / values.len() as f64)
                }
                Value::Rise | Value::Fall => values.last().copied(),
                _ => median(values.clone()),
            };
            Some(Compared {
                middle: middle?,
                p95: quantile_of_sorted(&values, 0.95)?,
                change: None,
            })
        };
        Self {
            names: runs.first().map_or(Vec::new(), |run| run.names.clone()),
            values: (0..columns.len()).map(of_column).collect(),
        }
    }

    /// Fills in the changes against the cell that differs by the baseline's axis alone.
    fn compare(&mut self, sweep: &Sweep, baseline: &Baseline, cells: &[Self]) {
        let mut names = self.names.clone();
        names[baseline.axis].clone_from(&baseline.point);
        let Some(base) = cells.iter().find(|cell| cell.names == names) else {
            return;
        };
        if base.names == self.names {
            return;
        }
        for (index, column) in sweep.columns.iter().enumerate() {
            if let (true, Some(value), Some(base)) =
                (column.change, &mut self.values[index], base.values[index])
            {
                let change = value.middle / base.middle - 1.0;
                value.change = Some(change).filter(|change| change.is_finite());
            }
        }
    }
}

fn value(column: &Column, result: &RunResult) -> Option<f64> {
    let mut flows = result.flows.iter().filter(|flow| {
        let wanted = column.flow.as_ref();
        let is_of_all = wanted.is_none() && column.value == Value::Jain;
        is_of_all
            || wanted == Some(&flow.name)
            || (flow.group.is_some() && wanted == flow.group.as_ref())
    });
    let mut first = || flows.next();
    match column.value {
        Value::Goodput => mean(flows.map(|flow| flow.goodput_bps as f64 / 1e6)),
        Value::GoodputRatio => {
            let beside = column.beside.as_deref()?;
            let other = result.flow(beside)?.goodput_bps as f64;
            Some(first()?.goodput_bps as f64 / other).filter(|ratio| ratio.is_finite())
        }
        Value::Jain => jain(flows.map(|flow| flow.goodput_bps as f64)).map(|index| index * 100.0),
        Value::Completion => mean(flows.filter_map(|flow| {
            let start = flow.reference.life.0.as_secs_f64();
            Some(flow.completed_s? - start)
        })),
        Value::Lost => sum(flows.map(|flow| flow.lost_packets as f64)),
        Value::LossShare => {
            let count = |(lost, sent), flow: &FlowResult| {
                (lost + flow.lost_packets, sent + flow.sent_packets)
            };
            let (lost, sent) = flows.fold((0, 0), count);
            (sent > 0).then(|| lost as f64 / sent as f64 * 100.0)
        }
        Value::Ended => mean(flows.map(|flow| f64::from(flow.ended.is_some()) * 100.0)),
        Value::RivalsOfLeft => of_rivals(first()?, RivalShare::of_left, mean_of),
        Value::WorstRivalOfLeft => of_rivals(first()?, RivalShare::of_left, least_of),
        Value::RivalsOfDue => of_rivals(first()?, RivalShare::of_due, mean_of),
        Value::Sent => sum(flows.map(|flow| flow.sent_bytes as f64 / 1e6)),
        Value::PacketSize => {
            let count = |(bytes, sent), flow: &FlowResult| {
                (bytes + flow.sent_bytes, sent + flow.sent_packets)
            };
            let (bytes, sent) = flows.fold((0, 0), count);
            (sent > 0).then(|| bytes as f64 / sent as f64)
        }
        Value::CrossDelay => result.cross_delays.first().map(|delay| delay.mean_ms),
        Value::Kept => Some(first()?.promise.as_ref()?.all.kept_share * 100.0),
        Value::Overshoot => Some((first()?.promise.as_ref()?.all.mean - 1.0) * 100.0),
        Value::OvershootP95 => overshoot_p95(first()?),
        Value::TimeToFind => {
            let flow = first()?;
            let found = found(&readings(flow), &flow.reference, NEAR).into_iter();
            let seconds = found.map(|at| at.map_or(f64::INFINITY, |at| at.as_secs_f64()));
            seconds.max_by(f64::total_cmp)
        }
        Value::Rise => longest(&column_crossings(column, first()?)?.up),
        Value::Fall => longest(&column_crossings(column, first()?)?.down),
        Value::BurstDelay => first()?.burst_delay_p95_ms,
        Value::Reading => {
            let flow = first()?;
            median(shares_of_truth(&readings(flow), &flow.reference)).map(|share| share * 100.0)
        }
        Value::Error => Some(first()?.score.mare? * 100.0),
    }
}

/// How soon a flow's estimates cross the column's rung.
fn column_crossings(column: &Column, flow: &FlowResult) -> Option<Crossings> {
    let rung_bps = column.rung_bps? as f64;
    Some(crossings(&flow.floors(), &flow.reference, rung_bps))
}

/// In seconds; infinite for never.
fn longest(times: &[Option<Duration>]) -> Option<f64> {
    let seconds = |time: &Option<Duration>| time.map_or(f64::INFINITY, |time| time.as_secs_f64());
    times.iter().map(seconds).max_by(f64::total_cmp)
}

fn of_rivals(
    flow: &FlowResult,
    share: fn(&RivalShare) -> Option<f64>,
    of: fn(Vec<f64>) -> Option<f64>,
) -> Option<f64> {
    let rivals = flow.promise.as_ref()?.rivals.iter();
    Some(of(rivals.filter_map(share).collect())? * 100.0)
}

fn mean_of(values: Vec<f64>) -> Option<f64> {
    mean(values.into_iter())
}

fn least_of(values: Vec<f64>) -> Option<f64> {
    values.into_iter().min_by(f64::total_cmp)
}

fn overshoot_p95(flow: &FlowResult) -> Option<f64> {
    let promise = flow.promise.as_ref()?;
    let slots = promise.slots.iter();
    let mut ratios: Vec<f64> = slots
        .map(|slot| slot.achieved_bps as f64 / promise.required_bps as f64)
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    Some((quantile_of_sorted(&ratios, 0.95)? - 1.0) * 100.0)
}

fn readings(flow: &FlowResult) -> Vec<Reading> {
    learnt::readings(&flow.estimates, &flow.snapshots)
}

fn sum(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum())
}
