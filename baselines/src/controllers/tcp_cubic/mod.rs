//! TCP CUBIC as Linux has it, with SACK, as a controller of quiche: the rival that flows meet on
//! the Internet.
//!
//! Loss detection is quiche's; it finds losses by three later packets, as SACK does. Window and
//! bursts are the kernel's: an initial window of ten, `HyStart`, the cubic law in whole segments,
//! proportional rate reduction, no growth while losses are repaired, no pacing.

mod bursts;
mod hystart;
mod law;
mod recovery;
mod usage;

use bursts::{Bursts, Sizes};
use hystart::HyStart;
use law::Law;
use quiche::cc::{
    AckReceived, CongestionController, PacketSent, PacketSpace, PacketsLost, PathContext, Release,
    SendContext,
};
use recovery::Recovery;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use usage::Usage;

/// RFC 6928, in segments.
const INITIAL_WINDOW: u64 = 10;
/// The first probe timeout is a tail loss probe, and the second a retransmission timeout.
const TIMEOUT: u32 = 2;
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// What becomes of losses.
#[derive(Debug)]
enum State {
    /// There are none.
    Open,
    /// They are being repaired.
    Recovery(Recovery),
    /// After a timeout, until this packet is acknowledged.
    Timeout { newest: u64 },
}

/// What the window was before a loss that may have been none.
#[derive(Debug)]
struct Before {
    window: u64,
    threshold: u64,
    lost: BTreeSet<u64>,
}

/// The controller of one path. Windows are in whole segments.
#[derive(Debug)]
pub struct TcpCubic {
    origin: Instant,
    /// Bytes of a segment.
    segment: u64,
    window: u64,
    /// The slow start threshold.
    threshold: u64,
    /// Acknowledged segments that have not made the window grow yet.
    credit: u64,
    law: Law,
    hystart: HyStart,
    usage: Usage,
    bursts: Bursts,
    state: State,
    /// Something was found lost by the acknowledgement that comes next.
    newly_lost: bool,
    before: Option<Before>,
    newest: u64,
    smoothed: Duration,
    /// What the kernel's retransmission timer would be.
    timeout: Duration,
    last_sent: Duration,
}

impl TcpCubic {
    /// A controller of a path that nothing is known of.
    pub fn new(path: &PathContext) -> Self {
        Self {
            origin: path.now,
            segment: path.max_datagram_size as u64,
            window: INITIAL_WINDOW,
            threshold: u64::MAX,
            credit: 0,
            law: Law::default(),
            hystart: HyStart::default(),
            usage: Usage::default(),
            bursts: Bursts::default(),
            state: State::Open,
            newly_lost: false,
            before: None,
            newest: 0,
            smoothed: path.initial_rtt,
            timeout: LEAST_TIMEOUT,
            last_sent: Duration::ZERO,
        }
    }

    fn time(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.origin)
    }

    fn segments(&self, bytes: usize) -> u64 {
        (bytes as u64).div_ceil(self.segment)
    }

    fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    fn group(&self) -> u64 {
        let sizes = Sizes {
            window: self.window,
            threshold: self.threshold,
            segment: self.segment,
        };
        bursts::group(sizes, self.smoothed, self.law.min_rtt())
    }

    fn begin_recovery(&mut self, lost: BTreeSet<u64>, in_flight: u64) {
        self.before = Some(Before {
            window: self.window,
            threshold: self.threshold,
            lost,
        });
        let prior = self.window;
        self.threshold = self.law.lost(prior);
        self.state = State::Recovery(Recovery::new(self.newest, prior, self.threshold));
        self.window = in_flight + 1;
        self.bursts.end();
    }

    /// A round trip of the newest packet that an acknowledgement is for.
    fn measure(&mut self, now: Duration, rtt: Duration, largest_acked: u64) {
        if !self.law.round_trip(now, rtt) || !self.is_in_slow_start() {
            return;
        }
        let packets = [largest_acked, self.newest];
        let round_trips = [rtt, self.law.min_rtt()];
        if self.hystart.is_over(now, self.window, packets, round_trips) {
            self.threshold = self.window;
        }
    }

    /// The window grows by acknowledged segments.
    fn grow(&mut self, now: Duration, mut acknowledged: u64) {
        if !self
            .usage
            .allows_growth(self.window, self.is_in_slow_start())
        {
            return;
        }
        if self.is_in_slow_start() {
            let grown = (self.window + acknowledged).min(self.threshold);
            acknowledged -= grown - self.window;
            self.window = grown;
            if acknowledged == 0 {
                return;
            }
        }
        let step = self.law.step(now, self.window, acknowledged);
        if self.credit >= step {
            self.credit = 0;
            self.window += 1;
        }
        self.credit += acknowledged;
        self.window += self.credit / step;
        self.credit %= step;
    }

    /// The sender was silent. The window halves for each timeout that went by (RFC 2861).
    fn resume(&mut self, now: Duration) {
        let mut silent = now.saturating_sub(self.last_sent);
        self.law.idle(now, silent);
        if silent > self.timeout {
            self.threshold = match self.is_in_slow_start() {
                true => self.threshold,
                false => self.threshold.max(self.window * 3 / 4),
            };
        }
        while silent > self.timeout && self.window > INITIAL_WINDOW {
            silent -= self.timeout;
            self.window = (self.window / 2).max(INITIAL_WINDOW);
        }
    }

    fn time_out(&mut self) {
        if matches!(self.state, State::Open) {
            self.threshold = self.law.lost(self.window);
        }
        self.law.timed_out();
        self.hystart.restart();
        self.state = State::Timeout {
            newest: self.newest,
        };
        self.window = 1;
        self.credit = 0;
        self.bursts.end();
    }

    /// The episode ends if everything has arrived, and another begins if that was not all.
    fn end_episode(&mut self, largest_acked: u64, in_flight: u64) {
        match &self.state {
            State::Recovery(recovery) if recovery.is_over(largest_acked) => {
                let again = recovery.again;
                self.window = self.threshold;
                self.state = State::Open;
                if again {
                    self.begin_recovery(BTreeSet::new(), in_flight);
                }
            }
            State::Timeout { newest } if largest_acked > *newest => self.state = State::Open,
            _ => {}
        }
    }
}

