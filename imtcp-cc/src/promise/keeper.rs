//! The keeper of a promise: it follows slots, steers the window, foresees how the slot ends, and
//! reports.
//!
//! It computes the slope of congestion avoidance from the requirement, the estimate and the
//! acknowledged bytes. The arithmetic is in the files beside this one.

mod demand;
mod foresight;
mod path_state;
mod rates;
mod slot_by_slot;
mod steer;

use super::answers::Answers;
use super::changes::Changes;
use super::dropped::Dropped;
use super::exit::Exit;
use super::handle::Promise;
use super::history::History;
use super::law::PromiseLaw;
use super::margin::Margin;
use super::repeats::Repeats;
use super::requirement::Requirement;
use super::seat::PromiseSeat;
use super::share::{Bounds, Share};
use super::slot_length::{SlotLength, SlotLengthRule};
use super::slots::{ControlSlot, EvaluationSlot};
use super::status::Status;
use super::steering::Standing;
use super::weight::Weight;
use crate::bulk_share::BulkShare;
use crate::control::{Phase, Steering, Window};
use crate::estimate::Estimate;
use crate::event::Emit;
use crate::measurement::Findings;
use crate::mode::Mode;
use crate::path::{PathInfo, PathView};
use crate::transport::{Acked, SentPacket};
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use path_state::{Grouped, PathState};
use std::net::IpAddr;
use std::time::Duration;

/// The age at which an estimate no longer counts, in its own averaging windows. It must also be
/// older than an evaluation slot.
const STALE_WINDOWS: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub(crate) struct KeeperSettings {
    pub(crate) law: PromiseLaw,
    pub(crate) rule: SlotLengthRule,
    /// See [`crate::Config::promise_ceiling`].
    pub(crate) ceiling: f64,
    /// See [`crate::Config::promise_weight`].
    pub(crate) weight: f64,
    /// The law of the window, which says what a standard flow gets.
    pub(crate) window: Window,
    pub(crate) packet_overhead: Bytes,
    pub(crate) requirement: Option<Requirement>,
    pub(crate) mode: Mode,
}

/// Keeps a connection's promise on one path.
#[derive(Debug)]
pub(crate) struct Keeper {
    settings: KeeperSettings,
    seat: PromiseSeat,
    /// The share among the promises on this path.
    share: Share,
    requirement: Option<Requirement>,
    evaluation: Option<EvaluationSlot>,
    control: Option<ControlSlot>,
    length: SlotLength,
    weight: Weight,
    exit: Exit,
    /// What requirements that were replaced amid a slot had.
    dropped: Dropped,
    /// Whether the control slots met their targets. It is carried from one evaluation slot into
    /// the next.
    standing: Standing,
    margin: Margin,
    /// k, the slope of the window in packets per round trip. It is used while it cannot be
    /// computed anew.
    slope: f64,
    index: u64,
    status: Status,
    /// The status that was told last. A requirement that has just changed has none to tell yet.
    told_status: Status,
    warned: Option<Timestamp>,
    /// `None` if nothing was known of the path when the present slot began.
    need: Option<Need>,
    history: History,
    changes: Changes,
    /// The available bandwidth of the last window that has no successor yet.
    last_mean: Option<Bandwidth>,
    next_mean_at: Timestamp,
    /// The goodput of the last control slot, and when that slot ended.
    carried: Option<(Bandwidth, Timestamp)>,
    /// The same of the last control slot in which data waited.
    own_rate: Option<(Bandwidth, Timestamp)>,
    next_look: Timestamp,
    latest: Timestamp,
    answers: Answers,
    /// When the outage began that excused slots, if none was kept since.
    excused: Option<Timestamp>,
    /// The state of the path at the last acknowledgement, or while nothing is required at the last
    /// look.
    last_path: Option<PathState>,
    /// The time since which data has waited to be sent, as far as it is not accounted for.
    waiting_since: Option<Timestamp>,
    last_congestion: Option<Timestamp>,
    grouped: Grouped,
    repeats: Repeats,
    /// What was last told of the available bandwidth.
    told: Option<Estimate>,
    /// What a bulk transfer would get, as of the last look.
    bulk_share: Option<BulkShare>,
}

