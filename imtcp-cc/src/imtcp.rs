//! The composition root: wires acknowledgements, measurement, capacity, scheduler and window. It
//! owns no arithmetic.
//!
//! ```text
//!   request to send -> probing (streams) -> pacer (between streams) -> release
//!   packet sent     -> echo tracker, probing, pacer, window
//!   acknowledgement -> echo tracker -> echoes -> probing -> record -> classic
//!                                   -> gaps   -> capacity, statistical -> estimate
//!                   -> window
//! ```

mod pacing;
mod reporting;

use crate::ack::{Echo, EchoGap, EchoQuality, EchoTracker};
use crate::capacity::DispersionCapacity;
use crate::config::Config;
use crate::estimate::{Estimate, EstimatorKind};
use crate::event::{Event, Subscriber};
use crate::measurement::bootstrap::Bootstrap;
use crate::measurement::classic::ClassicEstimator;
use crate::measurement::range::SearchRange;
use crate::measurement::statistical::StatisticalEstimator;
use crate::probing::{Conditions, Probing};
use crate::scheduler::{Pace, Pacer, Verdict};
use crate::transport::{
    AckInfo, AckedPacket, LossInfo, Release, RoundTrip, SendRequest, SentPacket,
};
use crate::units::{Bandwidth, Bytes, Timestamp};
use crate::window::{Phase, RenoWindow};
use reporting::Reporter;
use std::sync::Arc;

/// The controller of one path.
#[derive(Debug)]
pub struct ImTcp {
    config: Config,
    reporter: Reporter,
    window: RenoWindow,
    tracker: EchoTracker,
    bootstrap: Bootstrap,
    capacity: DispersionCapacity,
    classic: ClassicEstimator,
    statistical: StatisticalEstimator,
    probing: Probing,
    pacer: Pacer,
    /// Known from the first acknowledgement of a 1-RTT packet on.
    rtt: Option<RoundTrip>,
    max_datagram: Bytes,
    /// The most in flight during the last round trip and during this one, which ends then.
    peak_in_flight: [Bytes; 2],
    round_ends: Timestamp,
    /// The tight link was busy practically all the time of late.
    link_covered: bool,
}

impl ImTcp {
    /// A controller for a path whose full datagrams are `max_datagram` bytes of UDP payload.
    pub fn new(
        config: Config,
        max_datagram: Bytes,
        subscriber: Option<Arc<dyn Subscriber>>,
    ) -> Self {
        Self {
            reporter: Reporter::new(subscriber),
            window: RenoWindow::new(max_datagram, config.initial_window_packets()),
            tracker: EchoTracker::new(),
            bootstrap: Bootstrap::default(),
            capacity: DispersionCapacity::new(),
            classic: ClassicEstimator::new(&config),
            statistical: StatisticalEstimator::new(),
            probing: Probing::new(&config),
            pacer: Pacer::new(),
            rtt: None,
            max_datagram,
            peak_in_flight: [Bytes::ZERO; 2],
            round_ends: Timestamp::ZERO,
            link_covered: false,
            config,
        }
    }

