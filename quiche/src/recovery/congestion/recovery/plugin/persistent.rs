//! Persistent congestion (RFC 9002, section 7.6).

use std::time::Duration;
use std::time::Instant;

/// kPersistentCongestionThreshold, RFC 9002 section 7.6.1.
const THRESHOLD: u32 = 3;

/// The part of a sent packet that matters here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    pub(super) time_sent: Instant,
    pub(super) ack_eliciting: bool,
    pub(super) acked: bool,
    pub(super) lost: bool,
}

/// The congestion period of RFC 9002, section 7.6.1, from the probe timeout and the peer's
/// `max_ack_delay`.
pub(super) fn period(probe_timeout: Duration, max_ack_delay: Duration) -> Duration {
    (probe_timeout + max_ack_delay) * THRESHOLD
}

/// Whether two lost ack-eliciting packets lie further apart than `period` with none acknowledged
/// between them (section 7.6.2). `packets` are in the order they were sent; those sent before
/// `first_rtt_sample` do not count.
pub(super) fn is_persistent(
    packets: impl Iterator<Item = Fate>,
    period: Duration,
    first_rtt_sample: Option<Instant>,
) -> bool {
    let Some(first_sample) = first_rtt_sample else {
        return false;
    };
    let mut run_start: Option<Instant> = None;
    for packet in packets {
        if packet.acked {
            run_start = None;
        } else if packet.lost && packet.ack_eliciting && packet.time_sent >= first_sample {
            let start = *run_start.get_or_insert(packet.time_sent);
            if packet.time_sent.saturating_duration_since(start) > period {
                return true;
            }
        }
    }
    false
}
