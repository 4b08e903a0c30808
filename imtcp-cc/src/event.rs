//! Events say what happened, in the past tense, for reports, qlog and tests.

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
    /// A measurement began: k streams over this search range (IM 3.2).
    MeasurementStarted {
        /// The number of the measurement; the first is 1.
        measurement: u64,
        /// B_l, the lower end of the search range, in IP-layer bits per second.
        low: Bandwidth,
        /// B_u, the upper end of the search range, in IP-layer bits per second.
        high: Bandwidth,
    },
    /// The first packet of a stream left the control unit.
    StreamStarted {
        /// The measurement that the stream belongs to.
        measurement: u64,
        /// The number of the stream; 1 is the fastest.
        stream: u32,
        /// How long the first packet waited for the stream to fill.
        waited: Duration,
        /// T, the longest time that the first packet was allowed to wait (IM 3.4.2).
        limit: Duration,
    },
    /// A stream ended before its last packet: data or window ran out.
    StreamAbandoned {
        /// The measurement that the stream belongs to.
        measurement: u64,
        /// The number of the stream; 1 is the fastest.
        stream: u32,
        /// How many packets of the stream did leave.
        sent: u32,
    },
    /// All echoes of a stream came in, and its trend was judged.
    StreamJudged {
        /// The measurement that the stream belongs to.
        measurement: u64,
        /// The number of the stream; 1 is the fastest.
        stream: u32,
        /// T_i, the trend of the delay: +1 increasing, -1 not increasing, 0 cannot tell
        /// (IM 3.2.3).
        trend: i8,
    },
    /// A measurement ended with a result of the paper's algorithm.
    MeasurementCompleted {
        /// The number of the measurement.
        measurement: u64,
    },
    /// A measurement ended without a result (loss, lost streams).
    MeasurementAbandoned {
        /// The number of the measurement.
        measurement: u64,
    },
    /// There is a new estimate.
    EstimateUpdated {
        /// The estimator that made it.
        estimator: EstimatorKind,
        /// The estimate.
        estimate: Estimate,
    },
    /// Nothing can be told of the path: there was no estimate for the better part of a second. If
    /// packets were acknowledged all the while, the estimator starts anew.
    EstimateWithdrawn {
        /// The estimator whose estimate is withdrawn.
        estimator: EstimatorKind,
    },
    /// The capacity of the tight link was learnt or revised.
    CapacityUpdated {
        /// C, the capacity of the tight link, in IP-layer bits per second.
        capacity: Bandwidth,
    },
    /// A requirement came into force, was changed, or was withdrawn.
    PromiseChanged {
        /// What is required from now on; `None` after a withdrawal.
        requirement: Option<Requirement>,
    },
    /// A control slot of a promise began.
    ControlSlotStarted {
        /// g_i, the target of the control slot, in bits of application data per second (PT II-A).
        target: Bandwidth,
        /// s, the length of the control slot in round trips (PT II-A).
        round_trips: u32,
    },
    /// The status of the promise changed. A changed shortfall alone is not reported.
    PromiseStatusChanged {
        /// The new status.
        status: Status,
    },
    /// An evaluation slot ended.
    SlotEnded {
        /// The outcome of the slot.
        report: SlotReport,
    },
}

/// Takes the events of one moment.
pub(crate) type Emit<'a> = &'a mut dyn FnMut(Event);

/// Receives events. It is called on the packet path: be quick, and do not block.
pub trait Subscriber: Debug + Send + Sync {
    /// Takes `event`, which happened at `at`.
    fn on_event(&self, at: Timestamp, event: &Event);

    /// The controller of the path is gone: the connection was dropped, or it has forgotten the path
    /// after it moved to another one. No event follows.
    fn on_path_gone(&self) {}
}

/// Keeps every event, for tests and simulations.
#[derive(Debug, Default)]
pub struct Recorder {
    events: Mutex<Vec<(Timestamp, Event)>>,
}

impl Recorder {
    /// Takes the events recorded so far, in order.
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