    /// The congestion window.
    pub fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    /// The slow-start threshold, once there is one.
    pub fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh()
    }

    /// The rate at which packets leave on average, UDP payload; `None` before the first RTT.
    pub fn pacing_rate(&self) -> Option<Bandwidth> {
        self.rtt.as_ref().map(|rtt| self.pacing_rate_for(rtt))
    }

    /// The latest estimate of the configured estimator.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate_of(self.config.estimator())
    }

    /// The latest estimate of either estimator.
    pub fn estimate_of(&self, estimator: EstimatorKind) -> Option<Estimate> {
        self.reporter.latest(estimator)
    }

    /// The IP-layer capacity of the tight link, once known.
    pub fn capacity(&self) -> Option<Bandwidth> {
        self.capacity.get()
    }

    /// What the window law does.
    pub fn phase(&self) -> Phase {
        self.window.phase()
    }

    /// What the control unit does, in the paper's words.
    pub fn control_unit_state(&self) -> &'static str {
        self.probing.state_name()
    }

    /// Keeps events for [`ImTcp::take_logged_event`] from now on.
    pub fn keep_log(&mut self) {
        self.reporter.keep_log();
    }

    /// The oldest event kept.
    pub fn take_logged_event(&mut self) -> Option<(Timestamp, Event)> {
        self.reporter.take_logged()
    }

    /// May the next packet leave? Asking changes nothing that another question at the same time
    /// would see.
    pub fn next_release(&mut self, now: Timestamp, request: &SendRequest) -> Release {
        // Before the first echo there is no path to speak of: the first flight leaves at once, and
        // what the window then holds back goes out on acknowledgements.
        let Some(rtt) = self.rtt else { return Release::Now };
        if request.retransmission {
            // Lost data goes first, and everything stored with it ([IM] 3.5.3).
            self.probing.abandon(now, rtt, &mut |event| self.reporter.emit(now, event));
        } else if request.queued.is_zero() {
            self.pacer.on_drained();
            return Release::Now;
        }
        let ready = self.ready(request);
        if ready.packets == 0 && !request.retransmission {
            return Release::Hold;
        }
        let conditions = self.conditions(rtt);
        let verdict =
            self.probing.next(now, ready, &conditions, &mut |event| self.reporter.emit(now, event));
        match verdict {
            Verdict::Probe => Release::Now,
            Verdict::At(due) => Release::At(due),
            Verdict::Hold => Release::Hold,
            Verdict::Pass => {
                let plan = self.pacing_plan(&rtt);
                match self.pacer.next(now, &plan, Self::backlog(ready, request)) {
                    Pace::Now => Release::Now,
                    Pace::At(due) => Release::At(due),
                }
            }
        }
    }

    /// A 1-RTT packet that counts as in flight left.
    pub fn on_packet_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        let size = self.on_wire(packet.size);
        self.tracker.on_sent(packet.number, size, now);
        let peak = &mut self.peak_in_flight[1];
        *peak = (*peak).max(packet.bytes_in_flight);
        let Some(rtt) = self.rtt else {
            if packet.app_data {
                self.bootstrap.on_sent(packet.number, size, now);
            }
            return;
        };
        if packet.app_data {
            self.probing.on_sent(now, packet.number, size, rtt, &mut |event| {
                self.reporter.emit(now, event);
            });
        }
        self.pacer.on_sent(now, packet.size, self.pacing_rate_for(&rtt));
    }

    /// An acknowledgement came that newly covers `acked`, in ascending order of their numbers.
    pub fn on_ack(
        &mut self,
        now: Timestamp,
        info: &AckInfo,
        acked: impl Iterator<Item = AckedPacket> + Clone,
    ) {
        self.rtt = Some(info.rtt);
        // A receiver cannot have held an acknowledgement for longer than the packet was out.
        let arrived = now - info.ack_delay.min(info.rtt.latest);
        let numbers = acked.clone().map(|packet| packet.number);
        let gap = self.follow_echoes(now, arrived, info.largest, numbers);
        if let Some(gap) = gap {
            self.on_gap(now, &gap);
        }
        self.grow_window(now, info, acked);
        if self.probing.take_settled(now, info.rtt) {
            self.conclude(now);
        }
        self.report(now, info.rtt);
    }

    /// Packets were declared lost.
    pub fn on_loss(
        &mut self,
        now: Timestamp,
        info: &LossInfo,
        lost: impl Iterator<Item = u64>,
    ) {
        for number in lost {
            let echo = Echo {
                packet_number: number,
                size: Bytes::ZERO,
                sent: now,
                arrived: now,
                quality: EchoQuality::Lost,
            };
            let _ = self.probing.on_echo(&echo);
        }
        self.window.on_loss(now, info.newest_sent, info.persistent_congestion);
        if let Some(rtt) = self.rtt {
            self.probing.abandon(now, rtt, &mut |event| self.reporter.emit(now, event));
        }
    }

    /// The peer reported packets marked by a congested router (RFC 9002, section 7.1); the newest
    /// of them left at `newest_sent`.
    pub fn on_congestion_experienced(&mut self, now: Timestamp, newest_sent: Timestamp) {
        self.window.on_loss(now, newest_sent, false);
    }

    /// The path carries datagrams of another size.
    pub fn on_max_datagram(&mut self, max_datagram: Bytes) {
        self.max_datagram = max_datagram;
        self.window.on_max_datagram(max_datagram);
    }

    /// The window allows more than the application has.
    pub fn on_application_limited(&mut self) {
        self.pacer.on_drained();
    }

    fn conditions(&self, rtt: RoundTrip) -> Conditions {
        Conditions {
            range: if self.config.measurement() { self.range() } else { None },
            available: self.estimate().map(|estimate| estimate.available),
            rtt,
            packet: self.on_wire(self.max_datagram),
            allowed: self.window.phase() != Phase::Recovery,
        }
    }

    /// Where the next measurement looks.
    fn range(&self) -> Option<SearchRange> {
        let own = match self.config.estimator() {
            EstimatorKind::Classic => None,
            EstimatorKind::Statistical => self
                .reporter
                .latest(EstimatorKind::Statistical)
                .map(|estimate| self.statistical.range_around(&estimate)),
        };
        own.or_else(|| self.classic.next_range())
            .or_else(|| self.capacity.get().map(SearchRange::first))
            .map(|range| range.bounded(self.capacity.get()))
    }

    /// Takes the echoes of an acknowledgement; returns the gap since the last clean one.
    fn follow_echoes(
        &mut self,
        now: Timestamp,
        arrived: Timestamp,
        largest: u64,
        numbers: impl Iterator<Item = u64>,
    ) -> Option<EchoGap> {
        let Self { tracker, probing, bootstrap, classic, reporter, .. } = self;
        let outcome =
            tracker.on_ack(arrived, largest, numbers, self.capacity.get(), |echo| {
                if let Some(range) = bootstrap.on_echo(echo) {
                    classic.start(range);
                }
                let Some(stream) = probing.on_echo(echo) else { return };
                let record = probing.record();
                let trend = classic.judge(record, stream);
                reporter.emit(now, Event::StreamJudged {
                    measurement: record.measurement(),
                    stream,
                    trend: trend.as_number(),
                });
                if classic.may_stop_early(record) {
                    probing.stop_early(now);
                }
            });
        outcome.gap
    }

    fn on_gap(&mut self, now: Timestamp, gap: &EchoGap) {
        if let Some(capacity) = self.capacity.on_gap(gap) {
            self.statistical.on_capacity(capacity, self.on_wire(self.max_datagram));
            self.reporter.emit(now, Event::CapacityUpdated { capacity });
        }
        self.statistical.on_gap(gap);
    }

    fn grow_window(
        &mut self,
        now: Timestamp,
        info: &AckInfo,
        acked: impl Iterator<Item = AckedPacket>,
    ) {
        if now >= self.round_ends {
            self.peak_in_flight = [self.peak_in_flight[1], info.bytes_in_flight];
            self.round_ends = now + info.rtt.smoothed;
        }
        let peak = self.peak_in_flight[0].max(self.peak_in_flight[1]);
        let limited = self.window.is_underused_at(peak);
        self.statistical.set_application_limited(limited);
        for packet in acked {
            self.window.on_ack(now, packet.size, packet.sent, limited);
        }
    }

    /// All echoes of a measurement are in.
    fn conclude(&mut self, now: Timestamp) {
        let record = self.probing.record();
        let measurement = record.measurement();
        self.reporter.emit(now, Event::MeasurementCompleted { measurement });
        if let Some(estimate) = self.classic.on_measurement(record, self.capacity.get()) {
            let estimator = EstimatorKind::Classic;
            self.reporter.emit(now, Event::EstimateUpdated { estimator, estimate });
        }
    }

    fn report(&mut self, now: Timestamp, rtt: RoundTrip) {
        let Some(capacity) = self.capacity.get() else { return };
        self.link_covered = self.statistical.is_link_covered();
        if !self.reporter.is_report_due(now, rtt.smoothed) {
            return;
        }
        if let Some(estimate) = self.statistical.estimate(now, capacity) {
            let estimator = EstimatorKind::Statistical;
            self.reporter.emit(now, Event::EstimateUpdated { estimator, estimate });
        }
    }
}
