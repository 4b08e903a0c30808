//! What a connection leaves to later connections over the same path.

use crate::units::Bandwidth;
use std::time::Duration;

/// What was known of a path when a connection ended. It is plain data, so that an application can
/// store it or hand it to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedPath {
    /// What was available, in bits of IP packets per second.
    pub available: Bandwidth,
    /// The least round trip.
    pub least_rtt: Duration,
}
