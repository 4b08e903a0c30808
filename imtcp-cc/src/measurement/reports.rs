//! The latest estimates, and when the next one, or the lack of one, has to be told.

use crate::estimate::{Estimate, EstimatorKind};
use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// The longest and the shortest distance between two reports of the statistical estimator; in
/// between it is half an RTT, since nothing that is learnt can be acted on faster.
const SLOWEST_REPORT: Duration = Duration::from_millis(250);
const FASTEST_REPORT: Duration = Duration::from_millis(50);

/// The shortest distance to a report that is the last for now: nothing is left in flight, and
/// nobody knows when the application goes on.
const LAST_REPORT: Duration = Duration::from_millis(10);

/// Who has told nothing for this long says so with the next packet or acknowledgement, and so
/// within a second wherever two of them a second come or go.
const LONGEST_SILENCE: Duration = Duration::from_millis(500);

/// Who has told nothing while acknowledgements came for this long starts anew.
const LONGEST_FAILURE: Duration = Duration::from_millis(750);

/// Of a longer time without acknowledgements only this much counts as silence of the estimator's:
/// the rest is a pause of the application's.
const PAUSE: Duration = Duration::from_millis(200);

/// What has to be said of the lack of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nothing.
    None,
    /// There is none, after a pause of the application's.
    Paused,
    /// There is none, though acknowledgements came all the time.
    Failed,
}

#[derive(Debug)]
pub(super) struct Reports {
    /// Whose estimates the application reads.
    driver: EstimatorKind,
    classic: Option<Estimate>,
    statistical: Option<Estimate>,
    last_report: Option<Timestamp>,
    /// The driving estimator's last word, or that it has none.
    last_told: Timestamp,
    /// When a packet that left after a pause last told that there is none.
    told_by_packet: Timestamp,
    withdrawn: bool,
    /// How long acknowledgements have come without an estimate.
    silent: Duration,
    last_ack: Option<Timestamp>,
}

impl Reports {
    pub(super) fn new(driver: EstimatorKind) -> Self {
        Self {
            driver,
            classic: None,
            statistical: None,
            last_report: None,
            last_told: Timestamp::ZERO,
            told_by_packet: Timestamp::ZERO,
            withdrawn: false,
            silent: Duration::ZERO,
            last_ack: None,
        }
    }

    /// An estimate is told.
    pub(super) fn on_estimate(&mut self, now: Timestamp, by: EstimatorKind, estimate: Estimate) {
        if by == self.driver {
            self.silent = Duration::ZERO;
            self.last_told = now;
            self.withdrawn = false;
        }
        match by {
            EstimatorKind::Classic => self.classic = Some(estimate),
            EstimatorKind::Statistical => self.statistical = Some(estimate),
        }
    }

    /// That there is none is told.
    pub(super) fn on_withdrawal(&mut self) {
        self.withdrawn = true;
    }

    pub(super) fn latest(&self, estimator: EstimatorKind) -> Option<Estimate> {
        match estimator {
            EstimatorKind::Classic => self.classic,
            EstimatorKind::Statistical => self.statistical,
        }
    }

    /// What was told so far is not true any more.
    pub(super) fn forget(&mut self) {
        (self.classic, self.statistical) = (None, None);
    }

    /// Whether the driving estimator has said that it has nothing, and nothing since.
    pub(super) fn is_withdrawn(&self) -> bool {
        self.withdrawn
    }

    /// An acknowledgement came.
    pub(super) fn on_ack(&mut self, now: Timestamp) -> Silence {
        let last = self.last_ack.replace(now);
        let since = last.map_or(Duration::ZERO, |last| now.saturating_since(last));
        self.silent += since.min(PAUSE);
        if self.silent > LONGEST_FAILURE {
            self.silent = Duration::ZERO;
            self.last_told = now;
            Silence::Failed
        } else if now.saturating_since(self.last_told) > LONGEST_SILENCE {
            self.last_told = now;
            Silence::Paused
        } else {
            Silence::None
        }
    }

