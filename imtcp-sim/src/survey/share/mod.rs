//! What a bulk transfer would get, as a flow's controller says it while the flow sends whatever it
//! sends, against what a bulk transfer in the flow's place does get.
//!
//! [`run`] runs a path twice: with its own source, whose controller is asked, and with bulk.
//! [`Tally`] sums up a class. Values are judged as factors: half of the truth is as far off as
//! twice the truth.

mod run;
mod tally;

pub use run::{Instant, Reader, Shared, run};
pub use tally::{Column, Score, Tally, score};
