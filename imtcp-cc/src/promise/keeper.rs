//! Keeps a promise: follows slots, steers the window, foresees how the slot ends, reports.
//!
//! Of the requirement, estimate and acknowledged bytes it makes the slope of congestion avoidance; the
//! arithmetic is in the files beside this one.

use super::bulletin::Bulletin;
use super::forecast::{Outlook, Swing, error_of};
use super::handle::{Promise, PromiseSeat};
use super::history::History;
use super::requirement::{Demand, FEWEST_ROUND_TRIPS, Requirement};
use super::slot_length::{SlotLength, SlotLengthRule};
use super::slots::{
    ControlSlot, EvaluationSlot, Shortfalls, evaluation_rounds, next_target, rounds_up,
};
use super::status::{Cause, Outcome, SlotReport, Status};
use super::steering::{PathRates, Position, Standing, at_least, exactly, k_bw, k_max};
use crate::estimate::Estimate;
use crate::event::Event;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// The control aims above the requirement by at least this share. The last round trip of a slot cannot
/// be corrected any more, and without a margin its chance would decide half of all slots: of two
/// seconds at 40 ms it is a fiftieth.
const LEAST_MARGIN: f64 = 0.02;

/// And by this many times what control slots fall short of their targets: what the last one lacks
/// stays lacking, and twice the root mean square covers nearly all of it.
const MARGIN_SIGMAS: f64 = 2.0;

/// And by this at most: a promise takes no more than it must, and where control slots fall short by
/// more, it is not for want of a higher aim.
const MOST_MARGIN: f64 = 0.1;

/// A slot is at risk when it is more likely missed than kept, and out of it only some way beyond, so
/// that a wavering forecast does not make a wavering status.
const RISK_BELOW: f64 = 0.5;
const SAFE_ABOVE: f64 = 0.6;

/// The least time between two looks at the forecast; otherwise it is half a round trip.
const SHORTEST_LOOK: Duration = Duration::from_millis(5);

/// An estimate that is older than this many of its own averaging windows, and than an evaluation slot,
/// says nothing of now.
const STALE_WINDOWS: u32 = 2;

/// Slots that ended without any event are reported one by one up to this many; after a longer silence
/// there is nobody left who counts them.
const MOST_OVERDUE: u32 = 64;

/// Relative error of the own throughput where it stands in for an estimate.
const OWN_RATE_ERROR: f64 = 0.3;

#[derive(Clone, Copy, Debug)]
pub(crate) struct KeeperSettings {
    pub(crate) rule: SlotLengthRule,
    /// See [`crate::Config::promise_ceiling`].
    pub(crate) ceiling: f64,
    pub(crate) packet_overhead: Bytes,
    pub(crate) requirement: Option<Requirement>,
}

/// The path and the window when an acknowledgement comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathState {
    pub(crate) now: Timestamp,
    pub(crate) smoothed: Duration,
    pub(crate) window: Bytes,
    pub(crate) in_flight: Bytes,
    /// M: UDP payload of a full datagram, and the same on the wire.
    pub(crate) datagram: Bytes,
    pub(crate) on_wire: Bytes,
    pub(crate) estimate: Option<Estimate>,
    /// P, on the wire.
    pub(crate) capacity: Option<Bandwidth>,
    pub(crate) slow_start: bool,
}

/// What the window law is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steering {
    /// As it would by itself.
    Free,
    /// In congestion avoidance, grow by this many bytes per round trip; fewer than none shrinks.
    Slope { bytes_per_round_trip: i64 },
    /// The window has reached what is required of it, and more is not wanted.
    LeaveSlowStart,
}

/// The promise of one path.
#[derive(Debug)]
pub(crate) struct Keeper {
    settings: KeeperSettings,
    seat: PromiseSeat,
    requirement: Option<Requirement>,
    evaluation: Option<EvaluationSlot>,
    control: Option<ControlSlot>,
    length: SlotLength,
    /// How the control slots went; carried from one evaluation slot into the next.
    standing: Standing,
    shortfalls: Shortfalls,
    /// k while it cannot be computed anew.
    slope: f64,
    index: u64,
    status: Status,
    warned: Option<Timestamp>,
    /// How deep the present slot had to go when it began; none where that could not be told.
    depth: Option<Option<f64>>,
    history: History,
    swing: Swing,
    next_window: Timestamp,
    /// Goodput of the last control slot in which data waited.
    own_rate: Option<Bandwidth>,
    next_look: Timestamp,
    latest: Timestamp,
    last_ack: Option<Timestamp>,
    /// Data has waited to be sent since then, as far as it is not accounted for.
    waiting_since: Option<Timestamp>,
}

