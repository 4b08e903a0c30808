//! What a server's qlog says of its measurements.
//!
//! [`sequence`] splits a file into records, [`event`] knows which of them matter, [`summary`] adds
//! them up and [`table`] lists them one by one.

pub mod error;
pub mod event;
pub mod sequence;
pub mod summary;
pub mod table;

pub use error::Error;
pub use event::{Log, open};
