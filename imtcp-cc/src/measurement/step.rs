//! The steps that the scheduler takes for a measurement. The record follows them, and events report
//! them.

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
        /// The number of packets of each stream (N of IM 3.2.3).
        stream_packets: u32,
        /// How often the peer will echo the packets of a stream.
        cadence: EchoCadence,
    },
    /// Enough packets are ready, and a stream begins.
    StreamStarted {
        measurement: u64,
        stream: u32,
        waited: Duration,
        /// The longest time that the first packet was allowed to wait (T of IM 3.4.2).
        limit: Duration,
    },
    /// A packet of a stream left.
    ProbeSent {
        stream: u32,
        number: u64,
        /// The size of the packet on the wire.
        size: Bytes,
        at: Timestamp,
    },
    /// A stream ended before its last packet, because the application's packets did not come in
    /// time.
    StreamAbandoned {
        measurement: u64,
        stream: u32,
        sent: u32,
    },
    /// The measurement is over, and no more echoes are awaited.
    MeasurementEnded,
    /// The measurement ended without a result.
    MeasurementAbandoned { measurement: u64 },
}

impl Step {
    /// The event that reports the step to subscribers, if there is one.
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