type Emit<'a> = &'a mut dyn FnMut(Event);

impl Keeper {
    pub(crate) fn new(settings: KeeperSettings) -> Self {
        Self {
            settings,
            seat: PromiseSeat::new(settings.requirement),
            requirement: None,
            evaluation: None,
            control: None,
            length: SlotLength::new(settings.rule),
            standing: Standing::OnTarget,
            shortfalls: Shortfalls::default(),
            slope: 1.0,
            index: 0,
            status: Status::Idle,
            warned: None,
            depth: None,
            history: History::default(),
            swing: Swing::default(),
            next_window: Timestamp::ZERO,
            own_rate: None,
            next_look: Timestamp::ZERO,
            latest: Timestamp::ZERO,
            last_ack: None,
            waiting_since: None,
        }
    }

    pub(crate) fn handle(&self) -> Promise {
        self.seat.handle()
    }

    /// Data waits to be sent.
    pub(crate) fn on_waiting(&mut self, now: Timestamp) {
        self.latest = now;
        self.waiting_since.get_or_insert(now);
    }

    /// The last data that waited was sent, at the latest time that was seen.
    pub(crate) fn on_drained(&mut self) {
        self.account_until(self.latest);
        self.waiting_since = None;
    }

    /// The window was reduced.
    pub(crate) fn on_congestion(&mut self) {
        self.length.on_congestion();
    }

    /// An acknowledgement of `sizes` came. Returns what the window is to do.
    pub(crate) fn on_ack(
        &mut self,
        path: &PathState,
        sizes: impl Iterator<Item = Bytes>,
        emit: Emit<'_>,
    ) -> Steering {
        self.latest = path.now;
        self.follow_requirement(path.now, emit);
        self.follow_path(path);
        if let Some(requirement) = self.requirement {
            self.follow_slots(path, &requirement, emit);
        }
        let goodput = sizes.fold(Bytes::ZERO, |sum, size| {
            sum + size.saturating_sub(self.settings.packet_overhead)
        });
        self.credit(path, goodput);
        if path.now >= self.next_look {
            self.look(path, emit);
        }
        self.requirement
            .map_or(Steering::Free, |requirement| self.steer(path, &requirement))
    }

    fn follow_requirement(&mut self, now: Timestamp, emit: Emit<'_>) {
        let Some(requirement) = self.seat.take_requirement() else {
            return;
        };
        self.requirement = requirement;
        self.evaluation = None;
        self.control = None;
        self.standing = Standing::OnTarget;
        self.warned = None;
        self.status = Status::Idle;
        self.next_look = now;
        emit(Event::PromiseChanged { requirement });
    }

    /// What is learnt of the path whether anything is required or not.
    fn follow_path(&mut self, path: &PathState) {
        if let Some(last) = self.last_ack.replace(path.now) {
            let rtt = path.smoothed.as_secs_f64().max(1e-9);
            let passed = path.now.saturating_since(last).as_secs_f64();
            self.length.on_rounds(passed / rtt);
        }
        if let Some(estimate) = path
            .estimate
            .filter(|estimate| estimate.at >= self.next_window)
        {
            self.swing.on_window(estimate.available.as_bps_f64());
            self.next_window = estimate.at + estimate.window;
        }
    }

    fn follow_slots(&mut self, path: &PathState, requirement: &Requirement, emit: Emit<'_>) {
        let Some(control) = self.control else {
            self.begin_evaluation(path.now, path, requirement);
            let bw = self.required_packets(path, requirement);
            self.begin_control(path, requirement, bw, emit);
            return;
        };
        if !self.is_control_over(path, &control) {
            return;
        }
        // Accounted to the slots that end before they are judged.
        let slot_end = self.evaluation.map_or(path.now, |slot| slot.end);
        self.account_until(path.now.min(slot_end));
        let lasted = path.now.saturating_since(control.start);
        let lacking = self.end_control(path, lasted);
        let crossed = self.end_evaluations(path, requirement, emit);
        let bw = self.required_packets(path, requirement);
        let left = self.control_length(path, requirement);
        // g_0 = bw: an evaluation slot owes nothing to the one before.
        let target = if crossed {
            bw
        } else {
            next_target(bw, lacking, lasted, path.smoothed.saturating_mul(left))
        };
        self.stand(target, lacking, lasted);
        self.begin_control(path, requirement, target, emit);
    }

