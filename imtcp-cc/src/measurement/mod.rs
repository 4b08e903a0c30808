//! The measurement of available bandwidth. This is the second room of the pipe. Echoes and gaps go
//! in, and estimates and the next search range come out.
//!
//! [`range`] and [`plan`] say at which rates to send, and [`record`] holds what then happened. The
//! paper's estimator is [`classic`]. It uses [`pairs`], [`trend`], [`choice`], [`fit`] and
//! [`last_values`]. [`bootstrap`] gives it its first range by [`cprobe`]. The default estimator is
//! [`statistical`]. [`Measuring`] feeds both. The scheduler decides when a stream is sent.

mod bootstrap;
mod choice;
pub(crate) mod classic;
pub(crate) mod cprobe;
mod delivered;
mod fit;
mod judged;
mod last_values;
mod measuring;
pub(crate) mod pairs;
pub(crate) mod plan;
mod policed;
pub(crate) mod range;
pub(crate) mod record;
mod reports;
mod start;
mod statistical;
mod step;
mod trend;

pub(crate) use judged::Judged;
pub(crate) use measuring::{Findings, Measuring, MeasuringSettings};
pub(crate) use step::Step;

use crate::units::Bandwidth;
use range::SearchRange;

/// The largest number of packets of a stream that [`crate::Config`] allows (N of IM 3.2.3).
pub(crate) const MAX_STREAM_PACKETS: u32 = 64;

/// The largest number of sub-ranges that [`crate::Config`] allows (k of IM 3.2.2).
pub(crate) const MAX_SUB_RANGES: u32 = 16;

/// An estimator says in which range to search for the available bandwidth. Two estimators run side
/// by side on the same packets. One of them drives: its ranges are searched.
trait Estimator {
    /// The range to search next. It is no higher than `bound`, which is the capacity if it is
    /// known. `None` before the first train.
    fn next_range(&self, bound: Option<Bandwidth>) -> Option<SearchRange>;

    /// Forgets everything, for a path that has changed.
    fn reset(&mut self);
}
