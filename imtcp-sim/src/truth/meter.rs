//! Work that crossed a hop, by owner, in bins of 100 ms.

use crate::network::{FlowId, Owner, ToolId};
use crate::profile::Profile;
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// The width of a bin.
pub const BIN: Duration = Duration::from_millis(100);
const BIN_NANOS: u64 = 100_000_000;
/// Bit-nanoseconds in a byte.
const WORK_OF_BYTE: u64 = 8_000_000_000;

/// When a bin begins.
pub fn bin_start(index: usize) -> Timestamp {
    Timestamp::from_nanos((index as u64).saturating_mul(BIN_NANOS))
}

/// Work that crossed a hop. A packet that straddles an edge between bins is split in proportion to
/// the transmitter's work on either side, so that every bit is counted once.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    cross: Bins,
    flows: Vec<Bins>,
    tools: Vec<Bins>,
}

type Bins = Vec<u64>;

impl Meter {
    /// A packet of `owner` was transmitted during `span`; `work` is all of its bit-nanoseconds.
    pub fn record(
        &mut self,
        owner: Owner,
        rate: &Profile,
        span: (Timestamp, Timestamp),
        work: u64,
    ) {
        let bins = self.bins_mut(owner);
        let (start, finish) = span;
        let mut from = start;
        let mut left = work;
        let mut index = bin_of(start);
        while bin_start(index + 1) < finish {
            let edge = bin_start(index + 1);
            let part = rate.work_between(from, edge).min(left);
            add(bins, index, part);
            left -= part;
            from = edge;
            index += 1;
        }
        add(bins, index, left);
    }

    /// The mean rate of `owner` within a bin.
    pub fn rate(&self, owner: Owner, bin: usize) -> Bandwidth {
        let work = self.bins(owner).and_then(|bins| bins.get(bin)).copied();
        Bandwidth::from_bps(work.unwrap_or(0) / BIN_NANOS)
    }

    /// All bytes of `owner`; exact, since no bit is lost between bins.
    pub fn total_bytes(&self, owner: Owner) -> u64 {
        let total: u128 = self
            .bins(owner)
            .map_or(0, |bins| bins.iter().map(|work| u128::from(*work)).sum());
        u64::try_from(total / u128::from(WORK_OF_BYTE)).unwrap_or(u64::MAX)
    }

    fn bins(&self, owner: Owner) -> Option<&Bins> {
        match owner {
            Owner::Cross => Some(&self.cross),
            Owner::Flow(FlowId(flow)) => self.flows.get(flow),
            Owner::Tool(ToolId(tool)) => self.tools.get(tool),
        }
    }

    fn bins_mut(&mut self, owner: Owner) -> &mut Bins {
        match owner {
            Owner::Cross => &mut self.cross,
            Owner::Flow(FlowId(flow)) => of(&mut self.flows, flow),
            Owner::Tool(ToolId(tool)) => of(&mut self.tools, tool),
        }
    }
}

fn of(all: &mut Vec<Bins>, index: usize) -> &mut Bins {
    if all.len() <= index {
        all.resize_with(index + 1, Vec::new);
    }
    &mut all[index]
}

fn bin_of(at: Timestamp) -> usize {
    usize::try_from(at.as_nanos() / BIN_NANOS).unwrap_or(usize::MAX)
}

fn add(bins: &mut Bins, index: usize, work: u64) {
    if bins.len() <= index {
        bins.resize(index + 1, 0);
    }
    bins[index] = bins[index].saturating_add(work);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::work_of;
    use imtcp_cc::units::Bytes;

    #[test]
    fn a_straddling_packet_is_split_in_proportion() {
        // 1250 bytes at 10 Mbit/s, from 99.75 ms to 100.75 ms: a quarter before the edge.
        let mut meter = Meter::default();
        let rate = Profile::constant(Bandwidth::from_mbps(10));
        let start = Timestamp::from_nanos(99_750_000);
        let finish = Timestamp::from_nanos(100_750_000);
        let work = work_of(Bytes::new(1250));
        meter.record(Owner::Cross, &rate, (start, finish), work);
        // 2500 bits and 7500 bits in a tenth of a second.
        assert_eq!(meter.rate(Owner::Cross, 0), Bandwidth::from_bps(25_000));
        assert_eq!(meter.rate(Owner::Cross, 1), Bandwidth::from_bps(75_000));
        assert_eq!(meter.total_bytes(Owner::Cross), 1250);
    }

    #[test]
    fn owners_are_kept_apart() {
        let mut meter = Meter::default();
        let rate = Profile::constant(Bandwidth::from_mbps(10));
        let span = (Timestamp::ZERO, Timestamp::from_nanos(1_000_000));
        let flow = Owner::Flow(FlowId(2));
        meter.record(flow, &rate, span, work_of(Bytes::new(1250)));
        assert_eq!(meter.total_bytes(flow), 1250);
        assert_eq!(meter.total_bytes(Owner::Cross), 0);
        assert_eq!(meter.total_bytes(Owner::Flow(FlowId(0))), 0);
    }
}
