//! HyStart++ (RFC 9406): slow start ends when the round trip grows, before packets are lost.
//!
//! ```text
//!              RTT grew                   five rounds
//!   Standard ------------> Conservative -------------> Over
//!       ^    RTT fell again    |                        ^
//!       +----------------------+       congestion       |
//!       +-----------------------------------------------+
//! ```
//!
//! HyStart++ applies to the first slow start only (section 4.3). The RFC's limit L on the growth
//! per acknowledgement is infinite, because packets are paced. A round ends with the
//! acknowledgement of a packet that was sent after the round began. Each acknowledged packet counts
//! as a sample, and not each acknowledgement: a peer may acknowledge so many packets together that
//! no round has eight acknowledgements.
//!
//! The RFC compares the least RTT of a round with that of the last round. A paced window grows all
//! through the round, so its first packets find no queue, and the RFC sees the queue one round
//! later. Growth is therefore also looked for within the round: eight samples in a row whose least
//! exceeds all such leasts of the last round (`Span`). A path whose delay varies has large leasts
//! in each round, and is judged by these.

use super::AckedBytes;
use crate::units::Timestamp;
use std::time::Duration;

/// MIN_RTT_THRESH (section 4.3).
const MIN_RTT_THRESHOLD: Duration = Duration::from_millis(4);
/// MAX_RTT_THRESH (section 4.3).
const MAX_RTT_THRESHOLD: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR (section 4.3).
const MIN_RTT_DIVISOR: u32 = 8;
/// N_RTT_SAMPLE (section 4.3).
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR (section 4.3).
const GROWTH_DIVISOR: u64 = 4;
/// CSS_ROUNDS (section 4.3).
const CONSERVATIVE_ROUNDS: u32 = 5;

/// How fast the window grows in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// The window grows by the bytes that are acknowledged.
    Full,
    /// The window grows by a part of these bytes.
    Conservative {
        /// The bytes are divided by this number (CSS_GROWTH_DIVISOR).
        divisor: u64,
    },
    /// Slow start is over, and congestion avoidance begins.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Standard,
    Conservative {
        /// The least RTT of the span with which this stage began (cssBaselineMinRtt).
        baseline: Duration,
        /// The number of rounds that have ended, the one included in which this stage began.
        rounds: u32,
    },
    /// HyStart++ is over. Later slow starts follow RFC 9002.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HyStart {
    stage: Stage,
    round_start: Option<Timestamp>,
    /// The least RTT of the last round (lastRoundMinRTT).
    last_round: Option<Duration>,
    /// The least RTT of the present round (currentRoundMinRTT).
    this_round: Option<Duration>,
    span: Span,
    /// The greatest of the last round's spans.
    last_greatest: Option<Duration>,
    /// The greatest of the present round's spans, those of the conservative stage left out: what
    /// slowed the window down must not hide what comes after it resumes.
    this_greatest: Option<Duration>,
}

/// The samples of a round, eight by eight (rttSampleCount counts those of the first span).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    least: Option<Duration>,
    samples: u32,
}

