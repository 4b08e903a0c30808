//! quiche with a seam: congestion controllers of the application's own ([`cc`]), a clock that can
//! be set ([`clock`]) and randomness that can be seeded ([`entropy`]).
//!
//! Everything else is the [published crate](https://docs.rs/quiche/0.30.0/quiche/), whose source is
//! patched when this crate is built.

#![allow(clippy::all, reason = "upstream's source; this project's own modules set theirs again")]
#![allow(missing_docs, mismatched_lifetime_syntaxes, reason = "upstream's source")]
#![allow(rustdoc::all, reason = "upstream's documentation links to pages of its own")]

// The build script copies these beside upstream's files, whose module tree they are compiled in.
// Named here for `cargo fmt` alone, which does not look into an included file.
#[cfg(false)]
mod ack_frequency;
#[cfg(false)]
mod cc;
#[cfg(false)]
mod clock;
#[cfg(false)]
mod coalesced;
#[cfg(false)]
mod ecn;
#[cfg(false)]
mod entropy;
#[cfg(false)]
mod extension_params;
#[cfg(false)]
mod key_update;
#[cfg(false)]
#[path = "recovery/congestion/recovery/plugin/mod.rs"]
mod plugin;
#[cfg(false)]
mod receive_timestamps;

// Not in a unit-test build, which `--all-targets` makes: upstream's unit tests need its
// dev-dependencies and files, and are run by `cargo xtask quiche-tests`.
#[cfg(not(test))]
include!(concat!(env!("OUT_DIR"), "/quiche/src/lib.rs"));
