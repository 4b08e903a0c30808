//! The seam, exercised from outside: two real connections in virtual time over a link of a fixed
//! delay, a small scripted controller on the server. No test looks at the real clock.

mod ack_frequency;
mod allocations;
mod choice;
mod control;
mod controller;
mod credit;
mod determinism;
mod ecn;
mod feedback;
mod gate;
mod handshake;
mod identifiers;
mod key_update;
mod liveness;
mod marks;
mod padded_ping;
mod paths;
#[cfg(feature = "qlog")]
mod qlog;
mod rebinding;
mod receive_timestamps;
mod stall;
mod timers;
mod under_load;
mod world;
