//! Decides when packets leave. This is the last room of the pipe.
//!
//! The control unit releases the packets of probe streams. The pacer releases all other packets.
//! The guard limits both: it bounds how much later a packet leaves than it would without measuring.

mod ack_policy;
mod budget;
mod closed_loop;
mod conditions;
mod control_unit;
mod gather;
mod guard;
mod known;
mod pacer;
mod pacing;
mod pause;
mod probing;
mod rush;
mod settings;

pub use settings::{StoreTarget, StoreTimer};

pub(crate) use known::Known;
pub(crate) use settings::{PACKET_OVERHEAD, SchedulerSettings};

use crate::control::{Phase, Steering};
use crate::measurement::Step;
use crate::measurement::range::SearchRange;
use crate::path::PathView;
use crate::path::ack::EchoCadence;
use crate::transport::{AckRequest, PeerAcks, Release, RoundTrip, SendRequest, SentPacket};
use crate::units::{Bandwidth, Bytes, Timestamp};
use ack_policy::{AckPolicy, Place};
use budget::{Budget, Lateness};
use conditions::Conditions;
use control_unit::{ControlUnit, Ready, Transition, Verdict};
use gather::Gather;
use guard::{Guard, Held, MeanRate};
use pacer::{Pace, Pacer, PacingPlan};
use probing::Probing;

/// Decides when each packet of a path leaves.
#[derive(Debug)]
pub(crate) struct Scheduler {
    settings: SchedulerSettings,
    probing: Probing,
    pacer: Pacer,
    gather: Gather,
    guard: Guard,
    ack_policy: AckPolicy,
    /// The place that the packet just released has in a stream or in a train.
    place: Place,
    /// Whether the congestion window is what limits the transfer, and neither the application's
    /// data nor a promised rate.
    is_window_limited: bool,
}

impl Scheduler {
    pub(crate) fn new(settings: SchedulerSettings) -> Self {
        Self {
            settings,
            probing: Probing::new(&settings),
            pacer: Pacer::new(),
            gather: Gather::default(),
            guard: Guard::new(),
            ack_policy: AckPolicy::default(),
            place: Place::Other,
            is_window_limited: false,
        }
    }

