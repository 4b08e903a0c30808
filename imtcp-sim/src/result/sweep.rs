//! The runs of a sweep, and what they come to.

use super::promise::{PromiseResult, SlotPoint, Slots};

/// One run of one cell.
#[derive(Clone, Debug)]
pub struct SweepRun {
    /// The cell: the points' names, axis by axis.
    pub names: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// What became of the requirement.
    pub promise: PromiseResult,
}

/// The slots of a cell beside so many rivals, all seeds together.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepRow {
    /// The cell.
    pub names: Vec<String>,
    /// Flows beside it.
    pub rivals: usize,
    /// The slots.
    pub slots: Slots,
    /// Achieved / required of each, ascending.
    pub ratios: Vec<f64>,
    /// The share of slots kept by the controller's own count, over the whole run.
    pub reported_share: Option<f64>,
    /// Mean goodput of a rival in bit/s.
    pub rival_bps: Option<f64>,
    /// A rival's fair share in bit/s.
    pub fair_bps: Option<f64>,
    /// The share of that which it lost.
    pub lost_share: Option<f64>,
}

impl SweepRow {
    /// The rows, in the runs' order.
    pub fn of(runs: &[SweepRun]) -> Vec<Self> {
        let mut rows = Vec::new();
        for cell in runs.chunk_by(|one, next| one.names == next.names) {
            let mut numbers: Vec<usize> = cell
                .iter()
                .flat_map(|run| run.promise.by_rivals.iter().map(|beside| beside.rivals))
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            rows.extend(
                numbers
                    .into_iter()
                    .filter_map(|rivals| Self::one(cell, rivals)),
            );
        }
        rows
    }

    fn one(cell: &[SweepRun], rivals: usize) -> Option<Self> {
        let first = cell.first()?;
        let slots = || {
            let all = cell.iter().flat_map(|run| &run.promise.slots);
            all.filter(move |slot| slot.rivals == rivals)
        };
        let required = first.promise.required_bps as f64;
        let mut ratios: Vec<f64> = slots()
            .map(|slot| slot.achieved_bps as f64 / required)
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let had: Vec<f64> = slots()
            .filter_map(|slot: &SlotPoint| slot.rival_bps)
            .map(|bps| bps as f64)
            .collect();
        let rival_bps = (!had.is_empty()).then(|| had.iter().sum::<f64>() / had.len() as f64);
        let beside = cell.iter().flat_map(|run| &run.promise.by_rivals);
        let fair = beside
            .filter(|beside| beside.rivals == rivals)
            .find_map(|beside| beside.fair_bps);
        let fair_bps = fair.map(|bps| bps as f64);
        Some(Self {
            names: first.names.clone(),
            rivals,
            slots: Slots::of(slots(), first.promise.required_bps as f64)?,
            ratios,
            reported_share: reported(cell),
            rival_bps,
            fair_bps,
            lost_share: rival_bps.zip(fair_bps).map(|(had, fair)| 1.0 - had / fair),
        })
    }
}

fn reported(cell: &[SweepRun]) -> Option<f64> {
    let all = cell.iter().filter_map(|run| run.promise.reported);
    let (kept, missed) = all.fold((0, 0), |(kept, missed), run| {
        (kept + run.kept, missed + run.missed)
    });
    (kept + missed > 0).then(|| kept as f64 / (kept + missed) as f64)
}