/// What a slot needed when it began; the arguments of [`History::add`].
#[derive(Clone, Copy, Debug)]
struct Need {
    enough: f64,
    depth: f64,
}

impl Keeper {
    pub(crate) fn new(settings: KeeperSettings) -> Self {
        Self {
            settings,
            seat: PromiseSeat::new(settings.requirement, settings.mode),
            share: Share::of_everything(settings.weight),
            requirement: None,
            evaluation: None,
            control: None,
            length: SlotLength::new(settings.rule),
            weight: Weight::new(settings.window, settings.weight),
            exit: Exit::default(),
            dropped: Dropped::default(),
            standing: Standing::OnTarget,
            margin: Margin::default(),
            slope: 1.0,
            index: 0,
            status: Status::Idle,
            told_status: Status::Idle,
            warned: None,
            need: None,
            history: History::default(),
            changes: Changes::default(),
            last_mean: None,
            next_mean_at: Timestamp::ZERO,
            carried: None,
            own_rate: None,
            next_look: Timestamp::ZERO,
            latest: Timestamp::ZERO,
            answers: Answers::default(),
            excused: None,
            last_path: None,
            waiting_since: None,
            last_congestion: None,
            grouped: Grouped::default(),
            repeats: Repeats::default(),
            told: None,
            bulk_share: None,
        }
    }

    /// The path that the handle speaks of.
    pub(crate) fn set_path(&mut self, path: PathInfo) {
        self.seat.set_path(path);
    }

    /// This path's promise is one with that of the connection's other paths.
    pub(crate) fn share(&mut self, promise: &Promise) {
        self.seat = PromiseSeat::beside(promise, self.settings.requirement, self.settings.mode);
    }

    /// The promise is one of those that share `bounds` on the path to `host`.
    pub(crate) fn bounded_by(&mut self, bounds: &Bounds, host: IpAddr) {
        self.share.bounded_by(bounds, host);
    }

    /// The connection ends, on whatever path.
    pub(crate) fn on_closed(&mut self, emit: Emit<'_>) {
        self.seat.end();
        self.on_path_left(emit);
    }

    /// Data no longer takes this path. Its promise ends here, and begins on the path that data
    /// takes next.
    pub(crate) fn on_path_left(&mut self, emit: Emit<'_>) {
        self.seat.leave();
        self.waiting_since = None;
        self.forget_path();
        if self.requirement.is_some() {
            self.begin(None, self.latest, emit);
        }
    }

    /// Data takes another path. What is told begins anew when it takes this one.
    fn forget_path(&mut self) {
        self.carried = None;
        self.own_rate = None;
        // Round trips of another path say nothing of how far this one goes without a loss.
        self.answers = Answers::default();
        self.excused = None;
        self.last_path = None;
        self.bulk_share = None;
        self.told_status = Status::Idle;
    }

    pub(crate) fn handle(&self) -> Promise {
        self.seat.handle()
    }

    /// The mode that the application wants, if that has changed since the last call.
    pub(crate) fn take_mode(&mut self) -> Option<Mode> {
        self.seat.take_mode()
    }

    /// Whether a rate is required.
    pub(crate) fn is_required(&self) -> bool {
        self.requirement.is_some()
    }

    /// The estimate that holds now, or what takes its place.
    pub(crate) fn on_told(&mut self, told: Option<Estimate>) {
        self.told = told;
        self.seat.publish_estimate(told);
    }

    /// Tells that data waits to be sent.
    #[inline]
    pub(crate) fn on_waiting(&mut self, now: Timestamp, emit: Emit<'_>) {
        self.latest = now;
        if self.seat.take_charge() {
            self.index = self.seat.reported();
            self.forget_path();
            // Nobody may have told that this path was left. A slot of then is over.
            self.requirement = None;
        }
        self.waiting_since.get_or_insert(now);
        self.look_into_silence(now, emit);
    }