    /// A control slot ends on time, unless less than another one would be left of the evaluation slot;
    /// with that slot it ends in any case.
    fn is_control_over(&self, path: &PathState, control: &ControlSlot) -> bool {
        let Some(evaluation) = self.evaluation else {
            return true;
        };
        let left = evaluation.end.saturating_since(path.now);
        let least = path.smoothed.saturating_mul(FEWEST_ROUND_TRIPS);
        left.is_zero() || (path.now >= control.end() && left >= least)
    }

    fn begin_evaluation(&mut self, start: Timestamp, path: &PathState, requirement: &Requirement) {
        self.evaluation = Some(EvaluationSlot::new(start, requirement));
        self.warned = None;
        self.depth = self
            .outlook(path)
            .map(|outlook| outlook.depth(requirement.rate()));
        self.next_look = path.now;
    }

    fn begin_control(
        &mut self,
        path: &PathState,
        requirement: &Requirement,
        target: f64,
        emit: Emit<'_>,
    ) {
        let length = self.control_length(path, requirement);
        let mut control = ControlSlot::new(path.now, path.smoothed, length, target);
        control.steered = !path.slow_start;
        self.control = Some(control);
        let goodput = self.goodput_of(path).as_bits_f64();
        emit(Event::ControlSlotStarted {
            target: Bandwidth::from_bps_f64(target * goodput),
            round_trips: length,
        });
    }

    fn control_length(&self, path: &PathState, requirement: &Requirement) -> u32 {
        let whole = evaluation_rounds(requirement.per(), path.smoothed);
        let left = self.evaluation.map_or(whole, |slot| {
            rounds_up(slot.end.saturating_since(path.now), path.smoothed)
        });
        self.length.next(left, whole)
    }

    /// Ends the control slot; returns what it lacks, in packets per second.
    fn end_control(&mut self, path: &PathState, lasted: Duration) -> f64 {
        let Some(control) = self.control else {
            return 0.0;
        };
        let lacking = control.lacking(lasted);
        if let Some(requirement) = self.requirement {
            let whole = evaluation_rounds(requirement.per(), path.smoothed);
            self.length.on_slot(lacking <= 0.0, whole);
            let bw = requirement.rate().as_bps_f64() / self.goodput_of(path).as_bits_f64();
            if control.steered {
                self.shortfalls.add(lacking, lasted, bw, requirement.per());
            }
        }
        if control.wanting + control.srtt >= lasted {
            let bits = self.goodput_of(path).as_bits_f64();
            self.own_rate = Some(Bandwidth::from_bps_f64(control.throughput(lasted) * bits));
        }
        lacking
    }

    /// PT (3) or (4), with g_i - tput_{i-1}. A slot that begins anew is not on target because it is
    /// new: what the last control slot met is what the next one will meet.
    fn stand(&mut self, target: f64, lacking: f64, lasted: Duration) {
        let Some(ended) = self.control else { return };
        self.standing = if lacking > 0.0 {
            Standing::Behind {
                lacking: target - ended.throughput(lasted),
            }
        } else {
            match self.standing {
                Standing::OnTarget => Standing::OnTarget,
                // PT's "exists x": for the rest of this evaluation slot.
                Standing::Behind { .. } if self.evaluation_began_before(ended.start) => {
                    Standing::Behind {
                        lacking: target - ended.throughput(lasted),
                    }
                }
                Standing::Behind { .. } => Standing::OnTarget,
            }
        };
    }

    fn evaluation_began_before(&self, start: Timestamp) -> bool {
        self.evaluation.is_some_and(|slot| slot.start <= start)
    }

    /// Ends all evaluation slots whose time has come; true if there were any.
    fn end_evaluations(
        &mut self,
        path: &PathState,
        requirement: &Requirement,
        emit: Emit<'_>,
    ) -> bool {
        let mut ended = 0;
        while let Some(slot) = self.evaluation.filter(|slot| path.now >= slot.end) {
            self.account_until(slot.end);
            // Read again: accounting changed it.
            let slot = self.evaluation.unwrap_or(slot);
            let outcome = slot.outcome(requirement, path.smoothed);
            self.learn(outcome);
            let report = SlotReport {
                index: self.index,
                start: slot.start,
                end: slot.end,
                required: requirement.rate(),
                achieved: slot.achieved_rate(),
                outcome,
                warned: self.warned,
            };
            self.seat.report(&report);
            emit(Event::SlotEnded { report });
            self.index += 1;
            ended += 1;
            let start = if ended < MOST_OVERDUE {
                slot.end
            } else {
                path.now
            };
            self.begin_evaluation(start, path, requirement);
        }
        ended > 0
    }

