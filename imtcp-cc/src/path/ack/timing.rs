//! What sets the time at which echoes come: the data's own arrival, or something on the way back.
//!
//! The time of an echo is useful only while the packet's arrival at the peer decides it. A path
//! that releases packets in aggregates, a host that reads them in batches, and a full reverse link
//! all give echoes a time of their own. Three signs show this, and none of them needs the
//! capacity:
//!
//! - *Clumps*: packets that left well apart are echoed together. A link can bring packets only as
//!   close together as it serves them, so such packets are an aggregate.
//! - *A beat*: gaps between acknowledgements are all alike, while the packets that they cover are
//!   not. A link that serves data would need twice the time for twice the bytes. So this is the
//!   beat of another link, which sends one acknowledgement after the other.
//! - *A contradiction*, found elsewhere ([`crate::path::capacity`]): by capacity and echoes
//!   together, others would send more than the link carries.
//!
//! After such a sign times are read coarsely: over gaps so long that the effect of the way back on
//! their ends is small.

use crate::units::{TimeDelta, Timestamp};
use std::time::Duration;

/// The number of echoes for a judgement, as in [`super::CadenceDetector`].
const BLOCK: usize = 64;

/// Echoes are one clump if they are closer together than this part of the departures. A link that
/// serves both packets at C from a queue brings a flow at C / 4 four times closer together. Flows
/// below an eighth of the capacity come in clumps of two at most, if the queue belongs to others
/// and is short.
const CLUMP_DIVISOR: i64 = 8;

/// Echoes this close together are one clump, however their packets left: below 5 Gbit/s a full
/// packet takes longer.
const TOGETHER: TimeDelta = TimeDelta::from_nanos(2_000);

/// The average number of echoes per clump from which on clumps are the rule.
const CLUMPED_NUMERATOR: usize = 5;
const CLUMPED_DENOMINATOR: usize = 2;

/// The width of a beat around the median gap, in per cent, and the number of gaps within it that
/// make a beat. The width is not zero because acknowledgements differ in size by a range or two.
const BEAT_WIDTH_PERCENT: u32 = 15;
const BEAT_MAJORITY: usize = BLOCK * 3 / 4;

/// A beat also needs different numbers of packets: this many acknowledgements do not cover the
/// most common number.
const BEAT_IRREGULAR: usize = BLOCK / 4;

/// How many blocks in a row must agree before echoes are read coarsely, and before they are read
/// finely again.
const AGREE_COARSE: u32 = 2;
const AGREE_FINE: u32 = 8;

/// The time after a contradiction in which fine reading is not tried again.
const DISTRUST: Duration = Duration::from_secs(30);

/// The shortest time of coarse reading. It doubles each time that a return to fine reading did not
/// last ten times as long. Nothing can be learnt from echoes if the way of reading them changes
/// often.
const COARSE_FOR: Duration = Duration::from_secs(1);
const RELAPSE_FACTOR: u32 = 10;

/// How many displacements of a block exceed the jitter.
const BEYOND: usize = BLOCK / 20;

#[derive(Clone, Copy, Debug, Default)]
struct Displacement {
    arrival: TimeDelta,
    departure: TimeDelta,
    packets: u32,
    /// The part of the gap that neither the time between the departures nor the link's own pace
    /// explains.
    off: Duration,
}

/// What sets the time at which echoes come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EchoTiming {
    /// The data's own arrival.
    #[default]
    Own,
    /// The release of the aggregate in which the packet came. The edges of clumps can be read.
    Clumped,
    /// Something on the way back. Not even waiting can be read: nobody knows in which direction a
    /// packet waited.
    Foreign,
}

/// Follows gaps between echoes.
#[derive(Debug)]
pub struct TimingJudge {
    block: [Displacement; BLOCK],
    filled: usize,
    /// The jitter of the last block and of the one before it.
    jitter: [Duration; 2],
    timing: EchoTiming,
    /// How many blocks in a row speak for another timing.
    against: u32,
    distrusted_until: Timestamp,
    /// The timing until then.
    distrusted: EchoTiming,
    /// How long echoes were to be read coarsely when coarse reading last began, and the earliest
    /// time at which it ends.
    coarse_for: Duration,
    coarse_until: Timestamp,
}

