//! When packets were to leave, and when they left.
//!
//! [`Timed`] stands between quiche and the controller. It passes everything on and keeps two
//! accounts: how late each packet left that had a release time, and how far each gap inside a
//! probe stream was from the planned one.

use hdrhistogram::Histogram;
use imtcp_cc::quiche::Controller;
use quiche::cc::{
    AckReceived, CongestionController, PacketSent, PacketSpace, PacketsLost, Release, SendContext,
};
use serde::Serialize;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longer times count as this one.
const LONGEST: Duration = Duration::from_secs(10);

/// The name that the control unit gives its state while it sends a stream.
const SENDING_STREAM: &str = "send_stream";

/// Both accounts, in memory that does not grow.
#[derive(Debug)]
pub struct ReleaseTiming {
    lateness: Histogram<u64>,
    planned_gap: Histogram<u64>,
    gap_error: Histogram<u64>,
    unplanned: u64,
}

impl Default for ReleaseTiming {
    fn default() -> Self {
        Self {
            lateness: histogram(),
            planned_gap: histogram(),
            gap_error: histogram(),
            unplanned: 0,
        }
    }
}

/// Nanoseconds to three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(nanos(LONGEST), 3).expect("bounds and digits that the type allows")
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl ReleaseTiming {
    /// The accounts in figures; `None` if no packet had a release time.
    pub fn summary(&self) -> Option<TimingSummary> {
        if self.lateness.is_empty() {
            return None;
        }
        Some(TimingSummary {
            lateness_us: Quantiles::of(&self.lateness),
            planned_gap_us: Quantiles::of(&self.planned_gap),
            gap_error_us: Quantiles::of(&self.gap_error),
            asked_too_late: self.unplanned,
        })
    }

    fn on_release(&mut self, planned: Instant, actual: Instant) {
        let late = actual.saturating_duration_since(planned);
        self.lateness.saturating_record(nanos(late));
    }

    fn on_gap(&mut self, planned: Duration, achieved: Duration) {
        self.planned_gap.saturating_record(nanos(planned));
        self.gap_error
            .saturating_record(nanos(planned.abs_diff(achieved)));
    }
}

/// What [`ReleaseTiming`] says.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TimingSummary {
    /// How late packets left that had a release time.
    pub lateness_us: Quantiles,
    /// The gaps that probe streams were to have.
    pub planned_gap_us: Quantiles,
    /// How far, up or down, the gaps were from the planned ones.
    pub gap_error_us: Quantiles,
    /// Packets of streams whose time had passed before anybody asked for it; they have no plan to
    /// be compared with.
    pub asked_too_late: u64,
}

/// A distribution of times in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    /// How many.
    pub count: u64,
    /// Half of them are shorter.
    pub p50: f64,
    /// 99 % of them are shorter.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Quantiles {
    fn of(histogram: &Histogram<u64>) -> Self {
        let micros = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64() * 1e6;
        Self {
            count: histogram.len(),
            p50: micros(histogram.value_at_quantile(0.5)),
            p99: micros(histogram.value_at_quantile(0.99)),
            max: micros(histogram.max()),
        }
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            p50,
            p99,
            max,
        } = self;
        write!(f, "p50 {p50:.1}, p99 {p99:.1}, max {max:.1} µs of {count}")
    }
}

impl fmt::Display for TimingSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "release times: late by {}", self.lateness_us)?;
        writeln!(f, "gaps in probe streams: planned {}", self.planned_gap_us)?;
        writeln!(f, "gaps in probe streams: off by {}", self.gap_error_us)?;
        write!(
            f,
            "probe packets asked for too late: {}",
            self.asked_too_late
        )
    }
}

/// The time that the controller has named for the next packet.
#[derive(Clone, Copy, Debug)]
struct Plan {
    due: Instant,
    /// Another packet of the same probe stream went before.
    inside_stream: bool,
}

