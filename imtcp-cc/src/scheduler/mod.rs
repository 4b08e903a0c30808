//! When packets leave: probe streams through the control unit, everything else through the pacer,
//! and both only as far as the guard lets them depart from the times that packets would have
//! without measuring.

pub mod budget;
pub mod control_unit;
pub mod guard;
pub mod pacer;

pub use budget::{Budget, Lateness};
pub use control_unit::{ControlUnit, Ready, Transition, Verdict};
pub use guard::{Guard, Held, MeanRate};
pub use pacer::{Pace, Pacer, PacingPlan};
