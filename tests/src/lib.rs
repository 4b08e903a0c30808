//! Real quiche endpoints over simulated paths in virtual time, with a known truth.

pub mod engine;
pub mod network;
pub mod profile;
pub mod random;
pub mod scenario;
pub mod traffic;
pub mod truth;