    /// The control unit's state, by the name that the paper gives it (IM 3.3).
    pub(crate) fn state_name(&self) -> &'static str {
        self.probing.state_name()
    }

    /// When the next packet is due, as of the latest question, if it follows another one of the
    /// same stream or train.
    pub(crate) fn due_in_sequence(&self) -> Option<Timestamp> {
        let in_stream = self.probing.due_in_stream();
        in_stream.or_else(|| self.pacer.due_in_train())
    }

    /// The mean rate at which packets leave, in bits of UDP payload per second; `None` if nothing
    /// spaces them.
    #[inline]
    pub(crate) fn pacing_rate(&self, rtt: &RoundTrip, known: &Known<'_>) -> Option<Bandwidth> {
        match self.settings.pacing {
            true => Some(known.pacing_rate(rtt)),
            false => known.rate_without_pacing(),
        }
    }

    /// The oldest step of a measurement that has not been taken yet.
    pub(crate) fn take_step(&mut self) -> Option<Step> {
        self.probing.take_step()
    }

    /// Says whether the next packet may leave. The same question at the same time gets the same
    /// answer. `next_range` is called only if a measurement is due.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now: Timestamp,
        request: &SendRequest,
        known: &Known<'_>,
        next_range: impl FnOnce() -> Option<SearchRange>,
    ) -> Release {
        // Before the first acknowledgement nothing is known of the path. The first flight leaves
        // at once, and the acknowledgements release the rest.
        let Some(rtt) = known.path.rtt else {
            return Release::Now;
        };
        if request.retransmission {
            // Lost data goes first, and all stored packets are released with it (IM 3.5.3).
            self.probing.abandon(now, rtt);
        } else if request.queued.is_zero() {
            self.on_drained();
            self.gather.reset();
            self.guard.on_nothing_ready(now);
            return Release::Now;
        }
        let ready = known.ready(request);
        if ready.packets == 0 && !request.retransmission {
            self.gather.reset();
            self.guard.on_nothing_ready(now);
            return Release::Hold;
        }
        self.is_window_limited = known.is_window_limited(request);
        let burst = self.burst(now, &rtt, known);
        if let Some(until) = self.gathers_until(now, &rtt, ready, burst) {
            self.guard.on_nothing_ready(now);
            return Release::At(until);
        }
        let held = self.held(&rtt, ready, request, known);
        self.guard.on_question(now, &held);
        let wanted = self.wanted_release(now, rtt, (ready, burst), request, known, next_range);
        let answer = self.guard.bound(now, wanted, &held);
        if answer == Release::Now && wanted != Release::Now && self.probing.is_sending() {
            // The guard released the packet earlier than the stream planned. The packet still
            // belongs to the stream, and its real send time counts.
            self.place = Place::Probe;
        }
        answer
    }

    /// Until when the packets that are ready wait for the rest of their burst.
    #[inline]
    fn gathers_until(
        &mut self,
        now: Timestamp,
        rtt: &RoundTrip,
        ready: Ready,
        burst: Option<u32>,
    ) -> Option<Timestamp> {
        let Some(burst) = burst.filter(|_| !self.pacer.is_in_train()) else {
            self.gather.reset();
            return None;
        };
        self.gather.wait(now, ready.packets, burst, rtt.smoothed)
    }

    /// When the measurement and the pacer want the next packet to leave.
    fn wanted_release(
        &mut self,
        now: Timestamp,
        rtt: RoundTrip,
        (ready, burst): (Ready, Option<u32>),
        request: &SendRequest,
        known: &Known<'_>,
        next_range: impl FnOnce() -> Option<SearchRange>,
    ) -> Release {
        let verdict = if self.only_watches(known.steering) {
            if burst.is_none() {
                self.pacer.on_drained();
            }
            self.probing.abandon(now, rtt);
            Verdict::Pass
        } else if self.probing.is_resting(now) {
            Verdict::Pass
        } else {
            let conditions = self.conditions(now, rtt, request, known, next_range);
            self.probing.next(now, ready, &conditions)
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
                // The closure below borrows all of `self`, so the pacer is moved out of it.
                let mut pacer = std::mem::take(&mut self.pacer);
                let plan = || self.pacing_plan(burst, known);
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

    fn conditions(
        &self,
        now: Timestamp,
        rtt: RoundTrip,
        request: &SendRequest,
        known: &Known<'_>,
        next_range: impl FnOnce() -> Option<SearchRange>,
    ) -> Conditions {
        let is_wanted = self.settings.measurement && self.probing.is_due(now);
        let range = if is_wanted { next_range() } else { None };
        let longest_hold = self.longest_hold(&rtt, known.path);
        let may_hold = self.guard.may_measure(self.is_window_limited) && !longest_hold.is_zero();
        Conditions {
            range,
            available: known.available(),
            shown_capacity: known.path.shown_capacity(),
            window_rate: Bandwidth::from_bytes_over(known.window.size, rtt.smoothed),
            rtt,
            packet: known.path.packet(),
            longest_hold,
            lateness: self.guard.usual_lateness(),
            cadence: self.probe_cadence(known.path),
            costly: self.ack_policy.is_understood(),
            // A retransmission ends any measurement, so none begins while one waits.
            allowed: known.window.phase != Phase::Recovery && !request.retransmission && may_hold,
        }
    }

    /// How often the peer echoes the packets of a stream. Every packet has an echo of its own if
    /// the peer tells arrival times, or if it grants immediate acknowledgements.
    fn probe_cadence(&self, path: &PathView) -> EchoCadence {
        if path.by_peer || self.ack_policy.is_understood() {
            EchoCadence::EveryPacket
        } else {
            path.cadence
        }
    }

    /// Whether no packet is held back, because the window limits the transfer.
    ///
    /// A packet that waits for a train or a stream is not in flight, and the packets of other flows
    /// overtake it at the queue. In the scenario `goodput-beside-reno` the ratio of the flow's
    /// goodput to the Reno flow's was a fifth higher with probe streams than without, although each
    /// packet waited for less than a millisecond. A full window keeps the tight link busy, so its
    /// packets tell as much without streams.
    ///
    /// There are two exceptions. The paper's estimator reads nothing but streams. A source that
    /// sends at a promised rate is limited by that rate and not by the window.
    fn only_watches(&self, steering: &Steering) -> bool {
        let loses_trains = steering
            .gathered_packets
            .is_some_and(|packets| packets < 2.0);
        (self.is_window_limited || loses_trains) && self.settings.reads_all_packets
    }

    /// A packet that counts as in flight left. Its size on the wire is `size`.
    #[inline]
    pub(crate) fn on_sent(
        &mut self,
        now: Timestamp,
        packet: &SentPacket,
        size: Bytes,
        known: &Known<'_>,
    ) {
        let Some(rtt) = known.path.rtt else { return };
        let rate = self.pacing_rate(&rtt, known).unwrap_or(Bandwidth::MAX);
        let mean = known.mean_rate(rate, &rtt);
        if !packet.released {
            self.guard.on_unasked(now, packet.size, mean);
            return;
        }
        self.probing.on_sent(now, packet.number, size, rtt);
        self.pacer.on_sent(now, self.guard.credit());
        self.guard.on_sent(now, packet.size, mean);
    }

    /// An acknowledgement came.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Timestamp) {
        self.guard.on_ack(now);
    }

    /// Ends the measurement early: its remaining streams are not needed (IM 3.2.3).
    pub(crate) fn stop_early(&mut self, now: Timestamp) {
        self.probing.stop_early(now);
    }

    /// True once per measurement: when all its echoes are in (`is_settled`), or when the missing
    /// ones are not expected any more. `is_told` says whether a value is known.
    #[inline]
    pub(crate) fn take_settled(
        &mut self,
        now: Timestamp,
        rtt: RoundTrip,
        is_told: impl FnOnce() -> bool,
        is_settled: impl FnOnce() -> bool,
    ) -> bool {
        self.probing.take_settled(now, rtt, is_told, is_settled)
    }

    /// Packets were lost. A measurement under way is given up.
    pub(crate) fn on_loss(&mut self, now: Timestamp, path: &PathView) {
        if let Some(rtt) = path.rtt {
            self.probing.abandon(now, rtt);
        }
    }

    /// The application has nothing to send.
    pub(crate) fn on_drained(&mut self) {
        self.guard.on_drained();
        self.pacer.on_drained();
        self.probing.on_drained();
    }

    /// The peer's transport parameters are known.
    pub(crate) fn on_peer_acks(&mut self, peer: PeerAcks) {
        if self.settings.ack_frequency {
            self.ack_policy.on_peer(peer);
        }
    }

    /// Whether the packet that was just released asks for an acknowledgement of its own. Call it
    /// once for each packet.
    pub(crate) fn immediate_ack(&mut self, path: &PathView) -> bool {
        let is_limited = !self.is_window_limited;
        let measures = self.settings.measurement
            && self
                .ack_policy
                .wants_immediate(self.place, is_limited, path.by_peer);
        measures || self.ack_policy.acknowledges_each()
    }

    /// A request for the way in which the peer acknowledges from now on; `None` if nothing
    /// changes.
    pub(crate) fn ack_request(&mut self, now: Timestamp, known: &Known<'_>) -> Option<AckRequest> {
        let rtt = known.path.rtt?;
        let window = u32::try_from(known.window_packets()).unwrap_or(u32::MAX);
        let is_doubling = known.window.phase == Phase::SlowStart;
        self.ack_policy
            .request(now, rtt.smoothed, window, is_doubling)
    }
}
