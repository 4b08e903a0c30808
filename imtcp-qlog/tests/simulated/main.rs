//! The library and its program on the logs of simulated connections.

mod conformance;
mod logged;
mod replayed;
mod rules;
mod summed_up;
mod views;
