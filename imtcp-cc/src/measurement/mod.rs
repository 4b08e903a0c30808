//! The measurement of available bandwidth: pure arithmetic over numbers and times.
//!
//! [`range`] and [`plan`] say which rates to send at, and [`record`] holds what then happened. The
//! paper's estimator is [`classic`]; it uses [`pairs`], [`trend`], [`choice`], [`fit`] and
//! [`store`]. [`bootstrap`] gives it its first range by [`cprobe`]. The default estimator is
//! [`statistical`]. Both implement [`Estimator`]. The scheduler decides when and whether to send.

pub mod bootstrap;
pub mod choice;
pub mod classic;
pub mod cprobe;
pub mod fit;
pub mod pairs;
pub mod plan;
pub mod range;
pub mod record;
pub mod statistical;
pub mod store;
pub mod trend;

use crate::ack::EchoGap;
use crate::estimate::{Estimate, EstimatorKind};
use crate::units::{Bandwidth, Bytes, Timestamp};
use range::SearchRange;
use record::MeasurementRecord;
use std::fmt::Debug;

/// The largest N, packets per stream, that [`crate::Config`] allows.
pub const MAX_STREAM_PACKETS: u32 = 64;

/// The largest k, number of sub-ranges, that [`crate::Config`] allows.
pub const MAX_SUB_RANGES: u32 = 16;

/// Makes estimates of the available bandwidth from what was sent and echoed.
///
/// Several estimators run side by side on the same packets. One of them drives: its [`next_range`]
/// decides the rates of the streams. The others shadow it and see records of ranges that they did
/// not ask for. So an estimator may only assume that a record's range is the one really probed.
///
/// [`next_range`]: Estimator::next_range
pub trait Estimator: Debug + Send + Sync {
    /// Which estimator this is.
    fn kind(&self) -> EstimatorKind;

    /// The first train of back-to-back packets came in at the rate `cprobe` (IM 3.2.1).
    fn on_first_train(&mut self, cprobe: Bandwidth);

    /// The capacity of the tight link was learnt or revised. Full packets are `packet` bytes long
    /// on the wire.
    fn on_capacity(&mut self, capacity: Bandwidth, packet: Bytes);

    /// Two clean echoes followed each other, whether or not their packets belong to a stream.
    fn on_gap(&mut self, gap: &EchoGap);

    /// All streams of a measurement were sent, and all their packets were acknowledged or lost.
    /// `None` if nothing can be said of the measurement.
    fn on_measurement(&mut self, record: &MeasurementRecord) -> Option<Estimate>;

    /// An estimate from all gaps up to `now`, from an estimator that does not wait for
    /// measurements.
    fn report(&mut self, now: Timestamp) -> Option<Estimate>;

    /// The range to search next, no higher than `bound` (the capacity, if it is known). `None`
    /// before the first train.
    fn next_range(&self, bound: Option<Bandwidth>) -> Option<SearchRange>;

    /// Forgets everything, as when the path changes.
    fn reset(&mut self);
}
