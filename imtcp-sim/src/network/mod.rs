//! The simulated path: links in a row, each with a forward and a reverse hop.
//!
//! A hop is a queue, a transmitter and a pipe. A packet waits in the queue, also for tokens where
//! there is a bucket of them, is transmitted at the hop's rate or at the opportunities of a trace,
//! may then wait for an aggregate, may be lost, and leaves the pipe one propagation delay later,
//! which may vary and change; some packets overtake others there. Rates, sizes and queues are those
//! of IP packets.

mod added;
mod aggregation;
mod bucket;
mod hop;
mod jitter;
mod loss;
mod packet;
mod path;
mod pipe;
mod queue;
mod thinning;

pub use added::Added;
pub use aggregation::{Aggregation, Release};
pub use bucket::{Bucket, BucketSettings, Without};
use jitter::Jitter;

pub use hop::{Counters, Finished, Hop, HopSettings, Tally};
pub use loss::{Loss, LossModel};
pub use packet::{Datagram, Direction, Ecn, FlowId, Owner, Packet, Probe, ProbeKind};
pub use packet::{Stamp, ToolId};
pub use path::{HopId, Network, Onward, Route};
pub use pipe::{Pipe, PipeSettings, Reorder};
pub use queue::{
    CoDelSettings, Discipline, DualPi2Settings, PieSettings, Queue, QueueLimit, RedSettings,
    Waiting,
};
pub use thinning::Thinning;
