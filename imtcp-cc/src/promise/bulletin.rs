//! The facts that the packet path tells the application's threads, encoded as words for
//! [`super::threads`].

use super::changes::{CHANGES_WORDS, Changes};
use super::forecast::Outlook;
use super::history::{HISTORY_WORDS, History};
use super::requirement::{Demand, Requirement};
use super::status::{Cause, Outcome, SlotReport, Status};
use crate::bulk_share::{Basis, BulkShare};
use crate::estimate::{Estimate, Flags};
use crate::mode::Mode;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// Stands for "none" in a word that holds a time or a rate.
const NONE: u64 = u64::MAX;

pub(super) const REQUIREMENT_WORDS: usize = 3;
pub(super) const MODE_WORDS: usize = 2;
const ESTIMATE_WORDS: usize = 6;
const OUTLOOK_WORDS: usize = 5;
const SHARE_WORDS: usize = 4;
const STATUS_WORDS: usize = 2;
pub(super) const BULLETIN_WORDS: usize = 3
    + REQUIREMENT_WORDS
    + ESTIMATE_WORDS
    + OUTLOOK_WORDS
    + CHANGES_WORDS
    + HISTORY_WORDS
    + SHARE_WORDS
    + STATUS_WORDS;
pub(super) const REPORT_WORDS: usize = 7;

/// The values from which a handle answers all questions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bulletin {
    pub(super) smoothed_rtt: Option<Duration>,
    pub(super) least_rtt: Option<Duration>,
    /// The capacity on the wire, in the same unit as [`Estimate`].
    pub(super) capacity: Option<Bandwidth>,
    pub(super) requirement: Option<Requirement>,
    pub(super) estimate: Option<Estimate>,
    pub(super) outlook: Option<Outlook>,
    pub(super) share: Option<BulkShare>,
    pub(super) status: Status,
}

impl Bulletin {
    pub(super) fn to_words(self) -> [u64; BULLETIN_WORDS] {
        let mut words = [0; BULLETIN_WORDS];
        let mut to = Cursor {
            words: &mut words,
            at: 0,
        };
        to.put([self.smoothed_rtt.map_or(NONE, nanos)]);
        to.put([self.least_rtt.map_or(NONE, nanos)]);
        to.put([self.capacity.map_or(NONE, Bandwidth::as_bps)]);
        to.put(requirement_to_words(self.requirement));
        to.put(estimate_to_words(self.estimate));
        to.put(outlook_to_words(self.outlook));
        to.put(
            self.outlook
                .map_or([0; CHANGES_WORDS], |outlook| outlook.changes.to_words()),
        );
        to.put(
            self.outlook
                .map_or([0; HISTORY_WORDS], |outlook| outlook.history.to_words()),
        );
        to.put(share_to_words(self.share));
        to.put(status_to_words(self.status));
        words
    }

    pub(super) fn from_words(words: &[u64; BULLETIN_WORDS]) -> Self {
        let mut from = Source { words, at: 0 };
        let [smoothed_rtt] = from.take();
        let [least_rtt] = from.take();
        let [capacity] = from.take();
        let requirement = requirement_from_words(from.take());
        let estimate = estimate_from_words(from.take());
        let outlook = from.take();
        let changes = from.take();
        let history = from.take();
        Self {
            smoothed_rtt: some(smoothed_rtt).map(Duration::from_nanos),
            least_rtt: some(least_rtt).map(Duration::from_nanos),
            capacity: some(capacity).map(Bandwidth::from_bps),
            requirement,
            estimate,
            outlook: outlook_from_words(outlook, &changes, &history),
            share: share_from_words(from.take()),
            status: status_from_words(from.take()),
        }
    }
}

struct Cursor<'a> {
    words: &'a mut [u64],
    at: usize,
}

impl Cursor<'_> {
    fn put<const N: usize>(&mut self, words: [u64; N]) {
        self.words[self.at..self.at + N].copy_from_slice(&words);
        self.at += N;
    }
}