impl Default for TimingJudge {
    fn default() -> Self {
        Self {
            block: [Displacement::default(); BLOCK],
            filled: 0,
            jitter: [Duration::ZERO; 2],
            timing: EchoTiming::Own,
            against: 0,
            distrusted_until: Timestamp::ZERO,
            distrusted: EchoTiming::Own,
            coarse_for: Duration::ZERO,
            coarse_until: Timestamp::ZERO,
        }
    }
}

impl TimingJudge {
    /// An echo came. `arrival` is its time after the echo before it, and `departure` is the time
    /// between the departures of the two packets. The acknowledgement covered `packets`, which the
    /// tight link serves in `served`.
    pub fn on_echo(
        &mut self,
        now: Timestamp,
        arrival: TimeDelta,
        departure: TimeDelta,
        packets: u32,
        served: Option<Duration>,
    ) {
        let off = (arrival - departure).abs();
        let unserved = served.map_or(off, |served| (arrival - served.into()).abs());
        self.block[self.filled] = Displacement {
            arrival,
            departure,
            packets,
            off: off.min(unserved),
        };
        self.filled += 1;
        if self.filled == BLOCK {
            self.filled = 0;
            self.judge(now);
        }
    }

    /// Capacity and echoes contradict each other: something pushes echoes together. If it
    /// displaces them by no more than `readable`, their time can still be read coarsely.
    pub fn distrust(&mut self, now: Timestamp, readable: Duration) {
        self.distrusted = if self.jitter() <= readable {
            EchoTiming::Clumped
        } else {
            EchoTiming::Foreign
        };
        self.timing = self.distrusted;
        self.against = 0;
        self.distrusted_until = now + DISTRUST;
    }

    /// Judges again whether distrusted echoes can be read coarsely. After a contradiction they
    /// were taken for unreadable, by their jitter at that moment. The start of a transfer, before
    /// its queue has filled, is a poor moment for that. If the jitter is now no more than
    /// `readable`, they can be read coarsely.
    pub fn reconsider(&mut self, readable: Duration) {
        if self.distrusted == EchoTiming::Foreign && self.jitter() <= readable {
            self.distrusted = EchoTiming::Clumped;
        }
    }

    /// What sets the echoes' time.
    pub fn timing(&self) -> EchoTiming {
        self.timing
    }

    /// Whether only long gaps can be read.
    pub fn is_coarse(&self) -> bool {
        self.timing != EchoTiming::Own
    }

    /// The jitter: 95 % of the displacements stay below it. The time between two echoes differs
    /// from the time between their departures, and from the time that a busy link needs for the
    /// packets. The lesser difference is the displacement. Packets of others contribute to it.
    pub fn jitter(&self) -> Duration {
        self.jitter[0].max(self.jitter[1])
    }

    /// Whether an echo that comes so soon after another belongs to the same clump.
    pub fn is_clump(arrival: TimeDelta, departure: TimeDelta) -> bool {
        arrival <= TOGETHER
            || arrival.as_nanos().saturating_mul(CLUMP_DIVISOR) < departure.as_nanos()
    }

    fn judge(&mut self, now: Timestamp) {
        self.jitter = [self.block_jitter(), self.jitter[0]];
        let seen = self.block_timing(now);
        if seen == self.timing {
            self.against = 0;
            return;
        }
        if seen == EchoTiming::Own && now < self.coarse_until {
            return;
        }
        self.against += 1;
        let enough = if seen == EchoTiming::Own {
            AGREE_FINE
        } else {
            AGREE_COARSE
        };
        if self.against >= enough {
            if self.timing == EchoTiming::Own {
                self.begin_coarse(now);
            }
            self.timing = seen;
            self.against = 0;
        }
    }