    fn learn(&mut self, outcome: Outcome) {
        if let (Some(depth), true) = (self.depth, outcome != Outcome::SourceLimited) {
            self.history.add(depth, outcome.is_kept());
        }
    }

    fn account_until(&mut self, until: Timestamp) {
        let Some(since) = self.waiting_since else {
            return;
        };
        let waited = until.saturating_since(since);
        self.waiting_since = Some(since.max(until));
        if let Some(slot) = &mut self.evaluation {
            slot.wanting += waited;
        }
        if let Some(slot) = &mut self.control {
            slot.wanting += waited;
        }
    }

    fn credit(&mut self, path: &PathState, goodput: Bytes) {
        self.account_until(path.now);
        let packet = self.goodput_of(path).as_f64();
        if let Some(slot) = &mut self.evaluation {
            slot.achieved += goodput;
        }
        if let Some(slot) = &mut self.control {
            slot.achieved += goodput.as_f64() / packet;
        }
    }

    /// Goodput of a full datagram.
    fn goodput_of(&self, path: &PathState) -> Bytes {
        let payload = path.datagram.saturating_sub(self.settings.packet_overhead);
        payload.max(Bytes::new(1))
    }

    /// What the control aims at, in packets per second.
    fn required_packets(&self, path: &PathState, requirement: &Requirement) -> f64 {
        let spare = MARGIN_SIGMAS * self.shortfalls.root_mean_square();
        let aim = 1.0 + (LEAST_MARGIN + spare).min(MOST_MARGIN);
        aim * requirement.rate().as_bps_f64() / self.goodput_of(path).as_bits_f64()
    }

    fn fresh_estimate(&self, path: &PathState) -> Option<Estimate> {
        let per = self.requirement.map_or(Duration::ZERO, |r| r.per());
        path.estimate
            .filter(|estimate| estimate.age(path.now) <= (estimate.window * STALE_WINDOWS).max(per))
    }

    fn steer(&mut self, path: &PathState, requirement: &Requirement) -> Steering {
        let packet = path.datagram.as_f64().max(1.0);
        let window = path.window.as_f64() / packet;
        let srtt = path.smoothed.as_secs_f64();
        let floor = self.required_packets(path, requirement) * srtt;
        if path.slow_start {
            let is_enough = requirement.wanted() == Demand::Exactly && window >= floor;
            return if is_enough {
                Steering::LeaveSlowStart
            } else {
                Steering::Free
            };
        }
        let Some(control) = self.control else {
            return Steering::Free;
        };
        let idle = path
            .now
            .saturating_since(control.start)
            .saturating_sub(control.wanting);
        let position = Position {
            due: control.due() - control.target * idle.as_secs_f64(),
            counted: control.achieved + path.in_flight.as_f64() / packet,
            window,
            length: control.length,
            round: control.round(path.now),
        };
        let wanted = k_bw(&position).unwrap_or(self.slope);
        let most = self
            .fresh_estimate(path)
            .map_or(f64::NEG_INFINITY, |estimate| {
                k_max(
                    &self.path_rates(path, &estimate),
                    self.standing,
                    window,
                    srtt,
                )
            });
        self.slope = match requirement.wanted() {
            Demand::AtLeast => at_least(wanted, most, window),
            Demand::Exactly => exactly(wanted, most, window, floor),
        };
        Steering::Slope {
            bytes_per_round_trip: whole(self.slope * packet),
        }
    }

    fn path_rates(&self, path: &PathState, estimate: &Estimate) -> PathRates {
        let bits = path.on_wire.as_bits_f64().max(1.0);
        PathRates {
            available: estimate.available.as_bps_f64() / bits,
            capacity: path.capacity.map(|capacity| capacity.as_bps_f64() / bits),
            ceiling: self.settings.ceiling,
        }
    }

