//! What the link gives us while our packets wait, where nothing shows its capacity.
//!
//! A queue that serves flows in turn (FQ-CoDel, RFC 8290) gives each flow that has packets waiting
//! the same share, however fast it sends. Packets that leave together then arrive apart, as over a
//! slower link, and as soon as others pause they arrive at the pace of the whole link. No capacity
//! fits both. But the pace at which waiting packets arrive is steady, and it is what a flow like
//! this one can have.
//!
//! In a queue that is not fair the pace depends on how fast our packets were sent. So it is not
//! steady where they were sent now faster, now slower, and nothing is said. Packets that were all
//! sent at one pace cannot tell the one queue from the other, and say nothing either.

use super::SYSTEMATIC_SHARE;
use super::arrivals::{Arrivals, SPAN, Span};
use super::blocks::BLOCK_95;
use crate::deviation::Deviation;
use crate::estimate::{Estimate, Flags};
use crate::units::{Bandwidth, Timestamp};

/// So many packets that waited are enough, and older ones do not count.
const ENOUGH_PACKETS: u32 = 96;

/// A block is closed with the span in which it has so many packets that waited.
const BLOCK_PACKETS: u32 = 16;

/// The fewest blocks that tell anything.
const FEWEST_BLOCKS: f64 = 3.0;

/// Where no capacity is known, packets that waited arrive at least this many times further apart
/// than they were sent. Otherwise the pace may be our own.
const STRETCH: f64 = 1.5;

/// Others do not send this many times what the link carries for seconds, not even over two links.
const IMPOSSIBLE: f64 = 2.0;

/// The pace is steady if its standard deviation between blocks is at most this share of it.
const STEADY: f64 = 0.05;

/// Packets were sent now faster, now slower, if the standard deviation of their pace between blocks
/// is at least this share of it: four times what a steady pace may have. With one queue for all,
/// the pace of arrivals would follow. On drawn paths 0.1 and 0.4 read
/// nearly the same (docs/ALGORITHM.md).
const VARIED: f64 = 0.2;

/// What waiting packets were given in the time of `arrivals`, if that was the same all the time.
pub(super) fn estimate(
    arrivals: &Arrivals,
    now: Timestamp,
    capacity: Option<Bandwidth>,
) -> Option<Estimate> {
    let mut all = Span::default();
    let mut block = Span::default();
    let mut paces = Deviation::default();
    let mut sent = Deviation::default();
    let mut length = 0;
    for (reach, span) in arrivals.backwards() {
        length = reach;
        all.add(span);
        block.add(span);
        if block.serving_packets >= BLOCK_PACKETS {
            paces.add(block.pace());
            sent.add(block.sent_pace());
            block = Span::default();
        }
        if all.serving_packets >= ENOUGH_PACKETS {
            break;
        }
    }
    let is_given = match capacity {
        Some(capacity) => all.refutes_one_queue(capacity),
        None => all.serving_s >= STRETCH * all.serving_sent_s && sent.get() >= VARIED * sent.mean(),
    };
    let deviation = paces.get();
    // False where packets came at one instant, whose pace is no number.
    let is_steady = deviation <= STEADY * paces.mean();
    if !is_given || paces.count() < FEWEST_BLOCKS || !is_steady {
        return None;
    }
    let pace = all.pace();
    let systematic = SYSTEMATIC_SHARE * pace;
    let half = libm::sqrt(BLOCK_95 * BLOCK_95 * deviation * deviation + systematic * systematic);
    Some(Estimate {
        at: arrivals.newest().min(now),
        available: Bandwidth::from_bps_f64(pace),
        low: Bandwidth::from_bps_f64(pace - half),
        high: Bandwidth::from_bps_f64(pace + half),
        window: SPAN * u32::try_from(length).ok()?,
        flags: Flags {
            share: true,
            ..Flags::default()
        },
    })
}

impl Span {
    /// The rate at which packets came that waited, in bits per second.
    fn pace(&self) -> f64 {
        self.serving_bits / self.serving_s
    }

    /// The rate at which those packets had been sent, in bits per second.
    fn sent_pace(&self) -> f64 {
        // Packets that left in the same nanosecond have a pace, too.
        self.serving_bits / self.serving_sent_s.max(1e-9)
    }

