//! When packets leave: probe streams through the control unit, everything else through the pacer.

pub mod control_unit;
pub mod pacer;

pub use control_unit::{ControlUnit, Ready, Transition, Verdict};
pub use pacer::{Backlog, Pace, Pacer, PacingPlan};
