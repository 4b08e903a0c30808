//! How the extension and delayed acknowledgements are switched on.

use std::time::Duration;

use crate::Config;

/// What the application chose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    min_ack_delay: Option<Duration>,
    delayed_acks: Option<u64>,
}

impl Settings {
    /// `min_ack_delay` as advertised beside this `max_ack_delay`.
    pub(super) fn min_ack_delay(&self, max_ack_delay: Duration) -> Option<Duration> {
        // Whole microseconds, rounded up: the value says what is possible.
        let ceiling =
            |delay: Duration| Duration::from_micros(delay.as_nanos().div_ceil(1000) as u64);
        self.min_ack_delay
            .map(|delay| ceiling(delay.min(max_ack_delay)))
    }

    pub(super) fn delayed_acks(&self) -> Option<u64> {
        self.delayed_acks
    }
}

impl Config {
    /// Lets the peer decide how often its packets are acknowledged
    /// (draft-ietf-quic-ack-frequency-14): advertises the transport parameter `min_ack_delay`, and
    /// follows ACK_FREQUENCY and IMMEDIATE_ACK frames. Off by default.
    ///
    /// `min_ack_delay` is the shortest delay that a request may name, best the granularity of the
    /// event loop's timer. It is sent in whole microseconds, rounded up. It may not exceed
    /// `max_ack_delay` ([`set_max_ack_delay()`](Self::set_max_ack_delay), 25 ms by default); a
    /// longer one is lowered to it, in whatever order the two are set.
    ///
    /// Until the peer's first request acknowledgements leave as without the extension. After it
    /// they may be held back, and the time for the next one is part of
    /// [`Connection::timeout_instant()`](crate::Connection::timeout_instant): an event loop sleeps
    /// until then, calls `on_timeout()` and then `send()`, as ever.
    pub fn enable_ack_frequency(&mut self, min_ack_delay: Duration) {
        self.ack_frequency.min_ack_delay = Some(min_ack_delay);
    }

    /// Delays acknowledgements as RFC 9000, section 13.2 recommends. Off by default: every
    /// ack-eliciting packet is acknowledged by the next
    /// [`Connection::send()`](crate::Connection::send).
    ///
    /// Up to `threshold` ack-eliciting packets wait for their acknowledgement; the next one elicits
    /// it, so 1 acknowledges every second packet (section 13.2.2). None waits longer than
    /// `max_ack_delay` ([`set_max_ack_delay()`](Self::set_max_ack_delay)), and a packet out of
    /// order is acknowledged at once. An acknowledgement leaves earlier when a packet leaves
    /// anyway. Nothing is delayed before the handshake is confirmed.
    ///
    /// A peer's ACK_FREQUENCY frame takes the place of this setting
    /// ([`enable_ack_frequency()`](Self::enable_ack_frequency)).
    pub fn set_delayed_acks(&mut self, threshold: u64) {
        self.ack_frequency.delayed_acks = Some(threshold);
    }
}
