//! The controller of one path. It connects five rooms in a row and owns no arithmetic.
//!
//! ```text
//!   acknowledgement -> path -> measuring -> promise -> window -> scheduler -> release
//!                     echoes   estimates    steering   bytes
//!                     gaps     next range
//! ```
//!
//! What every acknowledgement and every packet pass, and what has one caller, is marked `#[inline]`
//! in all rooms: the compiler divides the crate into units, and keeps functions of different units
//! apart. Without the marks an acknowledgement costs 500 instructions more.

use crate::config::Config;
use crate::control::{Phase, Response, Steering};
use crate::estimate::{Estimate, EstimatorKind};
use crate::event::{Event, Subscriber};
use crate::log::{Log, Logged};
use crate::measurement::Measuring;
use crate::mode::Governor;
use crate::path::{Path, PathInfo};
use crate::promise::{Bounds, Keeper, Promise};
use crate::saved::SavedPath;
use crate::scheduler::{Known, Scheduler};
use crate::stream_report::Plans;
use crate::transport::{AckRequest, Acked, LossInfo, PeerAcks, Release, SendRequest, SentPacket};
use crate::units::{Bandwidth, Bytes, Timestamp};
use crate::window::CongestionWindow;
use std::net::IpAddr;
use std::sync::Arc;

/// The controller of one path. A transport asks it when the next packet may leave, and tells it
/// what happened.
#[derive(Debug)]
pub struct ImTcp {
    path: Path,
    measuring: Measuring,
    promise: Keeper,
    mode: Governor,
    steering: Steering,
    window: CongestionWindow,
    scheduler: Scheduler,
    log: Log,
    plans: Plans,
}

/// The scheduler's view of the other rooms. It is a macro, because a function of `&self` would
/// borrow the scheduler as well.
macro_rules! known {
    ($core:expr) => {
        Known {
            path: $core.path.view(),
            findings: $core.measuring.findings(),
            window: $core.window.view(),
            steering: &$core.steering,
        }
    };
}

impl ImTcp {
    /// A controller for a path whose full datagrams are `max_datagram` bytes of UDP payload. The
    /// subscriber, if there is one, hears every [`Event`](crate::event::Event).
    pub fn new(
        config: Config,
        max_datagram: Bytes,
        subscriber: Option<Arc<dyn Subscriber>>,
    ) -> Self {
        let packets = config.initial_window_packets();
        Self {
            path: Path::new(
                max_datagram,
                config.packet_overhead(),
                config.header_overhead(),
                config.window(),
            ),
            measuring: Measuring::new(config.measuring_settings()),
            promise: Keeper::new(config.keeper_settings()),
            mode: Governor::new(config.mode()),
            steering: Steering::default(),
            window: CongestionWindow::new(config.window(), packets, max_datagram),
            scheduler: Scheduler::new(config.scheduler_settings()),
            log: Log::new(subscriber),
            plans: Plans::default(),
        }
    }

    /// The same controller with the identity of its path, which [`Promise`] then tells.
    #[must_use]
    pub fn on_path(mut self, path: PathInfo) -> Self {
        self.promise.set_path(path);
        self
    }

    /// The same with what an earlier connection knew of the path. The window jumps to it if the
    /// first round trip confirms it (draft-ietf-tsvwg-careful-resume).
    #[must_use]
    pub fn remembering(mut self, saved: SavedPath) -> Self {
        self.window.resume(self.path.view().saved_as_payload(saved));
        self
    }

    /// What a later connection over the same path should know; `None` while nothing is known.
    pub fn saved_path(&self) -> Option<SavedPath> {
        self.measuring.saved(self.path.view())
    }

    /// The same, as another path of a connection that has a promise: it becomes this path's when
    /// data takes this path. To be said before [`ImTcp::on_path`]. Only one path of a connection
    /// may be used at a time.
    #[must_use]
    pub fn sharing(mut self, promise: &Promise) -> Self {
        self.promise.share(promise);
        self
    }

