//! How full the links were, and who filled them.

use super::rounded;
use super::truth::{available_on, bins, capacity, forward, owners};
use crate::network::{FlowId, Owner};
use crate::simulation::Simulation;
use crate::truth::{BIN, bin_start};
use imtcp_cc::units::{Bandwidth, Timestamp};
use serde::Serialize;

/// Use is averaged over so many tenths of a second.
const AVERAGED: usize = 10;
/// A link is full when so much of a second is used.
const FULL: f64 = 0.9;

/// How full a link was, from the servers to the clients.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkUse {
    /// The link's name.
    pub link: String,
    /// What crossed, as a share of the capacity, over the whole run.
    pub used: f64,
    /// The mean rate at which IP packets crossed, cross traffic and tools among them.
    pub carried_bps: u64,
    /// The end of the first second of which 90 % were used, in seconds; none if there was none.
    pub full_after_s: Option<f64>,
    /// Packets that the queue or a policer dropped.
    pub dropped_packets: u64,
    /// The same as a share of the packets that came to the link.
    pub dropped: f64,
}

impl LinkUse {
    /// Of all links.
    pub(super) fn of(simulation: &Simulation<'_>) -> Vec<Self> {
        let links = 0..simulation.scenario().links.len();
        links.map(|link| Self::one(simulation, link)).collect()
    }

    fn one(simulation: &Simulation<'_>, link: usize) -> Self {
        let scenario = simulation.scenario();
        let hop = forward(simulation, link);
        let owners: Vec<Owner> = owners(scenario, link).collect();
        let used = |bin| {
            let rates = owners.iter().map(|owner| hop.meter().rate(*owner, bin));
            rates.map(Bandwidth::as_bps).sum()
        };
        let rows: Vec<(u64, u64)> = (0..bins(scenario))
            .map(|bin| (used(bin), capacity(hop, bin)))
            .collect();
        let counters = hop.counters();
        let dropped =
            counters.overflowed.packets + counters.managed.packets + counters.policed.packets;
        Self {
            link: scenario.links[link].name.clone(),
            used: rounded(share(&rows).unwrap_or(0.0)),
            carried_bps: rows.iter().map(|row| row.0).sum::<u64>() / (rows.len().max(1) as u64),
            full_after_s: full_after(&rows).map(|bin| rounded(bin_start(bin).as_secs_f64())),
            dropped_packets: dropped,
            dropped: rounded(dropped as f64 / (counters.offered.packets.max(1) as f64)),
        }
    }
}

/// What was used, as a share of what could have been.
fn share(rows: &[(u64, u64)]) -> Option<f64> {
    let sum = |(used, capacity), row: &(u64, u64)| (used + row.0, capacity + row.1);
    let (used, capacity) = rows.iter().fold((0, 0), sum);
    (capacity > 0).then(|| used as f64 / capacity as f64)
}

/// The bin behind the first second that was full.
fn full_after(rows: &[(u64, u64)]) -> Option<usize> {
    let mut seconds = rows.windows(AVERAGED);
    let first = seconds.position(|second| share(second).is_some_and(|share| share >= FULL))?;
    Some(first + AVERAGED)
}

/// What a flow carried of what a path left for it.
pub(super) fn share_of_left(
    simulation: &Simulation<'_>,
    flow: FlowId,
    life: (Timestamp, Timestamp),
) -> Option<f64> {
    let all = bins(simulation.scenario());
    let bin =
        |at: Timestamp| usize::try_from(u128::from(at.as_nanos()) / BIN.as_nanos()).unwrap_or(all);
    let (first, last) = (bin(life.0).min(all), bin(life.1).min(all));
    let of_link = |link| {
        let hop = forward(simulation, link);
        let left = available_on(simulation, flow, link, all);
        let left: f64 = left[first..last]
            .iter()
            .copied()
            .map(Bandwidth::as_bps_f64)
            .sum();
        let carried = (first..last).map(|bin| hop.meter().rate(Owner::Flow(flow), bin));
        let carried: f64 = carried.map(Bandwidth::as_bps_f64).sum();
        (left > 0.0).then(|| rounded(carried / left))
    };
    let links = simulation.network().route(flow).links();
    links.filter_map(of_link).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_full_after_the_first_second_of_which_nine_tenths_were_used() {
        let mut rows = vec![(0, 10); 5];
        rows.extend([(10, 10); 30]);
        // The second that ends with bin 13 has one idle bin of ten.
        assert_eq!(full_after(&rows), Some(14));
        assert_eq!(full_after(&rows[..13]), None);
        assert_eq!(share(&rows), Some(300.0 / 350.0));
    }
}
