//! What happened, in the past tense, for whoever wants to know: reports, qlog, tests.

use crate::estimate::{Estimate, EstimatorKind};
use crate::promise::{Requirement, SlotReport, Status};
use crate::units::{Bandwidth, Timestamp};
use std::fmt::Debug;
use std::sync::Mutex;
use std::time::Duration;

/// Something the controller did or learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A measurement began: k streams over this search range.
    MeasurementStarted {
        /// Counts measurements from 1.
        measurement: u64,
        /// B_l.
        low: Bandwidth,
        /// B_u.
        high: Bandwidth,
    },
    /// The first packet of a stream left the control unit.
    StreamStarted {
        /// The measurement it belongs to.
        measurement: u64,
        /// 1 is the fastest.
        stream: u32,
        /// How long the first packet waited for the stream to fill.
        waited: Duration,
        /// The longest it was allowed to wait: T.
        limit: Duration,
    },
    /// A stream ended before its last packet: data or window ran out.
    StreamAbandoned {
        /// The measurement it belongs to.
        measurement: u64,
        /// 1 is the fastest.
        stream: u32,
        /// Packets that did leave.
        sent: u32,
    },
    /// All echoes of a stream are in and its trend was judged.
    StreamJudged {
        /// The measurement it belongs to.
        measurement: u64,
        /// 1 is the fastest.
        stream: u32,
        /// +1 increasing, -1 not increasing, 0 cannot tell.
        trend: i8,
    },
    /// A measurement ended with a result of the paper's algorithm.
    MeasurementCompleted {
        /// Which one.
        measurement: u64,
    },
    /// A measurement ended without one (loss, lost streams).
    MeasurementAbandoned {
        /// Which one.
        measurement: u64,
    },
    /// A new estimate.
    EstimateUpdated {
        /// Who made it.
        estimator: EstimatorKind,
        /// The estimate.
        estimate: Estimate,
    },
    /// Nothing can be told of the path: no estimate for the better part of a second. Where packets
    /// were acknowledged all the while the estimator starts anew.
    EstimateWithdrawn {
        /// Whose estimate.
        estimator: EstimatorKind,
    },
    /// The capacity of the tight link was learnt or revised.
    CapacityUpdated {
        /// IP-layer capacity.
        capacity: Bandwidth,
    },
    /// A requirement came into force, was changed, or was withdrawn.
    PromiseChanged {
        /// What is required from now on.
        requirement: Option<Requirement>,
    },
    /// A control slot of a promise began.
    ControlSlotStarted {
        /// g_i, application data.
        target: Bandwidth,
        /// s.
        round_trips: u32,
    },
    /// The promise stands otherwise than before. A changed shortfall alone is not reported.
    PromiseStatusChanged {
        /// How it stands.
        status: Status,
    },
    /// An evaluation slot ended.
    SlotEnded {
        /// What came of it.
        report: SlotReport,
    },
}

/// Receives events. Called on the packet path: be quick, do not block.
pub trait Subscriber: Debug + Send + Sync {
    /// `event` happened at `at`.
    fn on_event(&self, at: Timestamp, event: &Event);
}

/// Keeps every event, for tests and simulations.
#[derive(Debug, Default)]
pub struct Recorder {
    events: Mutex<Vec<(Timestamp, Event)>>,
}

impl Recorder {
    /// Takes what was recorded so far, in order.
    pub fn take(&self) -> Vec<(Timestamp, Event)> {
        let mut events = self
            .events
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        std::mem::take(&mut *events)
    }
}

impl Subscriber for Recorder {
    fn on_event(&self, at: Timestamp, event: &Event) {
        self.events
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .push((at, *event));
    }
}
