//! What the scheduler did for a measurement. The record follows it, and events tell it.

use super::range::SearchRange;
use crate::event::Event;
use crate::path::ack::EchoCadence;
use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// A step of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A measurement began.
    MeasurementStarted {
        measurement: u64,
        range: SearchRange,
        /// N.
        stream_packets: u32,
        /// How the peer will echo its packets.
        cadence: EchoCadence,
    },
    /// Enough packets are ready for a stream.
    StreamStarted {
        measurement: u64,
        stream: u32,
        waited: Duration,
        /// T.
        limit: Duration,
    },
    /// A packet of a stream left.
    ProbeSent {
        stream: u32,
        number: u64,
        /// On the wire.
        size: Bytes,
        at: Timestamp,
    },
    /// Packets did not come in time.
    StreamAbandoned {
        measurement: u64,
        stream: u32,
        sent: u32,
    },
    /// No more echoes are awaited.
    MeasurementEnded,
    /// The measurement ended without a result.
    MeasurementAbandoned { measurement: u64 },
}

impl Step {
    /// What subscribers hear of it.
    pub(crate) fn event(&self) -> Option<Event> {
        Some(match *self {
            Self::MeasurementStarted {
                measurement, range, ..
            } => Event::MeasurementStarted {
                measurement,
                low: range.low(),
                high: range.high(),
            },
            Self::StreamStarted {
                measurement,
                stream,
                waited,
                limit,
            } => Event::StreamStarted {
                measurement,
                stream,
                waited,
                limit,
            },
            Self::StreamAbandoned {
                measurement,
                stream,
                sent,
            } => Event::StreamAbandoned {
                measurement,
                stream,
                sent,
            },
            Self::MeasurementAbandoned { measurement } => {
                Event::MeasurementAbandoned { measurement }
            }
            Self::ProbeSent { .. } | Self::MeasurementEnded => return None,
        })
    }
}
