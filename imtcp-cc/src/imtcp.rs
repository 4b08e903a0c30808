//! The composition root: wires acknowledgements, measurement, capacity, scheduler and window. It
//! owns no arithmetic.
//!
//! ```text
//!   request to send -> probing (streams) -> pacer (between streams) -> guard -> release
//!   packet sent     -> echo tracker, probing, pacer, guard, window
//!   acknowledgement -> echo tracker -> echoes -> probing -> record -> classic
//!                                   -> gaps   -> capacity, statistical -> estimate
//!                   -> window
//! ```

mod echoes;
mod pacing;
mod promising;
mod refuting;
mod reporting;
mod requests;

use crate::ack::{AckPolicy, CadenceDetector, Echo, EchoQuality, EchoTracker, Place, ReceiveClock};
use crate::capacity::{Capacity, Delivered, ResidualCapacity};
use crate::config::Config;
use crate::estimate::{Estimate, EstimatorKind};
use crate::event::{Event, Subscriber};
use crate::measurement::Estimator;
use crate::measurement::bootstrap::Bootstrap;
use crate::measurement::classic::ClassicEstimator;
use crate::measurement::range::SearchRange;
use crate::measurement::statistical::StatisticalEstimator;
use crate::probing::{Conditions, Probing};
use crate::promise::Keeper;
use crate::scheduler::{Guard, Pace, Pacer, Ready, Verdict};
use crate::transport::{
    AckInfo, AckedPacket, LossInfo, Release, RoundTrip, SendRequest, SentPacket,
};
use crate::units::{Bandwidth, Bytes, Timestamp};
use crate::window::{Acked, LossRecord, Phase, WindowLaw, WindowUsage};
use reporting::Reporter;
use std::sync::Arc;

