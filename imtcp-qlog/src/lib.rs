//! Reads qlogs: what they say of a connection's measurements, promises and packets.
//!
//! [`read`] goes through a file one record at a time, whatever wrote it. [`summary`] adds up what
//! the records say, [`promises`] does so with those about promises, and [`table`] lists the
//! controller's events one by one.

mod bounds;
pub mod error;
pub mod export;
pub mod page;
pub mod promises;
pub mod qvis;
pub mod read;
pub mod replay;
pub mod series;
pub mod streams;
pub mod summary;
pub mod table;
mod told;
mod whole;
pub mod write;

pub use error::Error;
pub use read::Log;
