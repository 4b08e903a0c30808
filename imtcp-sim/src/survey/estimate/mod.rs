//! Estimates on drawn paths, against the truth, on a grid of time that no estimator chooses.
//!
//! [`run`] runs a path and reads at every tenth of a second what an application would read then:
//! from this project's estimator and from others ([`Reader`]). [`score`] compares the readings
//! with the truth of the second around. [`Tally`] sums up a class, and [`bars`] says what it has to
//! reach.

pub mod bars;
mod grid;
mod measures;
mod run;
mod score;
mod tally;
mod truth;

pub use grid::{Instant, Reading, STEP};
pub use measures::{Measure, percent};
pub(crate) use run::scored;
pub use run::{Read, Reader, Surveyed, run};
pub use score::{Score, score};
pub use tally::{Column, Tally};
