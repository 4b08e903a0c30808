//! When to acknowledge (draft section 6, RFC 9000 section 13.2).

use std::time::Duration;
use std::time::Instant;

use super::missing::Missing;
use super::Request;
use crate::Error;
use crate::Result;

/// `max_ack_delay` has to be smaller (RFC 9000, section 18.2).
pub(super) const MAX_ACK_DELAY_LIMIT: Duration = Duration::from_millis(1 << 14);
/// After this many packets out of order an acknowledgement is sent, whatever was requested. Each of
/// them may add a range to the ACK frame, and a range that no longer fits must not be dropped
/// unsent (draft section 6).
const MAX_UNREPORTED_RANGES: usize = crate::MAX_ACK_RANGES / 2;

/// How acknowledgements are delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Policy {
    ack_eliciting_threshold: u64,
    max_ack_delay: Duration,
    reordering_threshold: u64,
    /// Acknowledge at once after more than one smoothed round trip without any acknowledgement
    /// (draft section 6.1). RFC 9000 has no such rule.
    after_idle: bool,
}

impl Policy {
    /// The same, but as early as was requested. The smallest reordering threshold is its own.
    fn hastened_by(self, requested: Self) -> Self {
        let threshold = requested.ack_eliciting_threshold;
        Self {
            ack_eliciting_threshold: self.ack_eliciting_threshold.min(threshold),
            max_ack_delay: self.max_ack_delay.min(requested.max_ack_delay),
            reordering_threshold: self.reordering_threshold,
            after_idle: requested.after_idle,
        }
    }
}

/// Decides when packets of the application space are acknowledged. Costs the same for every packet,
/// whatever the peer requests.
#[derive(Debug)]
pub struct Receiver {
    /// What was advertised; `None` when requests are not understood.
    min_ack_delay: Option<Duration>,
    /// It was advertised only so that the peer may be asked: no request delays an acknowledgement
    /// that would be sent earlier without the extension.
    hastens_only: bool,
    /// What holds without a request. `None`: each ack-eliciting packet is acknowledged at the next
    /// opportunity, as upstream does.
    own: Option<Policy>,
    /// What holds now.
    policy: Option<Policy>,
    /// The sequence number of the newest request.
    sequence: Option<u64>,
    missing: Missing,
    /// Draft section 6.2: the largest ack-eliciting packet received.
    largest_unacked: Option<u64>,
    /// Draft section 6.2: the largest number that an ACK frame acknowledged.
    largest_acked: Option<u64>,
    /// Ack-eliciting packets since the last ACK frame.
    unacked: u64,
    /// When the first of them arrived.
    oldest_unacked: Option<Instant>,
    /// Packets out of order since the last ACK frame.
    out_of_order: usize,
    last_ack: Option<Instant>,
    /// The packet being processed carries an IMMEDIATE_ACK, or a mark of congestion.
    immediate: bool,
    /// An acknowledgement waits for the next packet.
    due: bool,
}

/// A packet that was received and processed.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// When it arrived.
    pub now: Instant,
    /// Its number.
    pub packet_number: u64,
    /// It has to be acknowledged.
    pub ack_eliciting: bool,
    /// The handshake is confirmed; before that nothing is delayed.
    pub confirmed: bool,
    /// The active path's smoothed round trip time.
    pub smoothed_rtt: Duration,
}

impl Receiver {
    /// `min_ack_delay` is what was advertised, if anything; `delayed` the threshold to start with,
    /// if acknowledgements are to be delayed without a request; `max_ack_delay` the transport
    /// parameter.
    pub fn new(
        min_ack_delay: Option<Duration>,
        delayed: Option<u64>,
        max_ack_delay: Duration,
    ) -> Self {
        let own = delayed.map(|ack_eliciting_threshold| Policy {
            ack_eliciting_threshold,
            max_ack_delay,
            reordering_threshold: 1,
            after_idle: false,
        });
        Self {
            min_ack_delay,
            hastens_only: false,
            own,
            policy: own,
            sequence: None,
            missing: Missing::default(),
            largest_unacked: None,
            largest_acked: None,
            unacked: 0,
            oldest_unacked: None,
            out_of_order: 0,
            last_ack: None,
            immediate: false,
            due: false,
        }
    }

    /// What was advertised.
    pub(crate) fn min_ack_delay(&self) -> Option<Duration> {
        self.min_ack_delay
    }

    /// The parameter was advertised. Unless the application had it so, the peer's uploads must not
    /// be slower for it.
    pub(crate) fn advertise(&mut self, min_ack_delay: Duration) {
        self.hastens_only |= self.min_ack_delay.replace(min_ack_delay).is_none();
    }

