//! The size of the packets that leave, where the window holds few and many are lost.
//!
//! A queue that counts bytes and is nearly full still takes a small packet. On a path whose queue
//! holds only some packets, whoever sends full ones loses most of what is lost. Other queues drop a
//! packet whatever its size, and then smaller packets are more losses for the same bytes. Nobody
//! says which queue it is. So smaller packets are tried. Without a promise they stay if they
//! deliver more, and under one if they save more than their headers cost: there, what is delivered
//! follows from what is required.

use crate::control::Phase;
use crate::deviation::Deviation;
use crate::units::{Bytes, Timestamp};

/// A window holds so many packets, if they are not too small for that.
const PACKETS: u32 = 16;

/// The smallest packet is a full one divided by this number.
const SMALLEST_DIVISOR: u64 = 4;

/// The headers of small packets may cost this part of what full packets lost.
const COST: f64 = 0.5;

/// Without a promise, what a size delivers is judged by so many comparisons at least, and what was
/// found before counts half after so many.
const FEWEST: f64 = 2.0;
const MOST: f64 = 16.0;

/// Smaller packets deliver less, or more, if the difference is this many times its error.
const CERTAIN: f64 = 2.0;

/// Two sizes are compared by the packets that were sent until so many were lost.
const LOSSES: u32 = 10;

/// After a trial that failed, full packets lose [`LOSSES`] once before the next one, twice after
/// the second that failed, and so on. It doubles so many times.
const MOST_DOUBLINGS: u32 = 6;

/// Chooses the size of packets by what is lost of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketSize {
    /// The headers of a packet on the wire, and its AEAD tag.
    headers: Bytes,
    is_small: bool,
    /// Whether congestion avoidance was reached since the last slow start.
    is_counting: bool,
    /// The packets of this size since the last comparison, how many of them were lost, and what got
    /// through.
    packets: u32,
    lost: u32,
    delivered: Delivered,
    /// The next so many packets left before the size changed.
    stale: u32,
    /// The share of full packets that was lost when they were compared last.
    full_loss: f64,
    /// What full packets delivered, and what small ones did, in bytes of payload per second.
    full_rate: Deviation,
    small_rate: Deviation,
    /// The number of trials that failed, and of comparisons before the next one.
    failures: u32,
    wait: u32,
}

impl PacketSize {
    /// Full packets. Of each packet `headers` bytes on the wire are not payload.
    pub(super) fn new(headers: Bytes) -> Self {
        Self {
            headers,
            is_small: false,
            is_counting: false,
            packets: 0,
            lost: 0,
            delivered: Delivered::default(),
            stale: 0,
            full_loss: 0.0,
            full_rate: Deviation::default(),
            small_rate: Deviation::default(),
            failures: 0,
            wait: 0,
        }
    }

    /// A packet was lost.
    pub(super) fn on_lost(&mut self) {
        self.lost += self.count(1);
    }

    /// So many packets got through, with so many bytes on the wire.
    #[inline]
    pub(super) fn on_acked(&mut self, now: Timestamp, packets: u32, bytes: Bytes) {
        let counted = self.count(packets);
        if counted > 0 {
            let headers = self.headers.times(counted.into());
            self.delivered.add(now, bytes.saturating_sub(headers));
        }
    }

    /// Returns how many of these packets have the present size.
    fn count(&mut self, packets: u32) -> u32 {
        let stale = self.stale.min(packets);
        self.stale -= stale;
        self.packets = self.packets.saturating_add(packets - stale);
        packets - stale
    }

    /// The size of the next packet with this window, in bytes of UDP payload. A full packet has
    /// `full`. Under a promise a rate `is_required`.
    #[inline]
    pub(super) fn fit(
        &mut self,
        window: Bytes,
        phase: Phase,
        full: Bytes,
        is_required: bool,
    ) -> Bytes {
        // What slow start loses says how far it went, and nothing of the size of packets.
        match phase {
            Phase::SlowStart => self.is_counting = false,
            Phase::Recovery => {}
            Phase::CongestionAvoidance => self.is_counting = true,
        }
        let share = Bytes::new(window.get() / u64::from(PACKETS));
        if share >= full || !self.is_counting {
            self.begin(self.is_small && share < full);
        } else if self.lost >= LOSSES {
            self.compare(full, is_required);
        }
        match self.is_small {
            true => share.max(self.least(full)).min(full),
            false => full,
        }
    }

