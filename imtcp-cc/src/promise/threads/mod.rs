//! Where threads of the application meet the packet path. Nothing here knows what the words that it
//! carries mean.
//!
//! The packet path never waits here. It takes no lock: it stores words, loads words, and reads a
//! list that readers replace as a whole. What it calls beyond that are the wakers of readers, which
//! belong to the readers' runtimes. Threads of the application take one lock among themselves, to
//! post a requirement.
//!
//! `tests/models/` compiles these very files against loom's atomics, and lets loom try all
//! interleavings of small cases, stale values included.

mod board;
mod mailbox;
mod published;
mod ring;
mod sleepers;
mod sync;
#[cfg(test)]
mod tests;

pub(super) use board::Board;
pub(super) use mailbox::{Mailbox, Seen};
pub(super) use ring::{Place, Ring};
pub(super) use sleepers::{Sleeper, Sleepers};
