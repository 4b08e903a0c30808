//! Which congestion controller a server uses, and what is asked of it.

use crate::acknowledgements::Acknowledgements;
use crate::estimates::EstimateLog;
use crate::families::Families;
use crate::slots::SlotLog;
use crate::timing::{ReleaseTiming, Timed};
use anyhow::Result;
use clap::ValueEnum;
use imtcp_cc::event::{Event, Subscriber};
use imtcp_cc::quiche::{Controller, Detail, Factory, RECEIVE_TIMESTAMPS_PER_ACK};
use imtcp_cc::units::{Bytes, Timestamp};
use quiche::cc::{CongestionController, PathContext};
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A congestion controller by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControllerKind {
    /// ImTCP: measures while it sends.
    Imtcp,
    /// The same without probe streams, as a baseline.
    ImtcpOff,
    /// quiche's Reno.
    Reno,
    /// quiche's CUBIC.
    Cubic,
    /// quiche's BBRv2.
    Bbr2,
}

impl ControllerKind {
    /// quiche's name of it, if it is quiche's.
    fn built_in(self) -> Option<&'static str> {
        match self {
            Self::Imtcp | Self::ImtcpOff => None,
            Self::Reno => Some("reno"),
            Self::Cubic => Some("cubic"),
            Self::Bbr2 => Some("bbr2_gcongestion"),
        }
    }

    /// Whether a rate can be required of it.
    pub(crate) fn makes_promises(self) -> bool {
        self.built_in().is_none()
    }

    /// Whether it leaves the times of its packets to the caller of quiche.
    pub(crate) fn is_paced_by_caller(self) -> bool {
        self == Self::Bbr2
    }
}

/// What the controllers of a server share.
#[derive(Clone, Debug)]
pub(crate) struct Instruments {
    /// Where estimates go, if anywhere.
    pub(crate) estimates: Option<Arc<EstimateLog>>,
    /// Where slots go, if a rate is required.
    pub(crate) slots: Option<Arc<SlotLog>>,
    /// Where the times of packets are kept.
    pub(crate) timing: Arc<Mutex<ReleaseTiming>>,
    /// Where acknowledgements are counted.
    pub(crate) acknowledgements: Arc<Mutex<Acknowledgements>>,
    /// How much goes to the qlog, if the connection has one.
    pub(crate) detail: Detail,
}

/// Makes `kind` the controller of the connections that `config` is for. Estimates count
/// `link_header` bytes for each packet besides what IP and UDP add to its payload.
pub(crate) fn install(
    kind: ControllerKind,
    link_header: u64,
    instruments: Instruments,
    config: &mut quiche::Config,
) -> Result<()> {
    match kind.built_in() {
        Some(name) => config.set_cc_algorithm_name(name)?,
        None => {
            let measures = kind == ControllerKind::Imtcp;
            let factory = TimedFactory::new(measures, link_header, instruments)?;
            config.set_congestion_controller(Arc::new(factory));
            config.set_max_receive_timestamps_per_ack(RECEIVE_TIMESTAMPS_PER_ACK);
        }
    }
    Ok(())
}

/// Builds the project's controllers with the instruments attached.
struct TimedFactory {
    /// Every path gets a clone of one of them, because clones share the bounds of promises.
    families: Families,
    instruments: Instruments,
    /// Controllers built so far.
    paths: AtomicU64,
}

impl TimedFactory {
    fn new(measures: bool, link_header: u64, instruments: Instruments) -> Result<Self> {
        let families = Families::new(|headers| {
            let config = imtcp_cc::Config::builder()
                .measurement(measures)
                .header_overhead(Bytes::new(headers + link_header))
                .build()?;
            Ok(Factory::new(config).with_qlog_detail(instruments.detail))
        })?;
        Ok(Self {
            families,
            instruments,
            paths: AtomicU64::new(0),
        })
    }
}

impl fmt::Debug for TimedFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimedFactory")
            .field("families", &self.families)
            .finish_non_exhaustive()
    }
}

impl quiche::cc::Factory for TimedFactory {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        let number = self.paths.fetch_add(1, Ordering::Relaxed) + 1;
        let origin = Controller::origin_of(path);
        let mut listeners = Listeners(Vec::new());
        if let Some(log) = &self.instruments.estimates {
            listeners.0.push(Arc::new(log.of_path(number, origin)));
        }
        let slots = self.instruments.slots.as_ref();
        let slots = slots.map(|log| Arc::new(log.of_path(number, origin)));
        if let Some(slots) = &slots {
            listeners.0.push(Arc::clone(slots) as _);
        }
        let factory = self.families.of(path.identity.peer).clone();
        let controller = factory.with_subscriber(Arc::new(listeners)).build(path);
        let inner: &dyn Any = &*controller;
        if let (Some(slots), Some(inner)) = (slots, inner.downcast_ref::<Controller>()) {
            slots.attach(inner.promise());
        }
        Box::new(Timed::new(
            number,
            controller,
            Arc::clone(&self.instruments.timing),
            Arc::clone(&self.instruments.acknowledgements),
        ))
    }
}

/// Several subscribers in the place of one.
#[derive(Debug)]
struct Listeners(Vec<Arc<dyn Subscriber>>);

impl Subscriber for Listeners {
    fn on_event(&self, now: Timestamp, event: &Event) {
        for listener in &self.0 {
            listener.on_event(now, event);
        }
    }
}

#[cfg(test)]
mod tests;