    /// A packet left. True if nothing was told for long: its acknowledgement may be far off. That
    /// one has something to tell all the same.
    pub(super) fn on_sent(&mut self, now: Timestamp) -> bool {
        let told = self.last_told.max(self.told_by_packet);
        let is_silent = now.saturating_since(told) > LONGEST_SILENCE;
        if is_silent {
            self.told_by_packet = now;
        }
        is_silent
    }

    /// Nothing is left in flight, and nobody knows when the application goes on. True if all that
    /// was said of the last data is that there is nothing, and not just now.
    pub(super) fn on_last_ack(&mut self, now: Timestamp) -> bool {
        let told = self.last_told.max(self.told_by_packet);
        let is_worth_saying = self.withdrawn && now.saturating_since(told) >= FASTEST_REPORT;
        if is_worth_saying {
            self.last_told = now;
        }
        is_worth_saying
    }

    /// True when the statistical estimator's next report is due; it is taken for made then.
    pub(super) fn is_due(
        &mut self,
        now: Timestamp,
        smoothed_rtt: Duration,
        bytes_in_flight: Bytes,
    ) -> bool {
        let distance = if bytes_in_flight.is_zero() {
            LAST_REPORT
        } else {
            (smoothed_rtt / 2).clamp(FASTEST_REPORT, SLOWEST_REPORT)
        };
        let last = self.last_report;
        let is_due = last.is_none_or(|last| now >= last + distance);
        if is_due {
            self.last_report = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Flags;
    use crate::units::Bandwidth;

    const RTT: Duration = Duration::from_millis(200);

    const SOME: Bytes = Bytes::new(1);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(millis))
    }

    fn reports() -> Reports {
        Reports::new(EstimatorKind::Statistical)
    }

    fn tell_estimate(reports: &mut Reports, now: Timestamp) {
        let rate = Bandwidth::from_mbps(1);
        let estimate = Estimate {
            at: now,
            available: rate,
            low: rate,
            high: rate,
            window: RTT,
            flags: Flags::default(),
        };
        reports.on_estimate(now, EstimatorKind::Statistical, estimate);
    }

    #[test]
    fn the_first_packet_after_half_a_second_of_silence_says_so_once() {
        let mut reports = reports();
        tell_estimate(&mut reports, at(1000));
        let told: Vec<bool> = [1200, 1500, 1501, 1502, 2001, 2002]
            .map(|ms| reports.on_sent(at(ms)))
            .into();
        assert_eq!(told, [false, false, true, false, false, true]);
        // Its acknowledgement has something to tell all the same.
        assert_eq!(reports.on_ack(at(2003)), Silence::Paused);
    }

    #[test]
    fn acknowledgements_that_tell_nothing_for_long_are_a_failure() {
        let mut reports = reports();
        let failures = |reports: &mut Reports, every_ms: u64| {
            let acks = (0..20).map(|count| 10_000 + count * every_ms);
            let said: Vec<Silence> = acks.map(|ms| reports.on_ack(at(ms))).collect();
            said.iter().filter(|said| **said == Silence::Failed).count()
        };
        assert_eq!(failures(&mut reports, 100), 2);
        // Of a pause of the application's only a part counts.
        let mut reports = Reports::new(EstimatorKind::Statistical);
        assert_eq!(failures(&mut reports, 2000), 4);
    }

    #[test]
    fn that_there_is_nothing_is_repeated_when_a_burst_ends() {
        let mut reports = reports();
        tell_estimate(&mut reports, at(1000));
        assert!(!reports.on_last_ack(at(1400)), "there was an estimate");
        assert!(reports.on_sent(at(1600)));
        reports.on_withdrawal();
        assert!(!reports.on_last_ack(at(1649)), "it was just said");
        assert!(reports.on_last_ack(at(1650)));
        assert!(!reports.on_last_ack(at(1699)));
    }

    #[test]
    fn the_last_acknowledgement_is_reported_at_once() {
        let mut reports = reports();
        assert!(reports.is_due(at(1000), RTT, SOME));
        assert!(!reports.is_due(at(1099), RTT, SOME));
        assert!(reports.is_due(at(1100), RTT, SOME));
        assert!(!reports.is_due(at(1109), RTT, Bytes::ZERO));
        assert!(reports.is_due(at(1110), RTT, Bytes::ZERO));
    }
}
