//! Holds the version of the upstream crate; see `Cargo.toml`.
