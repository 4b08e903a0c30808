//! The search as the paper prints it (IC 3.1, IM 3.2): a Cprobe train, then streams of rising rate.
//!
//! ```text
//! train -> range -> stream 1 .. k, until two in a row do not rise -> choice, fit -> range -> ..
//! ```
//!
//! The parts are those of the inline measurement. Each stream is awaited before the next leaves, so
//! that the early stop saves what it can.

use super::batch::{Batch, Probe};
use super::settings::Settings;
use super::{Ended, Next};
use crate::estimate::Estimate;
use crate::measurement::classic::ClassicEstimator;
use crate::measurement::cprobe;
use crate::measurement::plan::StreamPlan;
use crate::measurement::range::SearchRange;
use crate::measurement::record::{MeasurementRecord, PacketRecord};
use crate::path::ack::EchoCadence;
use crate::units::{Bandwidth, Bytes};

/// The packets of the first train, as in the inline measurement.
const TRAIN_PACKETS: usize = 10;

/// The width of the search range has no bound of its own here (B_m of IM 3.2.6): with the inline
/// measurement's A / (N - 1) a search with N = 10 would never end at alpha = 0.05. IC names none.
const NO_MINIMUM: Bandwidth = Bandwidth::from_bps(1);

/// What the packets on their way are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Under {
    Train,
    Stream(u32),
}

/// The paper's search.
#[derive(Debug)]
pub(super) struct Search {
    packet: Bytes,
    narrow_enough: f64,
    stream_packets: u32,
    continuous: bool,
    under: Under,
    classic: ClassicEstimator,
    record: MeasurementRecord,
    first_rate: Option<Bandwidth>,
    estimate: Option<Estimate>,
    measurements: u32,
}

impl Search {
    pub fn new(settings: &Settings) -> Self {
        let mut record = MeasurementRecord::new(settings.sub_ranges, settings.stream_packets);
        record.set_stream_packets(settings.stream_packets);
        Self {
            packet: settings.packet,
            narrow_enough: settings.narrow_enough,
            stream_packets: settings.stream_packets,
            continuous: settings.continuous,
            under: Under::Train,
            classic: ClassicEstimator::new(NO_MINIMUM),
            record,
            first_rate: None,
            estimate: None,
            measurements: 0,
        }
    }

    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// The rate of the first train.
    pub fn capacity(&self) -> Option<Bandwidth> {
        self.first_rate
    }

    pub fn measurements(&self) -> u32 {
        self.measurements
    }

    /// The first train.
    pub fn open(&mut self) -> Vec<Probe> {
        self.under = Under::Train;
        let probe = Probe {
            offset_ns: 0,
            size: self.packet,
        };
        vec![probe; TRAIN_PACKETS]
    }

    /// All packets of `batch` are back or lost.
    pub fn on_batch(&mut self, batch: &Batch) -> Next {
        match self.under {
            Under::Train => self.on_train(batch),
            Under::Stream(i) => self.on_stream(i, batch),
        }
    }

    fn on_train(&mut self, batch: &Batch) -> Next {
        let Some(rate) = cprobe::rate(batch.packets()) else {
            return Next::paused(self.open());
        };
        self.first_rate = Some(rate);
        Next::paused(self.begin(SearchRange::first(rate)))
    }

    fn on_stream(&mut self, i: u32, batch: &Batch) -> Next {
        self.record.begin_stream(i);
        for packet in batch.packets() {
            let sent = PacketRecord::sent(packet.number, packet.size, packet.sent);
            self.record.on_sent(i, sent);
            if let Some(echo) = packet.echo {
                self.record.on_echo(packet.number, echo);
            }
        }
        if i < self.record.sub_ranges() && !self.classic.may_stop_early(&self.record) {
            return Next::at_once(self.stream(i + 1));
        }
        self.measurements = self.measurements.saturating_add(1);
        let Some(outcome) = self.classic.on_measurement(&self.record) else {
            return Next::paused(self.begin(self.record.range()));
        };
        self.estimate = Some(outcome.estimate);
        if !self.continuous && self.is_narrow(&outcome.estimate, outcome.next_range) {
            return Next::Finished(Ended::Narrow);
        }
        Next::paused(self.begin(outcome.next_range))
    }

    /// upper - lower < alpha * abw of IC 3.1. A value outside the range is a bound, and no result.
    fn is_narrow(&self, estimate: &Estimate, next: SearchRange) -> bool {
        !estimate.flags.out_of_range && next.width() < estimate.available.scaled(self.narrow_enough)
    }

    fn begin(&mut self, range: SearchRange) -> Vec<Probe> {
        let number = u64::from(self.measurements);
        self.record.begin(number, range, EchoCadence::EveryPacket);
        self.stream(1)
    }

    fn stream(&mut self, i: u32) -> Vec<Probe> {
        self.under = Under::Stream(i);
        let (range, k) = (self.record.range(), self.record.sub_ranges());
        let plan = StreamPlan::new(&range, k, i, self.stream_packets, self.packet);
        let offsets = (1..=plan.packets()).filter_map(|j| plan.offset(j));
        let probe = |offset: std::time::Duration| Probe {
            offset_ns: u64::try_from(offset.as_nanos()).unwrap_or(u64::MAX),
            size: self.packet,
        };
        offsets.map(probe).collect()
    }
}