/// The controller of one path.
#[derive(Debug)]
pub struct ImTcp {
    config: Config,
    reporter: Reporter,
    window: Box<dyn WindowLaw>,
    usage: WindowUsage,
    losses: LossRecord,
    tracker: EchoTracker,
    receive_clock: ReceiveClock,
    ack_policy: AckPolicy,
    /// Echoes are timed by the peer's clock.
    by_peer: bool,
    /// The packet that was just let go, as far as its echo is concerned.
    place: Place,
    /// The window, and neither the application nor a promised rate, holds back what is left.
    window_limited: bool,
    cadence: CadenceDetector,
    bootstrap: Bootstrap,
    capacity: Capacity,
    residual: ResidualCapacity,
    delivered: Delivered,
    classic: ClassicEstimator,
    statistical: StatisticalEstimator,
    probing: Probing,
    pacer: Pacer,
    guard: Guard,
    keeper: Keeper,
    /// Known from the first acknowledgement of a 1-RTT packet on.
    rtt: Option<RoundTrip>,
    max_datagram: Bytes,
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
            reporter: Reporter::new(subscriber, config.estimator()),
            window: config
                .window()
                .law(config.initial_window_packets(), max_datagram),
            usage: WindowUsage::default(),
            losses: LossRecord::default(),
            tracker: EchoTracker::new(),
            receive_clock: ReceiveClock::default(),
            ack_policy: AckPolicy::default(),
            by_peer: false,
            place: Place::Other,
            window_limited: false,
            cadence: CadenceDetector::default(),
            bootstrap: Bootstrap::default(),
            capacity: Capacity::new(),
            residual: ResidualCapacity::default(),
            delivered: Delivered::default(),
            classic: ClassicEstimator::new(config.minimum_range()),
            statistical: StatisticalEstimator::new(config.minimum_range()),
            probing: Probing::new(&config),
            pacer: Pacer::new(),
            guard: Guard::new(),
            keeper: Self::keeper(&config),
            rtt: None,
            max_datagram,
            link_covered: false,
            config,
        }
    }

    /// The congestion window.
    pub fn cwnd(&self) -> Bytes {
        self.window.window()
    }

    /// The slow-start threshold, once there is one.
    pub fn ssthresh(&self) -> Option<Bytes> {
        self.window.slow_start_threshold()
    }

    /// The rate at which packets leave on average, UDP payload; `None` before the first RTT.
    pub fn pacing_rate(&self) -> Option<Bandwidth> {
        self.rtt.as_ref().map(|rtt| self.pacing_rate_for(rtt))
    }

    /// The latest estimate of the configured estimator; `None` while it has nothing to tell
    /// ([`Event::EstimateWithdrawn`]).
    pub fn estimate(&self) -> Option<Estimate> {
        self.believed().filter(|_| !self.reporter.is_withdrawn())
    }

    /// What was last known, for want of anything newer.
    fn believed(&self) -> Option<Estimate> {
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
        if !request.queued.is_zero() {
            self.keeper
                .on_waiting(now, &mut |event| self.reporter.emit(now, event));
        }
        // Before the first echo there is no path to speak of: the first flight leaves at once, and
        // what the window then holds back goes out on acknowledgements.
        let Some(rtt) = self.rtt else {
            return Release::Now;
        };
        if request.retransmission {
            // Lost data goes first, and everything stored with it (IM 3.5.3).
            self.probing
                .abandon(now, rtt, &mut |event| self.reporter.emit(now, event));
        } else if request.queued.is_zero() {
            self.pacer.on_drained();
            self.guard.on_nothing_ready(now);
            return Release::Now;
        }
        let ready = self.ready(request);
        if ready.packets == 0 && !request.retransmission {
            self.guard.on_nothing_ready(now);
            return Release::Hold;
        }
        self.window_limited = self.is_window_limited(request);
        let held = self.held(rtt, ready, request);
        self.guard.on_question(now, &held);
        let wanted = self.wanted_release(now, rtt, ready, request);
        let answer = self.guard.bound(now, wanted, &held);
        if answer == Release::Now && wanted != Release::Now && self.probing.is_sending() {
            // A packet of a stream all the same, ahead of its time.
            self.place = Place::Probe;
        }
        answer
    }

    /// When the measurement and the pacer want the next packet to leave.
    fn wanted_release(
        &mut self,
        now: Timestamp,
        rtt: RoundTrip,
        ready: Ready,
        request: &SendRequest,
    ) -> Release {
        let verdict = if self.only_watches() {
            self.pacer.on_drained();
            self.probing
                .abandon(now, rtt, &mut |event| self.reporter.emit(now, event));
            Verdict::Pass
        } else if self.probing.is_resting(now) {
            Verdict::Pass
        } else {
            self.ask_probing(now, rtt, ready, request)
        };
        self.place = Place::Other;
        match verdict {
            Verdict::Probe => {
                self.place = Place::Probe;
                Release::Now
            }
            Verdict::At(due) => Release::At(due),
            Verdict::Hold => Release::Hold,
            Verdict::Pass => {
                // The plan needs everything else of `self`.
                let mut pacer = std::mem::take(&mut self.pacer);
                let plan = || self.pacing_plan();
                let pace = pacer.next(now, self.guard.due(), plan, ready.packets);
                self.pacer = pacer;
                match pace {
                    Pace::Now => {
                        self.place = self.pacer.place();
                        Release::Now
                    }
                    Pace::At(due) => Release::At(due),
                }
            }
        }
    }

    fn ask_probing(
        &mut self,
        now: Timestamp,
        rtt: RoundTrip,
        ready: Ready,
        request: &SendRequest,
    ) -> Verdict {
        let mut conditions = self.conditions(now, rtt);
        // Begun now, a measurement would be given up at the next question.
        conditions.allowed &= !request.retransmission;
        conditions.allowed &= !self.window_limited || self.guard.may_measure();
        self.probing.next(now, ready, &conditions, &mut |event| {
            self.reporter.emit(now, event)
        })
    }

    /// A 1-RTT packet that counts as in flight left.
    pub fn on_packet_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        let size = self.on_wire(packet.size);
        self.tracker
            .on_sent(packet.number, size, now, self.capacity.get());
        self.usage.on_sent(packet.bytes_in_flight);
        self.losses.on_sent(packet.number);
        let Some(rtt) = self.rtt else {
            if packet.released {
                self.bootstrap.on_sent(packet.number, size, now);
            }
            return;
        };
        if self.reporter.on_sent(now) {
            self.withdraw(now);
        }
        let mean = self.mean_rate(&rtt);
        if !packet.released {
            self.guard.on_unasked(now, packet.size, mean);
            return;
        }
        self.probing
            .on_sent(now, packet.number, size, rtt, &mut |event| {
                self.reporter.emit(now, event);
            });
        self.pacer.on_sent(now, self.guard.credit());
        self.guard.on_sent(now, packet.size, mean);
    }

    /// An acknowledgement came that newly covers `acked`, in ascending order of their numbers.
    pub fn on_ack(
        &mut self,
        now: Timestamp,
        info: &AckInfo,
        acked: impl Iterator<Item = AckedPacket> + Clone,
    ) {
        self.rtt = Some(info.rtt);
        self.follow_echoes(now, info, acked.clone());
        self.steer(now, info, acked.clone());
        self.grow_window(now, info, acked);
        if self.probing.take_settled(now, info.rtt) {
            self.conclude(now);
        }
        self.report(now, info);
    }

    /// Packets were declared lost.
    pub fn on_loss(&mut self, now: Timestamp, info: &LossInfo, lost: impl Iterator<Item = u64>) {
        for number in lost {
            let echo = Echo {
                packet_number: number,
                size: Bytes::ZERO,
                sent: now,
                arrived: now,
                quality: EchoQuality::Lost,
            };
            let _ = self.probing.on_echo(&echo);
            self.losses.on_lost(number);
        }
        self.statistical.on_congestion(now);
        let began = self.reduce_window(now, info.newest_sent);
        self.losses.on_reaction(began);
        if info.persistent_congestion {
            self.window.on_persistent_congestion();
            self.losses.on_proof();
        }
        if let Some(rtt) = self.rtt {
            self.probing
                .abandon(now, rtt, &mut |event| self.reporter.emit(now, event));
        }
    }

    /// A packet that had been declared lost was acknowledged after all.
    pub fn on_spurious_loss(&mut self, number: u64) {
        if self.losses.on_spurious(number) {
            self.window.on_spurious_congestion();
        }
    }

    /// The peer reported packets marked by a congested router (RFC 9002, section 7.1); the newest
    /// of them left at `newest_sent`.
    pub fn on_congestion_experienced(&mut self, now: Timestamp, newest_sent: Timestamp) {
        let began = self.reduce_window(now, newest_sent);
        self.losses.on_reaction(began);
        self.losses.on_proof();
    }

    /// The path carries datagrams of another size.
    pub fn on_max_datagram(&mut self, max_datagram: Bytes) {
        self.max_datagram = max_datagram;
        self.window.on_max_datagram_size(max_datagram);
    }

    /// The window allows more than the application has.
    pub fn on_application_limited(&mut self) {
        self.keeper.on_drained();
        self.pacer.on_drained();
    }

    fn conditions(&self, now: Timestamp, rtt: RoundTrip) -> Conditions {
        Conditions {
            range: if self.config.measurement() && self.probing.is_due(now) {
                self.range()
            } else {
                None
            },
            available: self.believed().map(|estimate| estimate.available),
            window_rate: Bandwidth::from_bytes_over(self.window.window(), rtt.smoothed),
            rtt,
            packet: self.on_wire(self.max_datagram),
            longest_hold: self.longest_hold(&rtt),
            cadence: self.probe_cadence(),
            costly: self.ack_policy.is_understood(),
            allowed: self.window.phase() != Phase::Recovery,
        }
    }

    /// Where the next measurement looks.
    fn range(&self) -> Option<SearchRange> {
        let bound = self.capacity.get();
        let driver: &dyn Estimator = match self.config.estimator() {
            EstimatorKind::Classic => &self.classic,
            EstimatorKind::Statistical => &self.statistical,
        };
        driver
            .next_range(bound)
            .or_else(|| self.classic.next_range(bound))
            .or_else(|| bound.map(SearchRange::first))
            .map(|range| self.unrefuted(range))
            .or_else(|| self.range_above_delivered())
    }

    fn grow_window(
        &mut self,
        now: Timestamp,
        info: &AckInfo,
        acked: impl Iterator<Item = AckedPacket>,
    ) {
        self.usage
            .on_ack(now, info.bytes_in_flight, info.rtt.smoothed);
        let window = self.window.window();
        let application_limited =
            self.usage
                .is_underused(window, self.window.phase(), self.max_datagram);
        // What leaves at a promised rate and no faster is limited by what is wanted. Its window may
        // grow all the same, to what a loss leaves enough of: no burst can come of it.
        let is_paced = self.keeper.bound_on_rate(self.max_datagram).is_some();
        self.statistical
            .set_application_limited(application_limited || is_paced);
        let application_limited = application_limited && !is_paced;
        for AckedPacket { size, sent, .. } in acked {
            self.window.on_ack(&Acked {
                now,
                size,
                sent,
                application_limited,
                smoothed_rtt: info.rtt.smoothed,
                latest_rtt: info.rtt.latest_without(info.ack_delay),
            });
        }
    }

    /// All echoes of a measurement are in.
    fn conclude(&mut self, now: Timestamp) {
        let record = self.probing.record();
        let measurement = record.measurement();
        self.reporter
            .emit(now, Event::MeasurementCompleted { measurement });
        if let Some(mut estimate) = self.classic.on_measurement(record) {
            // The peer's clock puts an arrival up to some round trips ahead of ours.
            estimate.at = estimate.at.min(now);
            let estimator = EstimatorKind::Classic;
            self.reporter.emit(
                now,
                Event::EstimateUpdated {
                    estimator,
                    estimate,
                },
            );
        }
    }

    fn report(&mut self, now: Timestamp, info: &AckInfo) {
        self.break_silence(now);
        self.report_estimate(now, info);
        if info.bytes_in_flight.is_zero() && self.reporter.on_last_ack(now) {
            self.withdraw(now);
        }
    }

    fn report_estimate(&mut self, now: Timestamp, info: &AckInfo) {
        let smoothed_rtt = info.rtt.smoothed;
        self.link_covered = self.statistical.is_link_covered();
        let in_flight = info.bytes_in_flight;
        if !self.reporter.is_report_due(now, smoothed_rtt, in_flight) {
            return;
        }
        if let Some(estimate) = self.statistical.report(now) {
            let estimator = EstimatorKind::Statistical;
            let estimate = self.with_delivered(estimate, smoothed_rtt);
            self.reporter.emit(
                now,
                Event::EstimateUpdated {
                    estimator,
                    estimate,
                },
            );
        }
    }
}
