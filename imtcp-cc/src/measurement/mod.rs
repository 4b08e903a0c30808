//! The measurement of available bandwidth: pure arithmetic over numbers and times.
//!
//! [`range`] and [`plan`] say which rates to send at, [`record`] holds what then happened,
//! [`trend`] judges it. When and whether to send is the scheduler's business.

pub mod choice;
pub mod cprobe;
pub mod fit;
pub mod pairs;
pub mod plan;
pub mod range;
pub mod record;
pub mod store;
pub mod trend;

/// The longest stream, N, that [`crate::Config`] allows.
pub const MAX_STREAM_PACKETS: u32 = 64;

/// The most sub-ranges, k, that [`crate::Config`] allows.
pub const MAX_SUB_RANGES: u32 = 16;