    fn begin_coarse(&mut self, now: Timestamp) {
        let relapse = now < self.coarse_until + self.coarse_for * RELAPSE_FACTOR;
        self.coarse_for = if relapse {
            (self.coarse_for * 2).min(DISTRUST)
        } else {
            COARSE_FOR
        };
        self.coarse_until = now + self.coarse_for;
    }

    fn block_timing(&self, now: Timestamp) -> EchoTiming {
        if self.has_a_beat() {
            EchoTiming::Foreign
        } else if now < self.distrusted_until {
            self.distrusted
        } else if self.comes_in_clumps() {
            EchoTiming::Clumped
        } else {
            EchoTiming::Own
        }
    }

    fn block_jitter(&self) -> Duration {
        let mut sizes = self.block.map(|echo| echo.off);
        *sizes.select_nth_unstable(BLOCK - 1 - BEYOND).1
    }

    fn comes_in_clumps(&self) -> bool {
        let clumps = self
            .block
            .iter()
            .filter(|echo| !Self::is_clump(echo.arrival, echo.departure))
            .count();
        BLOCK * CLUMPED_DENOMINATOR >= clumps.max(1) * CLUMPED_NUMERATOR
    }

    fn has_a_beat(&self) -> bool {
        let mut gaps = self.block.map(|echo| echo.arrival.abs());
        let median = *gaps.select_nth_unstable(BLOCK / 2).1;
        let width = median * BEAT_WIDTH_PERCENT / 100;
        let alike = gaps.iter().filter(|gap| gap.abs_diff(median) <= width);
        if alike.count() < BEAT_MAJORITY {
            return false;
        }
        let mut counts = self.block.map(|echo| echo.packets);
        counts.sort_unstable();
        let commonest = counts
            .chunk_by(|a, b| a == b)
            .map(<[u32]>::len)
            .max()
            .unwrap_or(0);
        BLOCK - commonest >= BEAT_IRREGULAR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: i64) -> TimeDelta {
        TimeDelta::from_nanos(us * 1000)
    }

    fn feed(judge: &mut TimingJudge, echoes: usize, gap: impl Fn(usize) -> (i64, i64, u32)) {
        feed_at(judge, Timestamp::ZERO, echoes, gap);
    }

    fn feed_at(
        judge: &mut TimingJudge,
        now: Timestamp,
        echoes: usize,
        gap: impl Fn(usize) -> (i64, i64, u32),
    ) {
        for i in 0..echoes {
            let (arrival, departure, packets) = gap(i);
            judge.on_echo(now, us(arrival), us(departure), packets, None);
        }
    }

    #[test]
    fn a_link_with_a_queue_keeps_the_data_s_own_time() {
        let mut judge = TimingJudge::default();
        // Served every 220 us, now and then behind a foreign packet; sent every 300 us.
        feed(&mut judge, 10 * BLOCK, |i| {
            (220 + 190 * i64::from(i.is_multiple_of(3)), 300, 1)
        });
        assert!(!judge.is_coarse());
        assert_eq!(judge.jitter(), Duration::from_micros(110));
    }

    #[test]
    fn bursts_that_a_queue_spreads_are_no_jitter() {
        let mut judge = TimingJudge::default();
        for i in 0..10 * BLOCK {
            // Ten packets leave together every 1.2 ms, and come as the link serves them.
            let departure = if i.is_multiple_of(10) { 1200 } else { 0 };
            let served = Some(Duration::from_micros(110));
            judge.on_echo(Timestamp::ZERO, us(115), us(departure), 1, served);
        }
        assert_eq!(judge.jitter(), Duration::from_micros(5));
    }

