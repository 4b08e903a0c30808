//! How far a promise's own forecasts can be trusted.
//!
//! - *Calibration*: of the times that [`Promise::can_promise`] said "p", the share p should have
//!   been kept. The application asks at the beginning of a slot, requires that rate, and sees what
//!   it gets.
//! - *Warnings*: a status of `AtRisk` or `Broken` counts if it comes at least half a slot before
//!   the slot's end. Precision is the share of slots with a warning that were missed. Recall is the
//!   share of missed slots that had a warning.
//!
//! [`Promise::can_promise`]: imtcp_cc::promise::Promise::can_promise

mod drawn;
mod survey;
mod tally;

pub use drawn::drawn;
pub use survey::{Asked, Case, Plan, Survey, observe, survey};
pub use tally::{BINS, Bin, LEAST, Reliability, Warnings};