impl Span {
    /// Adds a sample. Returns the least of the span that ends with it.
    fn add(&mut self, rtt: Duration) -> Option<Duration> {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        self.samples += 1;
        if self.samples < SAMPLES {
            return None;
        }
        *self = Self::default();
        Some(least)
    }
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Standard,
            round_start: None,
            last_round: None,
            this_round: None,
            span: Span::default(),
            last_greatest: None,
            this_greatest: None,
        }
    }

    /// Slow start has ended for another reason: congestion, or an order of the promise.
    pub(super) fn give_up(&mut self) {
        self.stage = Stage::Over;
    }

    /// A packet was acknowledged in slow start (section 4.2).
    pub(super) fn on_ack(&mut self, acked: &AckedBytes) -> Pace {
        if self.stage == Stage::Over {
            return Pace::Full;
        }
        if self.round_start.is_none_or(|start| acked.sent >= start) {
            self.begin_round(acked.now);
        }
        let rtt = acked.latest_rtt;
        let least = self.this_round.map_or(rtt, |least| least.min(rtt));
        self.this_round = Some(least);
        if let Some(span) = self.span.add(rtt) {
            let stage = self.next_stage(least, span);
            if self.stage == Stage::Standard {
                self.this_greatest = self.this_greatest.max(Some(span));
            }
            self.stage = stage;
        }
        match self.stage {
            Stage::Standard => Pace::Full,
            Stage::Conservative { rounds, .. } if rounds < CONSERVATIVE_ROUNDS => {
                Pace::Conservative {
                    divisor: GROWTH_DIVISOR,
                }
            }
            Stage::Conservative { .. } | Stage::Over => {
                self.stage = Stage::Over;
                Pace::Over
            }
        }
    }

    fn begin_round(&mut self, now: Timestamp) {
        self.round_start = Some(now);
        self.last_round = self.this_round.take();
        self.span = Span::default();
        self.last_greatest = self.this_greatest.take();
        if let Stage::Conservative { rounds, .. } = &mut self.stage {
            *rounds += 1;
        }
    }

    /// What follows a span, in a round whose least RTT is `least` so far.
    fn next_stage(&self, least: Duration, span: Duration) -> Stage {
        let round_grew = has_grown(least, self.last_round);
        match self.stage {
            Stage::Standard if round_grew || has_grown(span, self.last_greatest) => {
                Stage::Conservative {
                    baseline: span,
                    rounds: 0,
                }
            }
            Stage::Conservative { baseline, .. } if span < baseline => Stage::Standard,
            stage => stage,
        }
    }
}

/// If an RTT exceeds that of the last round by the threshold.
fn has_grown(rtt: Duration, last: Option<Duration>) -> bool {
    last.is_some_and(|last| rtt >= last.saturating_add(threshold(last)))
}