    #[test]
    fn aggregates_are_noticed_and_forgotten() {
        let mut judge = TimingJudge::default();
        // Ten packets sent every 400 us come together every 4 ms.
        let aggregate = |i: usize| (if i.is_multiple_of(10) { 4000 } else { 0 }, 400, 1);
        feed(&mut judge, BLOCK, aggregate);
        assert!(!judge.is_coarse(), "one block is no rule");
        feed(&mut judge, BLOCK, aggregate);
        assert_eq!(judge.timing(), EchoTiming::Clumped);
        assert_eq!(judge.jitter(), Duration::from_micros(3600));
        feed(&mut judge, 100 * BLOCK, |_| (400, 400, 1));
        assert!(judge.is_coarse(), "no time has passed");
        judge.coarse_until = Timestamp::ZERO;
        feed(&mut judge, 7 * BLOCK, |_| (400, 400, 1));
        assert!(judge.is_coarse());
        feed(&mut judge, BLOCK, |_| (400, 400, 1));
        assert!(!judge.is_coarse());
    }

    #[test]
    fn echoes_that_become_coarse_again_stay_so_for_longer() {
        let mut judge = TimingJudge::default();
        let aggregate = |i: usize| (if i.is_multiple_of(10) { 4000 } else { 0 }, 400, 1);
        let mut spans = Vec::new();
        let mut now = Timestamp::from_origin(Duration::from_secs(1));
        for _ in 0..4 {
            while !judge.is_coarse() {
                feed_at(&mut judge, now, BLOCK, aggregate);
            }
            let began = now;
            while judge.is_coarse() {
                now = now + Duration::from_millis(100);
                feed_at(&mut judge, now, 8 * BLOCK, |_| (400, 400, 1));
            }
            spans.push((now - began).as_secs_f64());
        }
        assert_eq!(spans, [1.0, 2.0, 4.0, 8.0]);
    }

    #[test]
    fn a_full_reverse_link_s_beat_is_noticed() {
        let mut judge = TimingJudge::default();
        feed(&mut judge, 2 * BLOCK, |i| {
            let packets = [2, 3, 4][i % 3];
            (
                1040 + 30 * i64::from(i.is_multiple_of(2)),
                380 * i64::from(packets),
                packets,
            )
        });
        assert!(judge.is_coarse());
    }

    #[test]
    fn a_receiver_with_a_fixed_count_has_no_beat() {
        let mut judge = TimingJudge::default();
        feed(&mut judge, 4 * BLOCK, |_| (2200, 2200, 10));
        assert!(!judge.is_coarse());
    }

    #[test]
    fn a_contradiction_lasts() {
        let mut judge = TimingJudge::default();
        judge.distrust(Timestamp::ZERO, Duration::ZERO);
        assert!(judge.is_coarse());
        feed(&mut judge, 20 * BLOCK, |_| (400, 400, 1));
        assert!(judge.is_coarse());
    }

    #[test]
    fn echoes_that_could_not_be_read_for_a_moment_are_read_when_they_can() {
        // Four packets that left together come within 30 us, every 2 ms.
        let late = |i: usize| (if i.is_multiple_of(4) { 2000 } else { 10 }, 6, 1);
        let mut judge = TimingJudge::default();
        feed(&mut judge, 2 * BLOCK, late);
        judge.distrust(Timestamp::ZERO, Duration::from_micros(100));
        judge.reconsider(Duration::from_micros(100));
        feed(&mut judge, 2 * BLOCK, late);
        assert_eq!(judge.timing(), EchoTiming::Foreign);
        judge.reconsider(Duration::from_millis(4));
        feed(&mut judge, 2 * BLOCK, late);
        assert_eq!(judge.timing(), EchoTiming::Clumped);
    }

    #[test]
    fn a_host_that_wakes_late_is_read_coarsely_and_a_way_back_that_holds_echoes_up_is_not() {
        // Eight packets that left together come within 30 us, once a millisecond.
        let late = |i: usize| (if i.is_multiple_of(8) { 1000 } else { 4 }, 6, 1);
        for (readable_ms, timing) in [(5, EchoTiming::Clumped), (0, EchoTiming::Foreign)] {
            let mut judge = TimingJudge::default();
            feed(&mut judge, 2 * BLOCK, late);
            judge.distrust(Timestamp::ZERO, Duration::from_millis(readable_ms));
            assert_eq!(judge.timing(), timing, "readable: {readable_ms} ms");
        }
    }
}
