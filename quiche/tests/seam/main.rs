//! The seam, exercised from outside: two real connections in virtual time over a link of a fixed
//! delay, a small scripted controller on the server. No test looks at the real clock.

mod ack_frequency;
mod allocations;
mod choice;
mod controller;
mod determinism;
mod feedback;
mod gate;
mod liveness;
#[cfg(feature = "qlog")]
mod qlog;
mod receive_timestamps;
mod stall;
mod timers;
mod world;
