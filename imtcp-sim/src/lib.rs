//! Real quiche endpoints over simulated paths in virtual time, with a known truth.

mod application;
mod bounded;
pub mod calibration;
pub mod endpoint;
pub mod engine;
pub mod network;
pub mod output;
pub mod profile;
pub mod random;
pub mod record;
pub mod result;
pub mod run;
pub mod scenario;
pub mod score;
pub mod simulation;
pub mod statistics;
pub mod survey;
pub mod tool;
pub mod trace;
pub mod traffic;
pub mod truth;