impl CongestionController for TcpCubic {
    fn cwnd(&self) -> usize {
        usize::try_from(self.window.saturating_mul(self.segment)).unwrap_or(usize::MAX)
    }

    fn next_release(&mut self, context: &SendContext) -> Release {
        let now = self.time(context.now);
        if context.bytes_in_flight == 0 {
            self.resume(now);
        }
        if let State::Recovery(recovery) = &mut self.state {
            recovery.waits(context.retransmission);
            return Release::Now;
        }
        let room = context.cwnd_available as u64 / self.segment;
        let group = self.group();
        let is_whole = context.queued_bytes as u64 >= group * self.segment;
        let window = self.window;
        if !is_whole || self.bursts.lets_go(now, room, group, window) {
            Release::Now
        } else {
            Release::Hold
        }
    }

    fn on_packet_sent(&mut self, sent: &PacketSent) {
        self.newest = self.newest.max(sent.packet_number);
        if !sent.in_flight || sent.space != PacketSpace::Application {
            return;
        }
        let in_flight = self.segments(sent.bytes_in_flight);
        let is_full = in_flight + self.group() > self.window;
        self.usage.sent(sent.packet_number, in_flight, is_full);
        self.last_sent = self.time(sent.now);
        self.bursts.sent(self.last_sent);
        if let State::Recovery(recovery) = &mut self.state {
            recovery.sent(sent.packet_number);
        }
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        let newly_lost = std::mem::take(&mut self.newly_lost);
        let eliciting = ack.acked.iter().filter(|packet| packet.size > 0);
        let segments = eliciting.count() as u64;
        let (Some(last), true) = (ack.acked.last(), segments > 0) else {
            return;
        };
        self.smoothed = ack.rtt.smoothed;
        self.timeout = LEAST_TIMEOUT.max(ack.rtt.smoothed + 4 * ack.rtt.variation);
        if ack.space != PacketSpace::Application {
            return;
        }
        let now = self.time(ack.now);
        let in_flight = self.segments(ack.bytes_in_flight);
        self.usage.acknowledged(ack.largest_acked);
        let rtt = ack.now.saturating_duration_since(last.time_sent);
        self.measure(now, rtt, ack.largest_acked);
        let mut filled = false;
        if let State::Recovery(recovery) = &mut self.state {
            for packet in ack.acked {
                filled |= recovery.acknowledged(packet.packet_number);
            }
        }
        self.end_episode(ack.largest_acked, in_flight);
        if let State::Recovery(recovery) = &mut self.state {
            let progress = filled && !newly_lost;
            self.window = in_flight + recovery.allowance(segments, in_flight, progress);
        } else {
            self.grow(now, segments);
        }
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        if loss.space != PacketSpace::Application {
            return;
        }
        if loss.persistent_congestion {
            self.time_out();
            return;
        }
        self.newly_lost = true;
        let in_flight = self.segments(loss.bytes_in_flight);
        let is_new = match &mut self.state {
            State::Open => true,
            State::Timeout { newest } => loss.lost.iter().any(|lost| lost.packet_number > *newest),
            State::Recovery(recovery) => {
                for packet in loss.lost {
                    recovery.lost(packet.packet_number);
                    if let Some(before) = &mut self.before {
                        before.lost.insert(packet.packet_number);
                    }
                }
                self.window = in_flight + 1;
                false
            }
        };
        if is_new {
            let numbers = loss.lost.iter().map(|packet| packet.packet_number);
            self.begin_recovery(numbers.collect(), in_flight);
        }
    }

    fn on_spurious_loss(&mut self, _: Instant, _: PacketSpace, packet_number: u64) {
        let Some(before) = &mut self.before else {
            return;
        };
        if before.lost.remove(&packet_number) && before.lost.is_empty() {
            self.window = self.window.max(before.window);
            self.threshold = before.threshold;
            self.before = None;
            self.state = State::Open;
        }
    }

    fn on_pto(&mut self, _: Instant, count: u32) {
        if count == TIMEOUT {
            self.time_out();
        }
    }

    fn on_max_datagram_size(&mut self, size: usize) {
        self.segment = (size as u64).max(1);
    }

    fn on_app_limited(&mut self, _: Instant) {
        self.usage.was_idle();
    }

    fn state(&self) -> &'static str {
        match self.state {
            State::Open if self.is_in_slow_start() => "slow_start",
            State::Open => "congestion_avoidance",
            State::Recovery(_) => "recovery",
            State::Timeout { .. } => "timeout",
        }
    }

    fn ssthresh(&self) -> Option<usize> {
        let bytes = self.threshold.checked_mul(self.segment)?;
        usize::try_from(bytes).ok()
    }
}
