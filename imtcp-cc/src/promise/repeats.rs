//! Data that probes repeat counts once.
//!
//! After a probe timeout (RFC 9002, section 6.2.4) the transport sends data again that is still in
//! flight. If only the acknowledgement was lost, both packets are acknowledged, and the peer has
//! the data once. So a probe counts only in place of a packet that is lost. A packet that is older
//! than the probe by a timeout is declared lost when the probe is acknowledged, if at all.

use crate::loss_share::LossShare;
use crate::units::{Bytes, Timestamp};

/// The number of probes that are remembered. A timeout sends two at most, and waits twice as long
/// each time.
const MOST: usize = 8;

/// The number of packets over which the share of repeats is an average.
const SHARE_PACKETS: f64 = 50.0;

/// Follows the probes in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeats {
    /// The numbers of probes, the next to be replaced at `next`.
    probes: [Option<u64>; MOST],
    next: usize,
    /// The newest of them. Nearly always all packets that are acknowledged are newer.
    newest: Option<u64>,
    /// The goodput of probes that were acknowledged at `at`, and of packets that were lost then, as
    /// far as neither was set against the other.
    at: Timestamp,
    repeated: Bytes,
    lost: Bytes,
    /// What counts although it was not credited yet.
    owed: Bytes,
    /// The share of packets that repeated others, whether those were lost or not.
    share: LossShare,
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            probes: [None; MOST],
            next: 0,
            newest: None,
            at: Timestamp::ZERO,
            repeated: Bytes::ZERO,
            lost: Bytes::ZERO,
            owed: Bytes::ZERO,
            share: LossShare::over(SHARE_PACKETS),
        }
    }
}

impl Repeats {
    /// A probe left.
    pub(super) fn on_probe(&mut self, number: u64) {
        self.probes[self.next] = Some(number);
        self.newest = Some(number);
        self.next = (self.next + 1) % MOST;
    }

    /// A packet of so much goodput was acknowledged. Returns how much of it counts by itself.
    #[inline]
    pub(super) fn on_acked(&mut self, now: Timestamp, number: u64, goodput: Bytes) -> Bytes {
        if self.newest < Some(number) || !self.take_probe(number) {
            self.share.on_acked(1.0);
            return goodput;
        }
        self.share.on_lost();
        self.begin(now);
        self.repeated += goodput;
        Bytes::ZERO
    }

    /// Whether this is a probe that was not acknowledged yet.
    fn take_probe(&mut self, number: u64) -> bool {
        let probe = self.probes.iter_mut().find(|it| **it == Some(number));
        probe.is_some_and(|probe| probe.take().is_some())
    }

    /// A packet of so much goodput was lost.
    pub(super) fn on_lost(&mut self, now: Timestamp, goodput: Bytes) {
        self.begin(now);
        self.lost += goodput;
        self.settle();
    }

    /// What counts besides, since it was asked last: probes that took the place of lost packets.
    #[inline]
    pub(super) fn take_owed(&mut self) -> Bytes {
        self.settle();
        std::mem::take(&mut self.owed)
    }

    /// The share of packets that repeated others lately, from 0 to 1.
    pub(super) fn share(&self) -> f64 {
        self.share.get()
    }

    fn begin(&mut self, now: Timestamp) {
        if self.at != now {
            (self.at, self.repeated, self.lost) = (now, Bytes::ZERO, Bytes::ZERO);
        }
    }

    fn settle(&mut self) {
        let both = self.repeated.min(self.lost);
        self.repeated = self.repeated.saturating_sub(both);
        self.lost = self.lost.saturating_sub(both);
        self.owed += both;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Bytes = Bytes::new(1310);

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_packet_and_its_probe_count_once() {
        let mut repeats = Repeats::default();
        repeats.on_probe(8);
        assert_eq!(repeats.on_acked(at_ms(1), 7, FULL), FULL);
        assert_eq!(repeats.on_acked(at_ms(1), 8, FULL), Bytes::ZERO);
        assert_eq!(repeats.take_owed(), Bytes::ZERO);
        // What is lost later was not repeated by that probe.
        repeats.on_lost(at_ms(2), FULL);
        assert_eq!(repeats.take_owed(), Bytes::ZERO);
        // A number that comes again is no probe.
        assert_eq!(repeats.on_acked(at_ms(3), 8, FULL), FULL);
        for number in (10..210).step_by(2) {
            repeats.on_probe(number + 1);
            let _ = repeats.on_acked(at_ms(number), number, FULL);
            let _ = repeats.on_acked(at_ms(number), number + 1, FULL);
        }
        assert!((0.4..0.6).contains(&repeats.share()), "{}", repeats.share());
    }

    #[test]
    fn a_probe_counts_in_place_of_a_lost_packet() {
        for loss_first in [false, true] {
            let mut repeats = Repeats::default();
            repeats.on_probe(8);
            repeats.on_probe(9);
            if loss_first {
                repeats.on_lost(at_ms(1), FULL);
            }
            assert_eq!(repeats.on_acked(at_ms(1), 8, FULL), Bytes::ZERO);
            assert_eq!(repeats.on_acked(at_ms(1), 9, FULL), Bytes::ZERO);
            if !loss_first {
                repeats.on_lost(at_ms(1), FULL);
            }
            assert_eq!(repeats.take_owed(), FULL);
            assert_eq!(repeats.take_owed(), Bytes::ZERO);
        }
    }

    #[test]
    fn of_many_probes_the_newest_are_remembered() {
        let mut repeats = Repeats::default();
        (0..=8).for_each(|number| repeats.on_probe(number));
        assert_eq!(repeats.on_acked(at_ms(1), 0, FULL), FULL);
        assert_eq!(repeats.on_acked(at_ms(1), 1, FULL), Bytes::ZERO);
    }
}