/// A packet of a probe stream.
#[derive(Clone, Copy, Debug)]
struct Probe {
    planned: Instant,
    sent: Instant,
}

/// A controller whose packets are timed.
#[derive(Debug)]
pub struct Timed {
    controller: Box<dyn CongestionController>,
    account: Arc<Mutex<ReleaseTiming>>,
    plan: Option<Plan>,
    last_probe: Option<Probe>,
}

impl Timed {
    /// `controller`, with its times kept in `account`.
    pub fn new(
        controller: Box<dyn CongestionController>,
        account: Arc<Mutex<ReleaseTiming>>,
    ) -> Self {
        Self {
            controller,
            account,
            plan: None,
            last_probe: None,
        }
    }

    /// This project's controller, if it is the one inside.
    pub fn controller(&self) -> Option<&Controller> {
        let inner: &dyn Any = &*self.controller;
        inner.downcast_ref()
    }

    fn in_stream(&self) -> bool {
        self.controller()
            .is_some_and(|controller| controller.core().control_unit_state() == SENDING_STREAM)
    }

    fn record(&mut self, sent: &PacketSent) {
        let probe = sent.released && self.in_stream();
        let plan = self.plan.take();
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plan.filter(|_| sent.released) {
            account.on_release(plan.due, sent.now);
            if let Some(last) = self.last_probe.filter(|_| plan.inside_stream && probe) {
                account.on_gap(plan.due - last.planned, sent.now - last.sent);
            }
        }
        self.last_probe = probe.then(|| Probe {
            // A stream begins when its first packet leaves.
            planned: plan
                .filter(|plan| plan.inside_stream)
                .map_or(sent.now, |plan| plan.due),
            sent: sent.now,
        });
    }
}

impl CongestionController for Timed {
    fn next_release(&mut self, context: &SendContext) -> Release {
        // Before the question: the answer for the first packet of a stream begins that stream.
        let inside_stream = self.in_stream();
        let release = self.controller.next_release(context);
        match release {
            Release::At(due) => self.plan = Some(Plan { due, inside_stream }),
            Release::Hold => self.plan = None,
            Release::Now => {
                // What may leave before its time was given another one.
                self.plan = self.plan.filter(|plan| plan.due <= context.now);
                if inside_stream && self.plan.is_none() {
                    let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
                    account.unplanned += 1;
                }
            }
        }
        release
    }

    fn on_packet_sent(&mut self, sent: &PacketSent) {
        if sent.space == PacketSpace::Application && sent.in_flight {
            self.record(sent);
        }
        self.controller.on_packet_sent(sent);
    }

    fn cwnd(&self) -> usize {
        self.controller.cwnd()
    }

    fn next_packet_size(&self) -> Option<usize> {
        self.controller.next_packet_size()
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        self.controller.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        // The window shrinks: it may hold the next packet back beyond the time it was given.
        self.plan = None;
        self.controller.on_loss(loss);
    }

    fn on_spurious_loss(&mut self, now: Instant, space: PacketSpace, packet_number: u64) {
        self.controller.on_spurious_loss(now, space, packet_number);
    }

    fn on_pto(&mut self, now: Instant, count: u32) {
        self.controller.on_pto(now, count);
    }

    fn on_space_discarded(&mut self, now: Instant, space: PacketSpace, bytes: usize) {
        self.controller.on_space_discarded(now, space, bytes);
    }

    fn on_max_datagram_size(&mut self, size: usize) {
        self.controller.on_max_datagram_size(size);
    }

    fn on_app_limited(&mut self, now: Instant) {
        self.controller.on_app_limited(now);
    }

    fn state(&self) -> &'static str {
        self.controller.state()
    }

    fn ssthresh(&self) -> Option<usize> {
        self.controller.ssthresh()
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.controller.pacing_rate()
    }

    fn drain_qlog_events(&mut self, emit: &mut dyn FnMut(Instant, &str, serde_json::Value)) {
        self.controller.drain_qlog_events(emit);
    }
}