struct Source<'a> {
    words: &'a [u64],
    at: usize,
}

impl Source<'_> {
    fn take<const N: usize>(&mut self) -> [u64; N] {
        let words = std::array::from_fn(|index| self.words[self.at + index]);
        self.at += N;
        words
    }
}

fn some(word: u64) -> Option<u64> {
    (word != NONE).then_some(word)
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(NONE - 1)
}

pub(super) fn requirement_to_words(requirement: Option<Requirement>) -> [u64; REQUIREMENT_WORDS] {
    requirement.map_or([NONE; REQUIREMENT_WORDS], |requirement| {
        let exactly = requirement.wanted() == Demand::Exactly;
        [
            requirement.rate().as_bps(),
            nanos(requirement.per()),
            u64::from(exactly),
        ]
    })
}

pub(super) fn requirement_from_words(words: [u64; REQUIREMENT_WORDS]) -> Option<Requirement> {
    let [rate, per, exactly] = words;
    let rate = Bandwidth::from_bps(some(rate)?);
    let demand = if exactly == 1 {
        Demand::Exactly
    } else {
        Demand::AtLeast
    };
    let requirement = Requirement::new(rate, Duration::from_nanos(per)).ok()?;
    Some(requirement.demand(demand))
}

pub(super) fn mode_to_words(mode: Mode) -> [u64; MODE_WORDS] {
    let kind = match mode {
        Mode::Standard => 0,
        Mode::Background { .. } => 1,
        Mode::FullSpeed { .. } => 2,
    };
    [kind, mode.parameter().unwrap_or_default().to_bits()]
}

pub(super) fn mode_from_words([kind, parameter]: [u64; MODE_WORDS]) -> Mode {
    let parameter = f64::from_bits(parameter);
    match kind {
        1 => Mode::Background { share: parameter },
        2 => Mode::FullSpeed { growth: parameter },
        _ => Mode::Standard,
    }
}

fn estimate_to_words(estimate: Option<Estimate>) -> [u64; ESTIMATE_WORDS] {
    estimate.map_or([NONE; ESTIMATE_WORDS], |estimate| {
        let flags = estimate.flags;
        [
            estimate.at.as_nanos(),
            estimate.available.as_bps(),
            estimate.low.as_bps(),
            estimate.high.as_bps(),
            nanos(estimate.window),
            u64::from(flags.application_limited)
                | u64::from(flags.aggregated_acks) << 1
                | u64::from(flags.out_of_range) << 2
                | u64::from(flags.changed) << 3
                | u64::from(flags.lower_bound) << 4
                | u64::from(flags.elastic) << 5
                | u64::from(flags.share) << 6
                | u64::from(flags.policed) << 7
                | u64::from(flags.variable) << 8,
        ]
    })
}

fn estimate_from_words(words: [u64; ESTIMATE_WORDS]) -> Option<Estimate> {
    let [at, available, low, high, window, flags] = words;
    let flag = |bit: u32| flags >> bit & 1 == 1;
    Some(Estimate {
        at: Timestamp::from_nanos(some(at)?),
        available: Bandwidth::from_bps(available),
        low: Bandwidth::from_bps(low),
        high: Bandwidth::from_bps(high),
        window: Duration::from_nanos(window),
        flags: Flags {
            application_limited: flag(0),
            aggregated_acks: flag(1),
            out_of_range: flag(2),
            changed: flag(3),
            elastic: flag(5),
            share: flag(6),
            variable: flag(8),
            policed: flag(7),
            lower_bound: flag(4),
        },
    })
}

fn outlook_to_words(outlook: Option<Outlook>) -> [u64; OUTLOOK_WORDS] {
    outlook.map_or([NONE; OUTLOOK_WORDS], |outlook| {
        [
            outlook.available.as_bps(),
            outlook.error.as_bps(),
            nanos(outlook.window),
            outlook.capacity.map_or(NONE, Bandwidth::as_bps),
            outlook.ceiling.to_bits(),
        ]
    })
}

