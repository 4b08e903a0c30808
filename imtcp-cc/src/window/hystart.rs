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
        /// The least RTT of the round in which this stage began (cssBaselineMinRtt).
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
    /// The number of RTT samples of the present round (rttSampleCount).
    samples: u32,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Standard,
            round_start: None,
            last_round: None,
            this_round: None,
            samples: 0,
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
        self.samples = self.samples.saturating_add(1);
        self.stage = self.next_stage(least);
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
        self.samples = 0;
        if let Stage::Conservative { rounds, .. } = &mut self.stage {
            *rounds += 1;
        }
    }

    fn next_stage(&self, least: Duration) -> Stage {
        if self.samples < SAMPLES {
            return self.stage;
        }
        match (self.stage, self.last_round) {
            (Stage::Standard, Some(last)) if least >= last.saturating_add(threshold(last)) => {
                Stage::Conservative {
                    baseline: least,
                    rounds: 0,
                }
            }
            (Stage::Conservative { baseline, .. }, _) if least < baseline => Stage::Standard,
            _ => self.stage,
        }
    }
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

    /// A round of `packets` that were sent and acknowledged one after another.
    fn round(hystart: &mut HyStart, number: u64, packets: u64, rtt_ms: u64) -> Vec<Pace> {
        let ack = |packet| {
            let acked = AckedBytes {
                now: at(1000 * (number + 1) + packet),
                size: Bytes::new(1200),
                sent: at(1000 * number + packet),
                application_limited: false,
                smoothed_rtt: Duration::from_millis(rtt_ms),
                latest_rtt: Duration::from_millis(rtt_ms),
            };
            hystart.on_ack(&acked)
        };
        (0..packets).map(ack).collect()
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

    #[test]
    fn fewer_than_eight_samples_decide_nothing() {
        let mut hystart = HyStart::new();
        round(&mut hystart, 1, 20, 40);
        assert_eq!(round(&mut hystart, 2, 7, 400), [Pace::Full; 7]);
    }
}