    /// A packet left. While the window is full nobody asks whether a packet may leave, and only
    /// the probes after a timeout (RFC 9002, section 6.2), which are not released, show a silence.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Timestamp, packet: &SentPacket, emit: Emit<'_>) {
        self.answers.on_sent(now);
        if !packet.released {
            self.repeats.on_probe(packet.number);
            self.latest = now;
            self.look_into_silence(now, emit);
        }
    }

    /// Tells that all waiting data was sent, at the latest time that the keeper has seen.
    pub(crate) fn on_drained(&mut self) {
        self.account_until(self.latest);
        self.waiting_since = None;
    }

    /// A packet was lost that carried data, as far as is known.
    pub(crate) fn on_lost(&mut self, now: Timestamp, datagram: Bytes) {
        let goodput = self.goodput_of_datagram(datagram);
        self.repeats.on_lost(now, goodput);
    }

    /// A congestion event came, whether the window was reduced or not.
    pub(crate) fn on_congestion(&mut self) {
        self.length.on_congestion();
        self.weight.on_congestion();
        self.last_congestion = Some(self.latest);
    }

    /// An acknowledgement came. Returns what the promise asks of window and pacer; `None` while
    /// nothing is required.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        acked: &Acked<'_>,
        path: &PathView,
        findings: &Findings<'_>,
        window: (Bytes, Phase),
        emit: Emit<'_>,
    ) -> Option<Steering> {
        let (now, info) = (acked.now, &acked.info);
        self.latest = now;
        let smoothed = self
            .last_path
            .map_or(info.rtt.smoothed, |path| path.smoothed);
        let awaited = self
            .answers
            .on_ack(now, !info.bytes_in_flight.is_zero(), smoothed);
        self.follow_requirement(now, emit);
        self.follow_path(awaited, info.rtt.smoothed, findings.estimate);
        self.grouped.on_ack(acked.packets.len());
        let mut goodput = self.repeats.take_owed();
        for packet in acked.packets {
            let data = packet.size.saturating_sub(self.settings.packet_overhead);
            goodput += self.repeats.on_acked(now, packet.number, data);
        }
        goodput += self.repeats.take_owed();
        let full = self.goodput_of_datagram(path.max_datagram);
        let packets = goodput.as_f64() / full.as_f64();
        if self.requirement.is_none() && now < self.next_look {
            // Nearly always: nobody reads the state of the path.
            self.credit(now, goodput, packets);
            self.weight.on_packets(packets);
            return None;
        }
        let path = &PathState::new(acked, path, findings, window, self.grouped);
        self.last_path = Some(*path);
        if let Some(requirement) = self.requirement {
            self.follow_slots(path, &requirement, emit);
        }
        self.credit(now, goodput, packets);
        self.weight.on_packets(packets);
        if now >= self.next_look {
            self.bulk_share = Some(self.share_of_bulk(path, findings));
            self.look(path, emit);
        }
        let requirement = self.requirement?;
        Some(self.steer(path, &requirement))
    }

    /// Learns of the path, whether anything is required or not. An answer was awaited for so long.
    #[inline]
    fn follow_path(&mut self, awaited: Duration, smoothed: Duration, estimate: Option<&Estimate>) {
        let rtt = Nanos::from(smoothed).as_secs_f64().max(1e-9);
        self.length.on_rounds(awaited.as_secs_f64() / rtt);
        if let Some(estimate) = estimate.filter(|estimate| estimate.at >= self.next_mean_at) {
            let mean = estimate.available;
            // What changed in a longer time is no change from one window to the next.
            let follows = estimate.at <= self.next_mean_at + estimate.window * STALE_WINDOWS;
            if let Some(last) = self.last_mean.replace(mean).filter(|_| follows) {
                self.changes
                    .add(mean.max(last).saturating_sub(mean.min(last)));
            }
            self.next_mean_at = estimate.at + estimate.window;
        }
    }

    #[inline]
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

    /// Counts what got through: its bytes, and as full packets.
    #[inline]
    fn credit(&mut self, now: Timestamp, goodput: Bytes, packets: f64) {
        self.account_until(now);
        if let Some(slot) = &mut self.evaluation {
            slot.achieved += goodput;
        }
        if let Some(slot) = &mut self.control {
            slot.achieved += packets;
        }
    }

    fn fresh_estimate(&self, path: &PathState) -> Option<Estimate> {
        let per = self.period();
        path.estimate
            .filter(|estimate| estimate.age(path.now) <= (estimate.window * STALE_WINDOWS).max(per))
    }

    /// The length of an evaluation slot; zero while there is none.
    fn period(&self) -> Duration {
        self.requirement.map_or(Duration::ZERO, |r| r.per())
    }
}

#[cfg(test)]
mod tests;