    fn compare(&mut self, full: Bytes, is_required: bool) {
        let loss = f64::from(self.lost) / f64::from(self.packets.max(1));
        let rates = match self.is_small {
            true => &mut self.small_rate,
            false => &mut self.full_rate,
        };
        rates.add(self.delivered.rate());
        if rates.count() >= MOST {
            rates.halve();
        }
        if !self.is_small {
            self.full_loss = loss;
            self.wait = self.wait.saturating_sub(1);
            let is_known = is_required || self.full_rate.count() >= FEWEST;
            return self.begin(self.wait == 0 && is_known && is_reason(loss));
        }
        let cost = self.headers_of(self.least(full)) - self.headers_of(full);
        let saves = self.full_loss - loss >= cost;
        let is_kept = match is_required {
            true => saves,
            false => self.small_rate.count() < FEWEST || self.known_gain().unwrap_or(saves),
        };
        if !is_kept {
            self.wait = 1 << self.failures.min(MOST_DOUBLINGS);
            self.failures += 1;
        }
        self.begin(is_kept);
    }

    /// Begins to count anew, with packets that are small or full.
    fn begin(&mut self, is_small: bool) {
        if self.is_small != is_small {
            self.is_small = is_small;
            self.stale = PACKETS;
        }
        self.packets = 0;
        self.lost = 0;
        self.delivered = Delivered::default();
    }

    /// Whether small packets deliver more, or less; `None` if that is not certain. On a link that
    /// they fill alone it is less: what a queue drops takes no time of the link, and headers do.
    fn known_gain(&self) -> Option<bool> {
        let (full, small) = (&self.full_rate, &self.small_rate);
        let gain = small.mean() - full.mean();
        let error = libm::hypot(full.error(), small.error());
        (gain.abs() > CERTAIN * error).then_some(gain > 0.0)
    }

    /// The smallest size. What its headers cost is bounded, and so is its smallness.
    fn least(&self, full: Bytes) -> Bytes {
        let part = self.headers_of(full) + COST * self.full_loss;
        let smallest = Bytes::new(full.get() / SMALLEST_DIVISOR);
        Bytes::from_f64(self.headers.as_f64() / part.max(f64::EPSILON)).max(smallest)
    }

    /// The headers' part of a packet of this size.
    fn headers_of(&self, size: Bytes) -> f64 {
        self.headers.as_f64() / size.as_f64().max(1.0)
    }
}

/// Payload that got through, and the time that it took.
#[derive(Clone, Copy, Debug, Default)]
struct Delivered {
    /// When the first bytes came, which do not count, and when the last did.
    span: Option<(Timestamp, Timestamp)>,
    bytes: Bytes,
}

impl Delivered {
    #[inline]
    fn add(&mut self, now: Timestamp, bytes: Bytes) {
        match &mut self.span {
            Some((_, last)) => {
                *last = now;
                self.bytes += bytes;
            }
            None => self.span = Some((now, now)),
        }
    }

    /// In bytes per second; zero if that is not known.
    fn rate(&self) -> f64 {
        let span = self.span.map_or(0.0, |(first, last)| {
            last.saturating_since(first).as_secs_f64()
        });
        match span > 0.0 {
            true => self.bytes.as_f64() / span,
            false => 0.0,
        }
    }
}

