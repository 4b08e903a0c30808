//! The measurement of available bandwidth: which rates to search, what was sent and echoed, and
//! what follows from it. Second room of the pipe: echoes and gaps go in, estimates and the next
//! search range come out.
//!
//! [`range`] and [`plan`] say which rates to send at, and [`record`] holds what then happened. The
//! paper's estimator is [`classic`]; it uses [`pairs`], [`trend`], [`choice`], [`fit`] and
//! [`last_values`]. [`bootstrap`] gives it its first range by [`cprobe`]. The default estimator is
//! [`statistical`]. [`Measuring`] feeds both. When a stream is sent is the scheduler's affair.

mod bootstrap;
mod choice;
mod classic;
mod cprobe;
mod delivered;
mod fit;
mod last_values;
mod measuring;
pub(crate) mod pairs;
pub(crate) mod plan;
pub(crate) mod range;
mod record;
mod reports;
mod statistical;
mod step;
mod trend;

pub(crate) use measuring::{Findings, Measuring, MeasuringSettings};
pub(crate) use step::Step;

use crate::units::Bandwidth;
use range::SearchRange;

/// The largest N, packets per stream, that [`crate::Config`] allows.
pub(crate) const MAX_STREAM_PACKETS: u32 = 64;

/// The largest k, number of sub-ranges, that [`crate::Config`] allows.
pub(crate) const MAX_SUB_RANGES: u32 = 16;

/// Says where to look for the available bandwidth. Several estimators run side by side on the same
/// packets. One of them drives: its ranges are searched.
trait Estimator {
    /// The range to search next, no higher than `bound` (the capacity, if it is known). `None`
    /// before the first train.
    fn next_range(&self, bound: Option<Bandwidth>) -> Option<SearchRange>;

    /// Forgets everything, as when the path changes.
    fn reset(&mut self);
}
