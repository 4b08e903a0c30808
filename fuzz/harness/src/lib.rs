//! What the fuzz targets run. Each target is a function of bytes that panics when something is
//! wrong that no input may cause; libFuzzer calls it, and so does an ordinary test with the seeds.
//!
//! Wherever it can be said what the right answer is, a target says it: by a model of its own, by
//! the way back (what was decoded is encoded and decoded again), or by what has to come of it in
//! the end (data arrives). "Does not panic" is only the least of it.

pub mod arrivals;
pub mod connection;
pub mod controller;
pub mod echoes;
pub mod frames;
pub mod input;
pub mod parameters;
pub mod qlog;
pub mod receiver;

use std::collections::BTreeSet;

/// What an input led to, in the words of [`Target::situations`]. It tells whether seeds still do
/// what they were made for.
pub type Met = BTreeSet<&'static str>;

/// A hand-made input with its name.
pub type Seed = (&'static str, Vec<u8>);

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of the program, and of the folder with its seeds.
    pub name: &'static str,
    /// Runs an input.
    pub run: fn(&[u8]) -> Met,
    /// The hand-made inputs.
    pub seeds: fn() -> Vec<Seed>,
    /// What those have to lead to, each by one of them at least.
    pub situations: &'static [&'static str],
}

macro_rules! targets {
    ($($name:ident),+ $(,)?) => {
        /// All targets.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            run: $name::run,
            seeds: $name::seeds,
            situations: $name::SITUATIONS,
        }),+];
    };
}

targets!(
    frames, parameters, receiver, arrivals, echoes, controller, connection, qlog
);