/// Whether this share of losses keeps a window below [`PACKETS`]: Reno's has the square root of
/// 1.5 / p packets (Mathis et al. 1997).
fn is_reason(loss: f64) -> bool {
    loss * f64::from(PACKETS * PACKETS) >= 1.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Window;
    use crate::path::Path;
    use std::time::Duration;

    const FULL: Bytes = Bytes::new(1350);

    const HEADERS: Bytes = Bytes::new(76);

    /// A path that loses `loss` of the full packets, and of smaller ones what `of_size` makes of
    /// it. What gets through in a round trip takes `round_s` of the bytes on the wire. Returns the
    /// parts of ten thousand round trips with small packets, first and second half.
    fn small_in(
        is_required: bool,
        packets: u64,
        loss: f64,
        of_size: impl Fn(f64) -> f64,
        round_s: impl Fn(Bytes) -> f64,
    ) -> [f64; 2] {
        let mut chosen = PacketSize::new(HEADERS);
        let (mut size, mut due, mut now_s) = (FULL, 0.0, 0.0);
        let mut rounds = [0_u32; 2];
        for round in 0..10_000 {
            let mut through = Bytes::ZERO;
            for _ in 0..FULL.times(packets).get() / size.get() {
                due += loss * of_size(size.as_f64() / FULL.as_f64());
                if due >= 1.0 {
                    due -= 1.0;
                    chosen.on_lost();
                } else {
                    chosen.on_acked(
                        Timestamp::from_origin(Duration::from_secs_f64(now_s)),
                        1,
                        size,
                    );
                    through += size;
                }
            }
            now_s += round_s(through);
            let window = FULL.times(packets);
            size = chosen.fit(window, Phase::CongestionAvoidance, FULL, is_required);
            rounds[round / 5000] += u32::from(size < FULL);
        }
        rounds.map(|rounds| f64::from(rounds) / 5000.0)
    }

    /// The same under a promise, with round trips of 10 ms.
    fn small(packets: u64, loss: f64, of_size: impl Fn(f64) -> f64) -> [f64; 2] {
        small_in(true, packets, loss, of_size, |_| 0.01)
    }

    #[test]
    fn packets_stay_small_where_that_saves_more_than_headers_cost() {
        for loss in [0.05, 0.1, 0.3] {
            let [first, second] = small(4, loss, |size| size * size);
            assert!(first > 0.5 && second > 0.99, "{loss}: {first}, {second}");
        }
    }

    #[test]
    fn where_every_packet_is_lost_alike_trials_become_rare() {
        for loss in [0.02, 0.1, 0.3] {
            let [first, second] = small(4, loss, |_| 1.0);
            assert!(first < 0.4 && second < 0.1, "{loss}: {first}, {second}");
        }
    }

    #[test]
    fn a_link_that_is_full_in_any_case_has_full_packets() {
        let pace = |through: Bytes| through.as_f64() / 250e3;
        let [first, second] = small_in(false, 4, 0.1, |size| size * size, pace);
        assert!(first < 0.2 && second < 0.1, "{first}, {second}");
    }

    #[test]
    fn without_a_promise_packets_stay_small_where_more_comes_of_it() {
        // What full packets lose costs them as much again, because the window is reduced.
        let pace = |through: Bytes| match through.as_f64() < 0.9 * FULL.times(4).as_f64() {
            true => 0.02,
            false => 0.01,
        };
        let [first, second] = small_in(false, 4, 0.1, |size| size * size, pace);
        assert!(first > 0.5 && second > 0.9, "{first}, {second}");
    }

    #[test]
    fn large_windows_and_clean_paths_have_full_packets() {
        for (packets, loss) in [(16, 0.1), (4, 0.0), (15, 0.001)] {
            assert_eq!(
                small(packets, loss, |size| size * size),
                [0.0; 2],
                "{packets}, {loss}"
            );
        }
    }

    #[test]
    fn a_window_of_reno_has_full_packets() {
        for (law, is_full) in [(Window::Reno, true), (Window::Cubic, false)] {
            let mut path = Path::new(FULL, Bytes::new(48), Bytes::new(28), law);
            for _ in 0..2 * LOSSES {
                path.on_window(FULL.times(4), Phase::CongestionAvoidance, false);
                path.on_lost();
            }
            path.on_window(FULL.times(4), Phase::CongestionAvoidance, false);
            assert_eq!(path.view().datagram == FULL, is_full, "{law:?}");
        }
    }

    #[test]
    fn what_slow_start_loses_is_no_reason() {
        let mut chosen = PacketSize::new(HEADERS);
        for phase in [
            Phase::SlowStart,
            Phase::Recovery,
            Phase::CongestionAvoidance,
        ] {
            (0..10).for_each(|_| chosen.on_lost());
            let size = chosen.fit(FULL.times(4), phase, FULL, true);
            assert_eq!(
                size < FULL,
                phase == Phase::CongestionAvoidance,
                "{phase:?}"
            );
        }
    }
}
