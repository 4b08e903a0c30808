//! Makes the patched quiche source out of the published one.
//!
//! Used by the `quiche` crate's build script and by the tools that test the series. Three steps:
//! [`published_source`] finds the untouched crate, [`Series::read`] reads the patches, and
//! [`assemble`] writes the patched tree with this project's own files in it.

mod assemble;
mod error;
mod included;
mod published;
mod series;

pub use assemble::{assemble, copy_tree};
pub use error::{Conflict, Error};
pub use included::includable;
pub use published::{SOURCE_VARIABLE, published_source};
pub use series::Series;

/// The result of every step.
pub type Result<T> = std::result::Result<T, Error>;
