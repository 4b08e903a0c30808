//! Finds out whether replies are limited to a steady number a second.
//!
//! Small packets leave at a steady rate, in runs, each run three times as fast as the one before. A
//! limiter answers as many packets in one run as in the next. A path that loses packets by chance,
//! or in a full queue of larger packets, answers about three times as many.

use super::batch::{Batch, Probe};
use crate::units::{Bytes, NANOS_PER_SECOND};

/// The packets a second of the runs.
const RATES: [u32; 4] = [30, 90, 270, 810];

/// The length of a run in milliseconds. With the slowest rate that is 21 packets.
const RUN_MS: u32 = 700;

/// The size of the packets on the wire: at the highest rate 0.4 Mbit/s.
const SIZE: Bytes = Bytes::new(64);

/// From this share of lost packets on a run speaks of a limit.
const MUCH_LOST: f64 = 0.3;

/// Two runs have the same number of replies if they differ by no more than this share. Limiters
/// count in steps of their own.
const SAME: f64 = 0.35;

/// What the runs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No reply at all.
    Silent,
    /// So many replies a second, whatever was sent.
    Limited(u32),
    /// Replies follow what is sent.
    Unlimited,
}

/// The test. It is run once in a measurement.
#[derive(Debug, Default)]
pub(super) struct LimitTest {
    /// Sent and answered packets of each run so far.
    runs: Vec<(usize, usize)>,
}

impl LimitTest {
    /// The packets of the next run.
    pub fn run(&self) -> Vec<Probe> {
        let rate = RATES[self.runs.len().min(RATES.len() - 1)];
        let count = u64::from(rate * RUN_MS / 1000);
        let gap = NANOS_PER_SECOND / u64::from(rate);
        (0..count)
            .map(|i| Probe {
                offset_ns: i * gap,
                size: SIZE,
            })
            .collect()
    }

    /// A run is over. Returns the verdict, if it is clear.
    pub fn on_run(&mut self, batch: &Batch) -> Option<Verdict> {
        let before = self.runs.last().copied();
        let run = (batch.packets().len(), batch.replies());
        self.runs.push(run);
        if let Some(before) = before
            && loses_much(before)
            && loses_much(run)
        {
            let same = run.1.abs_diff(before.1) as f64 <= SAME * before.1 as f64 + 2.0;
            if run.1 == 0 && before.1 == 0 {
                return Some(Verdict::Silent);
            }
            if same {
                return Some(Verdict::Limited(per_second(run.1)));
            }
        }
        if self.runs.len() < RATES.len() {
            return None;
        }
        // A limit between the two fastest runs shows in the last alone. Its packets are so small
        // and so few that hardly a link is too slow for them.
        let was_whole = before.is_some_and(|before| !loses_much(before));
        Some(if loses_much(run) && was_whole {
            Verdict::Limited(per_second(run.1))
        } else {
            Verdict::Unlimited
        })
    }
}

fn loses_much((sent, answered): (usize, usize)) -> bool {
    sent.saturating_sub(answered) as f64 >= MUCH_LOST * sent as f64
}

/// Replies a second, of those in a run.
fn per_second(replies: usize) -> u32 {
    let replies = u32::try_from(replies).unwrap_or(u32::MAX);
    replies.saturating_mul(1000) / RUN_MS
}
