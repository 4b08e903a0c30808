//! Losses that are no congestion.
//!
//! A queue that is full, or that is managed, drops packets while others wait in it. So the packets
//! around a lost one have waited. If they have not, something else took it, such as a radio or a
//! bad line, and a smaller window would be of no use to anybody. Where more is lost than chance
//! takes on a usable path, each loss counts, because there may be a queue of a few packets, or a
//! policer.

use crate::loss_share::LossShare;
use std::time::Duration;

/// A packet that waited for more than this part of the least round trip found a queue. The least
/// queue of use is a tenth of a bandwidth-delay product, and this is a third of it.
const LEAST_QUEUE_DIVISOR: u32 = 32;

/// A packet that waited for longer than this found a queue, on a long path as well. It is half of
/// the delay above which a queue is managed by default (CoDel, RFC 8289, section 4.4).
const LONGEST_WAIT: Duration = Duration::from_micros(2500);

/// The largest share of losses that may be none of congestion, as BBR has it (BBR.LossThresh of
/// draft-ietf-ccwg-bbr).
const MOST_SHARE: f64 = 0.02;

/// The number of packets over which that share is an average. If one in a hundred is lost by
/// chance, the average then exceeds twice that hardly ever: it is three standard deviations off,
/// sqrt(0.01 / 1000) each.
const PACKETS: f64 = 500.0;

/// Tells losses that are no congestion.
#[derive(Clone, Copy, Debug)]
pub(super) struct StrayLosses {
    share: LossShare,
    /// The round trip of the newest acknowledged packet, and the least one.
    round_trip: Duration,
    least: Duration,
}

impl Default for StrayLosses {
    fn default() -> Self {
        Self {
            share: LossShare::over(PACKETS),
            round_trip: Duration::ZERO,
            least: Duration::ZERO,
        }
    }
}

impl StrayLosses {
    /// So many packets were acknowledged. The round trip of the newest is told, and the least one.
    #[inline]
    pub(super) fn on_acked(&mut self, packets: f64, round_trip: Duration, least: Duration) {
        self.share.on_acked(packets);
        (self.round_trip, self.least) = (round_trip, least);
    }

    /// A packet was declared lost.
    pub(super) fn on_lost(&mut self) {
        self.share.on_lost();
    }

    /// A packet that had been declared lost was acknowledged after all.
    pub(super) fn on_spurious(&mut self) {
        self.share.on_spurious();
    }

    /// Whether what was just declared lost was taken by no queue. A packet is declared lost when
    /// later ones are acknowledged, so the newest acknowledged packet left shortly after it.
    pub(super) fn are_stray(&self) -> bool {
        let most = (self.least / LEAST_QUEUE_DIVISOR).min(LONGEST_WAIT);
        let has_waited = self.round_trip > self.least.saturating_add(most);
        !has_waited && self.share.get() <= MOST_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(32);

    /// Whether one of each `every` packets is stray when it is lost, at this round trip.
    fn are_stray(every: u32, round_trip_ms: f64, least: Duration) -> bool {
        let mut losses = StrayLosses::default();
        for packet in 1..=5000 {
            if packet % every == 0 {
                losses.on_lost();
            } else {
                losses.on_acked(1.0, Duration::from_secs_f64(round_trip_ms / 1e3), least);
            }
        }
        losses.are_stray()
    }

    #[test]
    fn a_loss_among_packets_that_did_not_wait_is_stray() {
        assert!(are_stray(100, 32.9, LEAST));
        assert!(
            !are_stray(100, 33.1, LEAST),
            "more than a thirty-second part"
        );
        let long = Duration::from_millis(300);
        assert!(are_stray(100, 302.4, long));
        assert!(
            !are_stray(100, 302.6, long),
            "as long as a managed queue allows"
        );
    }

    #[test]
    fn where_much_is_lost_no_loss_is_stray() {
        assert!(are_stray(60, 32.0, LEAST));
        assert!(!are_stray(40, 32.0, LEAST));
    }
}