    /// The same with a promise that shares the bounds of a path with the other promises in
    /// `bounds`. `host` names the path: controllers with the same one share its tight link, as
    /// far as anybody knows.
    #[must_use]
    pub fn bounded_by(mut self, bounds: &Bounds, host: IpAddr) -> Self {
        self.promise.bounded_by(bounds, host);
        self
    }

    /// The connection's data no longer takes this path. It does again if [`ImTcp::next_release`] is
    /// asked.
    pub fn on_path_left(&mut self, now: Timestamp) {
        let log = &mut self.log;
        self.promise.on_path_left(&mut |event| log.emit(now, event));
        self.scheduler.on_drained();
        self.steering = Steering::default();
    }

    /// The connection ends, and with it the promise. Otherwise it ends with the last controller of
    /// the connection.
    pub fn on_closed(&mut self, now: Timestamp) {
        let log = &mut self.log;
        self.promise.on_closed(&mut |event| log.emit(now, event));
        self.steering = Steering::default();
    }

    /// The handle of the promise of this path's connection, for any thread.
    pub fn promise(&self) -> Promise {
        self.promise.handle()
    }

    /// The congestion window, in bytes of UDP payload (RFC 9002, section 7).
    pub fn cwnd(&self) -> Bytes {
        self.window.size()
    }

    /// The largest size of the next packet, in bytes of UDP payload. It is smaller than the path
    /// allows where a window of few packets loses many of them, unless the window is Reno's.
    pub fn packet_size(&self) -> Bytes {
        self.path.view().datagram
    }

    /// The slow-start threshold in bytes of UDP payload (RFC 9002, section 7.3); `None` before the
    /// first congestion.
    pub fn ssthresh(&self) -> Option<Bytes> {
        self.window.slow_start_threshold()
    }

    /// The mean rate at which packets leave, in bits of UDP payload per second (RFC 9002,
    /// section 7.7); `None` before the first round trip, and if nothing spaces packets
    /// ([`Config::pacing`]).
    pub fn pacing_rate(&self) -> Option<Bandwidth> {
        let known = known!(self);
        self.scheduler.pacing_rate(&known.path.rtt?, &known)
    }

    /// The latest estimate of the configured estimator. While it has nothing to tell
    /// ([`EstimateWithdrawn`](crate::event::Event::EstimateWithdrawn)), it is a lower bound
    /// ([`crate::Flags::lower_bound`]), and
    /// `None` if nothing was delivered lately.
    pub fn estimate(&self) -> Option<Estimate> {
        self.measuring.told()
    }

    /// The latest estimate of either estimator.
    pub fn estimate_of(&self, estimator: EstimatorKind) -> Option<Estimate> {
        self.measuring.latest(estimator)
    }

    /// The capacity of the tight link, in IP-layer bits per second (RFC 5136, section 2.3); `None`
    /// while it is not known.
    pub fn capacity(&self) -> Option<Bandwidth> {
        self.path.view().capacity
    }

    /// The phase of the window law (RFC 9002, section 7.3).
    pub fn phase(&self) -> Phase {
        self.window.phase()
    }