    /// A request arrived, in a packet that [`on_packet`](Self::on_packet) tells of afterwards.
    ///
    /// # Errors
    /// [`Error::InvalidFrame`] (FRAME_ENCODING_ERROR) when nothing was advertised,
    /// [`Error::InvalidPacket`] (PROTOCOL_VIOLATION) when the delay is not allowed.
    pub fn on_request(&mut self, request: Request) -> Result<()> {
        let shortest = self.min_ack_delay.ok_or(Error::InvalidFrame)?;
        let Request::Frequency {
            sequence,
            ack_eliciting_threshold,
            max_ack_delay,
            reordering_threshold,
        } = request
        else {
            self.immediate = true;
            return Ok(());
        };
        let max_ack_delay = Duration::from_micros(max_ack_delay);
        if max_ack_delay < shortest || max_ack_delay >= MAX_ACK_DELAY_LIMIT {
            return Err(Error::InvalidPacket);
        }
        if self.sequence.is_none_or(|newest| sequence > newest) {
            self.sequence = Some(sequence);
            let requested = Policy {
                ack_eliciting_threshold,
                max_ack_delay,
                reordering_threshold,
                after_idle: true,
            };
            self.policy = if self.hastens_only {
                self.own.map(|own| own.hastened_by(requested))
            } else {
                Some(requested)
            };
        }
        Ok(())
    }

    /// A router has begun to mark packets, with the one that [`on_packet`](Self::on_packet) tells
    /// of afterwards (RFC 9000, section 13.2.1).
    pub(crate) fn on_congestion_mark(&mut self) {
        self.immediate = true;
    }

    /// A packet arrived; returns whether an acknowledgement is due.
    pub fn on_packet(&mut self, packet: &Received) -> bool {
        let immediate = std::mem::take(&mut self.immediate);
        if !self.is_used() {
            return packet.ack_eliciting;
        }
        if self.missing.on_received(packet.packet_number) {
            self.out_of_order += 1;
        }
        if packet.ack_eliciting {
            self.unacked += 1;
            self.oldest_unacked.get_or_insert(packet.now);
            self.largest_unacked = self.largest_unacked.max(Some(packet.packet_number));
            self.due |= immediate || !packet.confirmed || self.policy_demands(packet);
        }
        self.due
    }

    /// Otherwise there is nothing to keep track of.
    fn is_used(&self) -> bool {
        self.min_ack_delay.is_some() || self.policy.is_some()
    }

    fn policy_demands(&self, packet: &Received) -> bool {
        let Some(policy) = self.policy else {
            return true;
        };
        self.unacked > policy.ack_eliciting_threshold
            || self
                .deadline()
                .is_none_or(|deadline| deadline <= packet.now)
            || self.out_of_order >= MAX_UNREPORTED_RANGES
            || self.is_beyond_reordering(packet.packet_number, policy.reordering_threshold)
            || policy.after_idle && self.is_after_idle(packet)
    }

    /// Draft section 6.2.
    fn is_beyond_reordering(&self, number: u64, threshold: u64) -> bool {
        if threshold == 0 {
            return false;
        }
        let reported = self
            .largest_acked
            .and_then(|acked| acked.checked_sub(threshold));
        let unreported = self.missing.smallest_above(reported);
        reported.is_some_and(|reported| number <= reported)
            || unreported
                .zip(self.largest_unacked)
                .and_then(|(missing, largest)| largest.checked_sub(missing))
                .is_some_and(|distance| distance >= threshold)
    }

    /// Draft section 6.1.
    fn is_after_idle(&self, packet: &Received) -> bool {
        self.last_ack
            .is_none_or(|last| packet.now.saturating_duration_since(last) > packet.smoothed_rtt)
    }

    /// The time by which the packets received have to be acknowledged.
    fn deadline(&self) -> Option<Instant> {
        Some(self.oldest_unacked? + self.policy?.max_ack_delay)
    }

    /// Packets wait for an acknowledgement that is not due yet; it may ride along with other
    /// frames.
    pub fn is_delayed(&self) -> bool {
        self.unacked > 0 && !self.due
    }

    /// When an acknowledgement becomes due by itself; `None` when it is due, or none is owed.
    pub fn timer(&self) -> Option<Instant> {
        self.deadline().filter(|_| !self.due)
    }

    /// Returns whether the time for a delayed acknowledgement has come.
    pub fn on_timeout(&mut self, now: Instant) -> bool {
        let expired = self.timer().is_some_and(|deadline| deadline <= now);
        self.due |= expired;
        expired
    }

    /// An ACK frame left, whatever for.
    pub fn on_ack_sent(&mut self, largest_acked: u64, now: Instant) {
        self.largest_acked = self.largest_acked.max(Some(largest_acked));
        self.unacked = 0;
        self.oldest_unacked = None;
        self.out_of_order = 0;
        self.last_ack = Some(now);
        self.due = false;
    }
}
