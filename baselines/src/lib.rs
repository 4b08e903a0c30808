//! What this project is compared with.
//!
//! - [`estimators`]: bandwidth estimators of the literature, each a file, behind one small trait.
//!   They watch a connection and change nothing of it.
//! - [`controllers`]: congestion controllers of others, for the seam of the workspace's quiche.
//! - [`tools`]: tools of others that measure with packets of their own, as machines without input
//!   and output.
//! - [`observe`]: lets estimators watch any connection whose controller is behind that seam.
//!
//! Nothing here reads a clock or is used by the library itself. Random numbers follow from seeds.

pub mod controllers;
pub mod estimators;
pub mod observe;
pub mod tools;

/// The code in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
