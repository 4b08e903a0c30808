//! Tools that measure with packets of their own: when they measure, and how their packets and
//! messages travel.
//!
//! A probe goes forward over the tool's links. A receiver writes down when it comes, and tells the
//! sender when it is asked: question and answer are packets, too, and are sent again if they get
//! lost. In echo mode each probe comes back in a packet of its size.
//!
//! A tool that follows the path has no end. Each of its answers counts as a measurement, from the
//! answer before it on.

mod kind;
mod run;
mod standalone;

pub use kind::Kind;
pub use run::{Measured, Outcome, Runner, Wishes};