/// RttThresh: by how much the round trip must grow within a round for slow start to slow down
/// (section 4.2).
fn threshold(last_round: Duration) -> Duration {
    (last_round / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// The acknowledgement of a packet of the round with this number.
    fn ack(hystart: &mut HyStart, number: u64, packet: u64, rtt_ms: u64) -> Pace {
        hystart.on_ack(&AckedBytes {
            now: at(1000 * (number + 1) + packet),
            size: Bytes::new(1200),
            sent: at(1000 * number + packet),
            application_limited: false,
            smoothed_rtt: Duration::from_millis(rtt_ms),
            latest_rtt: Duration::from_millis(rtt_ms),
        })
    }

    /// A round of `packets` that were sent and acknowledged one after another.
    fn round(hystart: &mut HyStart, number: u64, packets: u64, rtt_ms: u64) -> Vec<Pace> {
        (0..packets)
            .map(|packet| ack(hystart, number, packet, rtt_ms))
            .collect()
    }

    const SLOW: Pace = Pace::Conservative { divisor: 4 };

    #[test]
    fn a_path_whose_round_trip_stays_is_never_left() {
        let mut hystart = HyStart::new();
        for number in 1..50 {
            assert!(
                round(&mut hystart, number, 100, 40)
                    .iter()
                    .all(|pace| *pace == Pace::Full)
            );
        }
    }

    #[test]
    fn a_round_trip_that_grew_by_an_eighth_slows_growth_with_the_eighth_sample() {
        // The threshold is 40 / 8 = 5 ms, which lies between 4 and 16 ms.
        let mut hystart = HyStart::new();
        assert_eq!(round(&mut hystart, 1, 20, 40), [Pace::Full; 20]);
        assert_eq!(round(&mut hystart, 2, 20, 44), [Pace::Full; 20]);
        // The threshold is 44 / 8 = 5.5 ms, so 49.5 ms are too long.
        assert_eq!(round(&mut hystart, 3, 20, 49), [Pace::Full; 20]);
        // The threshold is 49 / 8 = 6.125 ms, so 55.125 ms are too long.
        let paces = round(&mut hystart, 4, 20, 56);
        assert_eq!(paces[..7], [Pace::Full; 7]);
        assert_eq!(paces[7..], [SLOW; 13]);
    }

    #[test]
    fn the_threshold_stays_within_4_and_16_milliseconds() {
        let ms = Duration::from_millis;
        assert_eq!(threshold(ms(2)), ms(4));
        assert_eq!(threshold(ms(40)), ms(5));
        assert_eq!(threshold(ms(300)), ms(16));
    }

    #[test]
    fn slow_start_is_over_after_five_rounds_the_one_it_slowed_in_included() {
        let mut hystart = HyStart::new();
        round(&mut hystart, 1, 20, 40);
        assert_eq!(round(&mut hystart, 2, 20, 60)[7..], [SLOW; 13]);
        for number in 3..=6 {
            assert_eq!(round(&mut hystart, number, 20, 60), [SLOW; 20], "{number}");
        }
        let paces = round(&mut hystart, 7, 2, 60);
        assert_eq!(paces, [Pace::Over, Pace::Full], "later ones are standard");
    }

    #[test]
    fn a_round_trip_that_falls_again_resumes_slow_start() {
        let mut hystart = HyStart::new();
        round(&mut hystart, 1, 20, 40);
        round(&mut hystart, 2, 20, 60);
        // A round trip as long as the baseline does not end the conservative stage.
        assert_eq!(round(&mut hystart, 3, 20, 60), [SLOW; 20]);
        let paces = round(&mut hystart, 4, 20, 59);
        assert_eq!(paces[..7], [SLOW; 7]);
        assert_eq!(paces[7..], [Pace::Full; 13]);
        // The window may slow down again, from 59 + 7.375 ms on.
        assert_eq!(round(&mut hystart, 5, 8, 67)[7], SLOW);
    }

    /// A round whose packets have these round trips in turn, eight packets each.
    fn uneven(hystart: &mut HyStart, number: u64, round_trips_ms: &[u64]) -> Vec<Pace> {
        let each = round_trips_ms.iter().flat_map(|rtt_ms| [*rtt_ms; 8]);
        let ack = |(packet, rtt_ms)| ack(hystart, number, packet, rtt_ms);
        (0..).zip(each).map(ack).collect()
    }

    #[test]
    fn a_queue_that_grows_within_the_round_slows_growth_in_this_round() {
        let mut hystart = HyStart::new();
        assert_eq!(uneven(&mut hystart, 1, &[40, 40, 40]), [Pace::Full; 24]);
        // The threshold is 5 ms. The first packets of the round find no queue.
        let paces = uneven(&mut hystart, 2, &[40, 44, 45]);
        assert_eq!(paces[..23], [Pace::Full; 23]);
        assert_eq!(paces[23], SLOW);
    }

    #[test]
    fn a_delay_that_varied_as_much_in_the_last_round_slows_nothing() {
        let mut hystart = HyStart::new();
        assert_eq!(uneven(&mut hystart, 1, &[40, 48, 42]), [Pace::Full; 24]);
        // The threshold is 48 / 8 = 6 ms beyond 48 ms.
        assert_eq!(uneven(&mut hystart, 2, &[42, 53, 53]), [Pace::Full; 24]);
        assert_eq!(
            uneven(&mut hystart, 3, &[40, 60, 40])[15..],
            [SLOW, SLOW, SLOW, SLOW, SLOW, SLOW, SLOW, SLOW, Pace::Full]
        );
    }

    #[test]
    fn what_slowed_growth_slows_it_again_in_the_next_round() {
        let mut hystart = HyStart::new();
        uneven(&mut hystart, 1, &[40, 40]);
        // 45 ms slow growth. 60 ms come after this, and do not count as usual.
        assert_eq!(uneven(&mut hystart, 2, &[40, 45, 60])[15..], [SLOW; 9]);
        // Growth resumes, and the threshold is 45 / 8 = 5.6 ms beyond 45 ms.
        let paces = uneven(&mut hystart, 3, &[40, 51]);
        assert_eq!((paces[7], paces[15]), (Pace::Full, SLOW));
    }

    #[test]
    fn fewer_than_eight_samples_decide_nothing() {
        let mut hystart = HyStart::new();
        round(&mut hystart, 1, 20, 40);
        assert_eq!(round(&mut hystart, 2, 7, 400), [Pace::Full; 7]);
    }
}