    /// Whether one queue for all cannot explain what arrived between packets that waited. While
    /// they were sent, others would have sent more than the link carries. Packets that left at once
    /// leave others no time at all, so a pace counts as the link's own if it is nearly that.
    fn refutes_one_queue(&self, capacity: Bandwidth) -> bool {
        let foreign_s = self.serving_s - self.serving_bits / capacity.as_bps_f64();
        foreign_s > IMPOSSIBLE * self.serving_sent_s && foreign_s > STEADY * self.serving_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ack::{EchoGap, EchoPoint, LinkState};
    use crate::units::{Bytes, Nanos};
    use std::time::Duration;

    /// Packets of 1250 bytes, of which a link of 10 Mbit/s serves one in a millisecond.
    const PACKET: Bytes = Bytes::new(1250);
    const CAPACITY: Bandwidth = Bandwidth::from_mbps(10);

    /// Bursts of 20 packets, one each 100 ms. Packets of burst `n` leave `sent_us(n)` apart, and
    /// its packet `place` arrives `apart_us(n, place)` after the one before.
    fn bursts(sent_us: impl Fn(u64) -> u64, apart_us: impl Fn(u64, u64) -> u64) -> Arrivals {
        let mut arrivals = Arrivals::new();
        for burst in 0..40 {
            let mut arrived = burst * 100_000;
            let sent_us = sent_us(burst);
            for place in 1..20 {
                let sent = burst * 100_000 + place * sent_us;
                let from = point_us(burst * 20 + place - 1, sent - sent_us, arrived);
                arrived += apart_us(burst, place);
                let to = point_us(burst * 20 + place, sent, arrived);
                arrivals.on_gap(&waiting(from, to), None);
            }
        }
        arrivals
    }

    /// Packet `number`, which left and arrived at these times in microseconds.
    fn point_us(number: u64, sent: u64, arrived: u64) -> EchoPoint {
        let at_us = |us: u64| Timestamp::from_nanos(us * 1000);
        EchoPoint {
            number,
            size: PACKET,
            sent: at_us(sent),
            arrived: at_us(arrived),
            came: at_us(arrived),
        }
    }

    /// The gap between two packets that waited.
    fn waiting(from: EchoPoint, to: EchoPoint) -> EchoGap {
        EchoGap {
            from,
            to,
            bytes: PACKET,
            packets: 1,
            waited: Nanos::from_millis(50),
            is_alone: false,
            link: LinkState::Unknown,
        }
    }

    fn now_faster(burst: u64) -> u64 {
        if burst.is_multiple_of(2) { 1000 } else { 2000 }
    }

    fn megabits(arrivals: &Arrivals, capacity: Option<Bandwidth>) -> Option<f64> {
        let now = Timestamp::from_nanos(10_000_000_000);
        let estimate = estimate(arrivals, now, capacity)?;
        assert!(estimate.flags.share && estimate.window <= Duration::from_millis(600));
        assert!(estimate.low < estimate.available && estimate.available < estimate.high);
        Some(estimate.available.as_bps_f64() / 1e6)
    }

    #[test]
    fn who_is_served_in_turn_with_three_others_has_a_quarter() {
        let arrivals = bursts(|_| 1000, |_, _| 4000);
        assert_eq!(megabits(&arrivals, Some(CAPACITY)), Some(2.5));
        let arrivals = bursts(now_faster, |_, _| 4000);
        assert_eq!(megabits(&arrivals, None), Some(2.5));
    }

    #[test]
    fn what_was_given_minutes_ago_is_not_told_after_a_pause() {
        let mut arrivals = bursts(|_| 1000, |_, _| 4000);
        let [from, to] = [0, 1].map(|place| {
            let sent = 600_000_000 + place * 1000;
            point_us(800 + place, sent, sent + 4000)
        });
        arrivals.on_gap(&waiting(from, to), None);
        assert_eq!(estimate(&arrivals, to.arrived, Some(CAPACITY)), None);
    }

    #[test]
    fn packets_that_all_left_at_one_pace_may_have_met_any_queue_on_a_link_that_nobody_knows() {
        let arrivals = bursts(|_| 1000, |_, _| 4000);
        assert_eq!(megabits(&arrivals, None), None);
    }

    #[test]
    fn one_queue_for_all_explains_a_pace_that_follows_from_how_fast_we_sent() {
        // Others send as much as the link carries: of 2 ms each, one packet is ours.
        let arrivals = bursts(|_| 1000, |_, _| 2000);
        assert_eq!(megabits(&arrivals, Some(CAPACITY)), None);
        // A link of our own, however fast we send, and where its capacity is not known well.
        for (sent_us, apart_us) in [(100, 1000), (1, 1020)] {
            let arrivals = bursts(|_| sent_us, |_, _| apart_us);
            assert_eq!(megabits(&arrivals, Some(CAPACITY)), None);
        }
    }

    #[test]
    fn a_pace_that_is_our_own_or_that_changes_is_nobodys_gift() {
        assert_eq!(megabits(&bursts(|_| 4000, |_, _| 4000), None), None);
        let changing = |burst: u64, _| 2 * now_faster(burst);
        assert_eq!(megabits(&bursts(now_faster, changing), None), None);
    }

    #[test]
    fn packets_that_came_at_one_instant_have_no_pace() {
        // As a peer can make it look that says absurd delays.
        assert_eq!(megabits(&bursts(now_faster, |_, _| 0), None), None);
        assert_eq!(megabits(&bursts(|_| 0, |_, _| 0), None), None);
    }

    #[test]
    fn a_few_packets_tell_nothing() {
        let few = |_, place| if place < 2 { 4000 } else { 100_000 };
        assert_eq!(megabits(&bursts(|_| 1000, few), Some(CAPACITY)), None);
    }
}