fn outlook_from_words(
    words: [u64; OUTLOOK_WORDS],
    changes: &[u64; CHANGES_WORDS],
    history: &[u64; HISTORY_WORDS],
) -> Option<Outlook> {
    let [available, error, window, capacity, ceiling] = words;
    Some(Outlook {
        available: Bandwidth::from_bps(some(available)?),
        error: Bandwidth::from_bps(error),
        changes: Changes::from_words(changes),
        window: Duration::from_nanos(window),
        capacity: some(capacity).map(Bandwidth::from_bps),
        ceiling: f64::from_bits(ceiling),
        history: History::from_words(history),
    })
}

fn share_to_words(share: Option<BulkShare>) -> [u64; SHARE_WORDS] {
    share.map_or([NONE; SHARE_WORDS], |share| {
        let [rate, low, high] = [share.rate, share.low, share.high].map(Bandwidth::as_bps);
        [rate, low, high, share.basis as u64]
    })
}

fn share_from_words([rate, low, high, basis]: [u64; SHARE_WORDS]) -> Option<BulkShare> {
    let mut all = Basis::ALL.into_iter();
    Some(BulkShare {
        rate: Bandwidth::from_bps(some(rate)?),
        low: Bandwidth::from_bps(low),
        high: Bandwidth::from_bps(high),
        basis: all.find(|known| *known as u64 == basis)?,
    })
}

fn status_to_words(status: Status) -> [u64; STATUS_WORDS] {
    match status {
        Status::Idle => [0, 0],
        Status::Kept => [1, 0],
        Status::AtRisk { cause, shortfall } => [AT_RISK + cause_to_word(cause), shortfall.get()],
        Status::Broken { cause, shortfall } => [BROKEN + cause_to_word(cause), shortfall.get()],
    }
}

/// The first words of the two statuses that have a cause.
const AT_RISK: u64 = 16;
const BROKEN: u64 = 32;

fn cause_to_word(cause: Cause) -> u64 {
    match cause {
        Cause::Crowded => 0,
        Cause::Ceiling => 1,
        Cause::Window => 2,
        Cause::RoundTrip => 3,
        Cause::Silence => 4,
    }
}

fn cause_from_word(word: u64) -> Cause {
    match word {
        0 => Cause::Crowded,
        1 => Cause::Ceiling,
        2 => Cause::Window,
        3 => Cause::RoundTrip,
        _ => Cause::Silence,
    }
}

fn status_from_words([kind, shortfall]: [u64; STATUS_WORDS]) -> Status {
    let shortfall = Bytes::new(shortfall);
    match kind {
        0 => Status::Idle,
        1 => Status::Kept,
        AT_RISK..BROKEN => Status::AtRisk {
            cause: cause_from_word(kind - AT_RISK),
            shortfall,
        },
        _ => Status::Broken {
            cause: cause_from_word(kind.saturating_sub(BROKEN)),
            shortfall,
        },
    }
}

pub(super) fn report_to_words(report: &SlotReport) -> [u64; REPORT_WORDS] {
    [
        report.index,
        report.start.as_nanos(),
        report.end.as_nanos(),
        report.required.as_bps(),
        report.achieved.as_bps(),
        match report.outcome {
            Outcome::Kept => 0,
            Outcome::SourceLimited => 1,
            Outcome::Missed => 2,
        },
        report.warned.map_or(NONE, Timestamp::as_nanos),
    ]
}

pub(super) fn report_from_words(words: [u64; REPORT_WORDS]) -> SlotReport {
    let [index, start, end, required, achieved, outcome, warned] = words;
    SlotReport {
        index,
        start: Timestamp::from_nanos(start),
        end: Timestamp::from_nanos(end),
        required: Bandwidth::from_bps(required),
        achieved: Bandwidth::from_bps(achieved),
        outcome: match outcome {
            0 => Outcome::Kept,
            1 => Outcome::SourceLimited,
            _ => Outcome::Missed,
        },
        warned: some(warned).map(Timestamp::from_nanos),
    }
}

#[cfg(test)]
mod tests;
