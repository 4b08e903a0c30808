//! Events say what happened. They serve reports, qlog and tests.

use crate::estimate::{Estimate, EstimatorKind};
use crate::mode::Mode;
use crate::promise::{Requirement, SlotReport, Status};
use crate::units::{Bandwidth, Timestamp};
use std::fmt::Debug;
use std::sync::Mutex;
use std::time::Duration;

/// Something the controller did or learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A measurement began. It sends up to [`crate::Config::sub_ranges`] streams over this search
    /// range (IM 3.2).
    MeasurementStarted {
        /// The number of the measurement; the first is 1.
        measurement: u64,
        /// The lower end of the search range, in IP-layer bits per second (B_l of IM 3.2.1).
        low: Bandwidth,
        /// The upper end of the search range, in IP-layer bits per second (B_u of IM 3.2.1).
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
        /// The longest time that the first packet was allowed to wait (T of IM 3.4.2).
        limit: Duration,
    },
    /// A stream ended before its last packet: data or window ran out.
    StreamAbandoned {
        /// The measurement that the stream belongs to.
        measurement: u64,
        /// The number of the stream; 1 is the fastest.
        stream: u32,
        /// The number of packets of the stream that had left.
        sent: u32,
    },
    /// All echoes of a stream came in, and its trend was judged.
    StreamJudged {
        /// The measurement that the stream belongs to.
        measurement: u64,
        /// The number of the stream; 1 is the fastest.
        stream: u32,
        /// The trend of the delay (T_i of IM 3.2.3): +1 increasing, -1 not increasing, 0 if the
        /// stream cannot tell.
        trend: i8,
    },
    /// A measurement ended: its echoes came in, or the missing ones are not expected any more. If
    /// the paper's estimator found a value, [`Event::EstimateUpdated`] follows.
    MeasurementCompleted {
        /// The number of the measurement.
        measurement: u64,
    },
    /// A measurement ended without a result, because packets were lost or streams could not be
    /// sent.
    MeasurementAbandoned {
        /// The number of the measurement.
        measurement: u64,
    },
    /// There is a new estimate, or, while the estimator has nothing to tell, a new lower bound
    /// ([`crate::Flags::lower_bound`]).
    EstimateUpdated {
        /// The estimator that made the estimate.
        estimator: EstimatorKind,
        /// The estimate.
        estimate: Estimate,
    },
    /// The latest estimate is out of date, and there is neither a new one nor a lower bound
    /// ([`Flags::lower_bound`](crate::Flags::lower_bound)) in its place. This is reported when no
    /// estimate was made for 0.5 s, and again from time to time while this lasts. If packets were
    /// acknowledged for 2 s without an estimate, the estimators start anew, unless the echoes of
    /// this path cannot be read at all. If that does not help, they start anew after twice the
    /// time, up to 4 s.
    EstimateWithdrawn {
        /// The estimator whose estimate is withdrawn.
        estimator: EstimatorKind,
    },
    /// The capacity of the tight link was learnt or revised.
    CapacityUpdated {
        /// The capacity of the tight link, in IP-layer bits per second (C of RFC 5136,
        /// section 2.3).
        capacity: Bandwidth,
    },
    /// Another mode came into force.
    ModeChanged {
        /// The mode.
        mode: Mode,
    },
    /// A requirement came into force, was changed, or was withdrawn.
    PromiseChanged {
        /// What is required from now on; `None` after a withdrawal.
        requirement: Option<Requirement>,
    },
    /// A control slot of a promise began.
    ControlSlotStarted {
        /// The target of the control slot, in bits of application data per second (g_i of
        /// PT II-A).
        target: Bandwidth,
        /// The length of the control slot in round trips (s of PT II-A).
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

/// Takes the events of one moment, in order.
pub(crate) type Emit<'a> = &'a mut dyn FnMut(Event);

/// Receives events. It is called on the packet path, so it must be quick and must not block.
pub trait Subscriber: Debug + Send + Sync {
    /// Takes `event`, which happened at `at`, in the controller's time.
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
    /// The events recorded since the last call, in order.
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