    /// The state of the control unit, by the name that the paper gives it (IM 3.3):
    /// `"store_packet"`, `"pass_packet"`, `"send_stream"` or `"empty_buffer"`.
    pub fn control_unit_state(&self) -> &'static str {
        self.scheduler.state_name()
    }

    /// When the next packet is due, as of the latest question, if it follows another one of the
    /// same probe stream or train. The distance of the two is measured with, so a transport should
    /// send the packet by itself and at its time.
    pub fn due_in_sequence(&self) -> Option<Timestamp> {
        self.scheduler.due_in_sequence()
    }

    /// Keeps a log for [`ImTcp::take_logged`] from now on. It keeps the latest 256 entries and
    /// drops older ones.
    pub fn keep_log(&mut self) {
        self.log.keep();
    }

    /// Keeps a log with a report on each probe stream ([`Logged::Stream`]). Each report is made of
    /// new memory, of which the controller takes none otherwise while it runs.
    pub fn keep_log_of_streams(&mut self) {
        self.log.keep_streams();
    }

    /// The oldest kept entry and its time; `None` if there is none.
    pub fn take_logged(&mut self) -> Option<(Timestamp, Logged)> {
        self.log.take()
    }

    /// Says whether the next packet may leave. The same question at the same time gets the same
    /// answer.
    #[inline]
    pub fn next_release(&mut self, now: Timestamp, request: &SendRequest) -> Release {
        if !request.queued.is_zero() {
            let log = &mut self.log;
            self.promise
                .on_waiting(now, &mut |event| log.emit(now, event));
        }
        let known = known!(self);
        let next_range = || self.measuring.next_range(now, self.path.view());
        let answer = self.scheduler.next(now, request, &known, next_range);
        self.follow_steps(now);
        answer
    }

    /// A 1-RTT packet that counts as in flight (RFC 9002, section 2) left at `now`.
    #[inline]
    pub fn on_packet_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        let size = self.path.on_sent(now, packet);
        self.window.on_sent(packet);
        let known = known!(self);
        if known.path.rtt.is_some() {
            if self.log.keeps_streams() && packet.released {
                let due = self.scheduler.due_in_sequence().unwrap_or(now);
                self.plans.on_sent(packet.number, due);
            }
            self.scheduler.on_sent(now, packet, size, &known);
            let log = &mut self.log;
            let emit = &mut |event| log.emit(now, event);
            self.measuring.on_sent(now, packet.number, emit);
            self.promise.on_sent(now, packet, emit);
            self.publish_news();
        } else if packet.released {
            self.measuring.on_first_flight(now, packet.number, size);
        }
        self.follow_steps(now);
    }

    /// An acknowledgement came.
    #[inline]
    pub fn on_ack(&mut self, acked: &Acked<'_>) {
        let (now, info) = (acked.now, &acked.info);
        let log = &mut self.log;
        let emit = &mut |event| log.emit(now, event);
        self.scheduler.on_ack(now);
        let heard = self.path.on_ack(acked);
        if self.measuring.on_heard(&heard, emit) {
            self.scheduler.stop_early(now);
        }
        if self.log.take_judged() {
            self.log_streams(now, false);
        }
        self.measuring.on_acked(acked, self.path.view());
        let log = &mut self.log;
        let emit = &mut |event| log.emit(now, event);
        let (path, findings) = (self.path.view(), self.measuring.findings());
        let window = (self.window.size(), self.window.phase());
        let asked = self.promise.on_ack(acked, path, &findings, window, emit);
        if let Some(mode) = self.promise.take_mode()
            && self.mode.set(mode)
        {
            emit(Event::ModeChanged { mode });
        }
        let wants_enough = self.window.is_starting() || self.mode.reads_the_start();
        let enough = wants_enough.then(|| self.measuring.enough(path)).flatten();
        let enough = enough.as_ref();
        self.steering = match asked {
            Some(steering) => {
                self.mode.rest();
                steering
            }
            None => self.mode.on_ack(acked, path, &findings, window, enough),
        };
        let is_limited = self.window.on_ack(acked, &self.steering, enough);
        let is_bunched = is_limited && self.scheduler.leaves_in_bunches(path);
        self.measuring
            .set_application_limited(is_limited, is_bunched);
        self.measuring
            .set_growing(self.window.is_growing() && !is_limited);
        let is_settled = || self.measuring.is_settled();
        let is_told = || {
            let estimate = self.measuring.findings().estimate;
            estimate.is_some_and(|estimate| !estimate.flags.lower_bound)
        };
        if self
            .scheduler
            .take_settled(now, info.rtt, is_told, is_settled)
        {
            self.measuring.conclude(now, emit);
            self.log_streams(now, true);
        }
        let log = &mut self.log;
        let emit = &mut |event| log.emit(now, event);
        if self.measuring.report(now, info, self.path.view(), emit) {
            self.path.forget_capacity();
        }
        self.publish_news();
        self.path_follows_window();
        self.follow_steps(now);
    }

    /// Packets were declared lost; `lost` are their numbers.
    pub fn on_loss(&mut self, now: Timestamp, info: &LossInfo, lost: impl Iterator<Item = u64>) {
        for number in lost {
            self.measuring.on_lost(now, number);
            self.path.on_lost();
            self.promise.on_lost(now, self.path.view().datagram);
            // As with acknowledgements, the mode rests while a rate is required.
            if !self.promise.is_required() {
                self.mode.on_lost();
            }
            self.window.on_lost(number);
        }
        let response = self.window.on_loss(now, info);
        self.on_response(response);
        self.path_follows_window();
        self.scheduler.on_loss(now, self.path.view());
        self.follow_steps(now);
    }

    #[inline]
    fn path_follows_window(&mut self) {
        let (size, phase) = (self.window.size(), self.window.phase());
        self.path.on_window(size, phase, self.promise.is_required());
    }

    /// A packet that had been declared lost was acknowledged after all.
    pub fn on_spurious_loss(&mut self, number: u64) {
        self.window.on_spurious_loss(number);
    }

    /// The peer reported packets that a congested router had marked (RFC 9002, section 7.1). The
    /// newest of them left at `newest_sent`.
    pub fn on_congestion_experienced(&mut self, now: Timestamp, newest_sent: Timestamp) {
        let response = self.window.on_mark(now, newest_sent);
        self.on_response(response);
    }

    /// The promise counts congestion events, and the mode hears what they did to its window.
    fn on_response(&mut self, response: Response) {
        if response != Response::Nothing {
            self.promise.on_congestion();
        }
        if response == Response::Reduced && !self.promise.is_required() {
            self.mode.on_congestion();
        }
    }

    /// The size of the path's full datagrams changed, in bytes of UDP payload.
    pub fn on_max_datagram(&mut self, max_datagram: Bytes) {
        self.path.on_max_datagram(max_datagram);
        self.window.on_max_datagram(max_datagram);
    }

    /// The application has less data than the window allows.
    pub fn on_application_limited(&mut self) {
        self.promise.on_drained();
        self.scheduler.on_drained();
    }

    /// The peer's transport parameters are known.
    pub fn on_peer_acks(&mut self, peer: PeerAcks) {
        self.scheduler.on_peer_acks(peer);
    }

    /// Whether the packet that [`ImTcp::next_release`] has just released asks for an
    /// acknowledgement of its own (IMMEDIATE_ACK of draft-ietf-quic-ack-frequency-14). Call it
    /// once for each packet.
    pub fn immediate_ack(&mut self) -> bool {
        self.scheduler.immediate_ack(self.path.view())
    }

    /// A request for the way in which the peer acknowledges from now on
    /// (draft-ietf-quic-ack-frequency-14); `None` if nothing changes.
    pub fn ack_request(&mut self, now: Timestamp) -> Option<AckRequest> {
        let known = known!(self);
        self.scheduler.ack_request(now, &known)
    }

    /// The handle tells what was just measured, or that it does not hold any more.
    #[inline]
    fn publish_news(&mut self) {
        if let Some(told) = self.measuring.take_news() {
            self.promise.on_told(told);
        }
    }

    /// Logs what became of streams, if anybody wants to know.
    fn log_streams(&mut self, now: Timestamp, is_over: bool) {
        let log = &mut self.log;
        if log.keeps_streams() {
            let push = |report| log.push(now, Logged::Stream(Box::new(report)));
            self.plans.report(&self.measuring, is_over, push);
        }
    }

    /// Passes the scheduler's steps to the record of the measurement and to the subscribers.
    fn follow_steps(&mut self, now: Timestamp) {
        while let Some(step) = self.scheduler.take_step() {
            if self.plans.on_step(&step) {
                self.log_streams(now, true);
            }
            self.measuring.on_step(&step);
            if let Some(event) = step.event() {
                self.log.emit(now, event);
            }
        }
    }
}
