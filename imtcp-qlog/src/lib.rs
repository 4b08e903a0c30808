//! What a server's qlog says of its measurements and promises.
//!
//! [`sequence`] splits a file into records, [`event`] knows which of them matter, [`summary`] adds
//! them up, [`promises`] does so with those about promises, and [`table`] lists them one by one.

pub mod error;
pub mod event;
pub mod promises;
pub mod sequence;
pub mod summary;
pub mod table;

pub use error::Error;
pub use event::{Log, open};