    /// What is known of the near future, in goodput.
    fn outlook(&self, path: &PathState) -> Option<Outlook> {
        let share = self.goodput_of(path).as_f64() / path.on_wire.as_f64().max(1.0);
        let capacity = path.capacity.map(|capacity| capacity.scaled(share));
        let (available, error, swing, window) = match self.fresh_estimate(path) {
            Some(estimate) => {
                let mean = estimate.available;
                let swing = self.swing.get(mean.as_bps_f64());
                (
                    mean.scaled(share),
                    error_of(estimate.low, estimate.high).scaled(share),
                    Bandwidth::from_bps_f64(swing * share),
                    estimate.window,
                )
            }
            // What one has carried of late was available.
            None => {
                let own = self.own_rate?;
                let swing = self.swing.get(own.as_bps_f64());
                let error = own.scaled(OWN_RATE_ERROR);
                (own, error, Bandwidth::from_bps_f64(swing), path.smoothed)
            }
        };
        Some(Outlook {
            available,
            error,
            swing,
            window,
            capacity,
            ceiling: self.settings.ceiling,
            history: self.history,
        })
    }

    /// Looks ahead, and tells the application.
    fn look(&mut self, path: &PathState, emit: Emit<'_>) {
        self.next_look = path.now + (path.smoothed / 2).max(SHORTEST_LOOK);
        let outlook = self.outlook(path);
        let status = self.foresee(path, outlook.as_ref());
        let is_news = !same_kind(status, self.status);
        self.status = status;
        if matches!(status, Status::AtRisk { .. } | Status::Broken { .. }) {
            self.warned.get_or_insert(path.now);
        }
        if is_news {
            emit(Event::PromiseStatusChanged { status });
        }
        self.seat.publish(Bulletin {
            smoothed_rtt: Some(path.smoothed),
            capacity: path.capacity,
            requirement: self.requirement,
            estimate: path.estimate,
            outlook,
            status,
        });
    }

    fn foresee(&self, path: &PathState, outlook: Option<&Outlook>) -> Status {
        let (Some(requirement), Some(slot)) = (self.requirement, self.evaluation) else {
            return Status::Idle;
        };
        let left = slot.end.saturating_since(path.now);
        let missing = self.missing(&slot, &requirement, path);
        if missing.is_zero() {
            return Status::Kept;
        }
        let Some(outlook) = outlook else {
            // Nothing is known yet, nothing speaks against it.
            return Status::Kept;
        };
        let needed = Bandwidth::from_bytes_over(missing, left).unwrap_or(Bandwidth::MAX);
        if outlook.capacity.is_some_and(|capacity| needed > capacity) {
            return Status::Broken { shortfall: missing };
        }
        let share = left.as_secs_f64() / requirement.per().as_secs_f64();
        let probability = outlook.probability(needed, left, share);
        let bound = match self.status {
            Status::AtRisk { .. } | Status::Broken { .. } => SAFE_ABOVE,
            _ => RISK_BELOW,
        };
        if probability >= bound {
            return Status::Kept;
        }
        let likely = outlook.available.min(needed).bytes_in(left);
        Status::AtRisk {
            cause: self.cause(path, &requirement, needed, outlook),
            shortfall: missing.saturating_sub(likely),
        }
    }

    /// The goodput that the slot still has to deliver, the source permitting.
    fn missing(&self, slot: &EvaluationSlot, requirement: &Requirement, path: &PathState) -> Bytes {
        let passed = path.now.saturating_since(slot.start);
        let idle = passed.saturating_sub(slot.wanting);
        // Less than a round trip may be idle between two writes of a busy source.
        let excused = if idle > path.smoothed {
            requirement.rate().bytes_in(idle)
        } else {
            Bytes::ZERO
        };
        EvaluationSlot::due(requirement)
            .saturating_sub(excused)
            .saturating_sub(slot.achieved)
    }

    fn cause(
        &self,
        path: &PathState,
        requirement: &Requirement,
        needed: Bandwidth,
        outlook: &Outlook,
    ) -> Cause {
        if requirement.per() < path.smoothed * FEWEST_ROUND_TRIPS {
            Cause::RoundTrip
        } else if needed <= outlook.available {
            Cause::Window
        } else if needed > outlook.reach()
            && self.settings.ceiling < 1.0
            && outlook.capacity.is_some()
        {
            Cause::Ceiling
        } else {
            Cause::Crowded
        }
    }
}

/// A changed shortfall alone is no news.
fn same_kind(one: Status, other: Status) -> bool {
    match (one, other) {
        (Status::AtRisk { cause: one, .. }, Status::AtRisk { cause: other, .. }) => one == other,
        _ => std::mem::discriminant(&one) == std::mem::discriminant(&other),
    }
}

/// Rounded towards zero; saturates.
#[expect(
    clippy::cast_possible_truncation,
    reason = "saturating is what is wanted"
)]
fn whole(bytes: f64) -> i64 {
    bytes as i64
}
