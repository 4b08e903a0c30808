//! What carries a measurement's packets.

use anyhow::Result;
use imtcp_cc::units::{Bytes, Timestamp};

use crate::clock::Clock;

/// So many messages are taken in before the measurement has its turn: a flood of them stops
/// neither its clock nor Ctrl-C.
pub const MOST_AT_ONCE: usize = 1000;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Its reply was received at this time.
    Reply(u64, Timestamp),
    /// It arrived, and nobody knows when.
    Arrived(u64),
    /// It is lost.
    Lost(u64),
}

/// What became of the attempt to send one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It left at this time.
    At(Timestamp),
    /// The machine had no room for it.
    Dropped,
}

/// A way to send packets that a peer answers.
pub trait Probes {
    /// Makes ready for another measurement, whose packets are numbered from 0 again.
    fn begin(&mut self);

    /// Sends packet `id` of `size` bytes, IP header included.
    ///
    /// # Errors
    /// Nothing can be sent to this peer.
    fn send(&mut self, id: u64, size: Bytes, clock: &Clock) -> Result<Sent>;

    /// Waits until `until`, or until something came.
    ///
    /// # Errors
    /// The system's.
    fn wait(&mut self, until: Timestamp, clock: &Clock) -> Result<()>;

    /// Takes in what came, up to [`MOST_AT_ONCE`] messages.
    ///
    /// # Errors
    /// The peer cannot be reached.
    fn receive(&mut self, clock: &Clock, tell: &mut dyn FnMut(Word)) -> Result<()>;

    /// What stands between us and replies, as far as it is known: the last error message that came
    /// instead of one.
    fn complaint(&self) -> Option<String>;
}
