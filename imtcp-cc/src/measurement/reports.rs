//! Keeps the latest estimates, and says when the next one, or the lack of one, has to be reported.

use crate::estimate::{Estimate, EstimatorKind};
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use std::time::Duration;

/// The longest time between two reports of the statistical estimator. The usual time is half an
/// RTT, because a sender cannot react faster.
const SLOWEST_REPORT: Nanos = Nanos::from_millis(250);

/// The shortest time between two reports of the statistical estimator.
const FASTEST_REPORT: Nanos = Nanos::from_millis(50);

/// The shortest time between two reports if nothing is left in flight. Such a report may be the
/// last one for long, because nobody knows when the application goes on. The first of them after
/// one with something in flight comes at any rate: what holds while packets are on the way need not
/// hold for a pause.
const LAST_REPORT: Nanos = Nanos::from_millis(10);

/// If there was no estimate for this long, the next packet or acknowledgement withdraws the last
/// one. If at least two of them come or go in a second, this happens within a second.
const LONGEST_SILENCE: Nanos = Nanos::from_millis(500);

/// A lower bound is as good as this old. An application that hears nothing newer should not rely
/// on what got through before.
const BOUND_LIFE: Duration = Duration::from_secs(1);

/// If acknowledgements brought no estimate for this long, the estimators start anew. If that does
/// not help, they get twice the time before the next start. A source that sends little needs
/// seconds to show enough of the link, and would otherwise lose it all before it is enough. The
/// first start gives up a capacity that was often right, so it waits for half of the longest
/// window.
const FIRST_PATIENCE: Nanos = Nanos::from_millis(2000);

/// The most time that the estimators get. What is older than their longest window counts for
/// nothing.
const MOST_PATIENCE: Nanos = Nanos::of(super::statistical::LONGEST_WINDOW);

/// The longest time between two acknowledgements that counts as a failure. The rest of a
/// longer time is a pause of the application.
const PAUSE: Nanos = Nanos::from_millis(200);

/// What has to be reported about the lack of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// There is nothing to report.
    None,
    /// There is no estimate after a pause of the application.
    Paused,
    /// There is no estimate, although acknowledgements came all the time.
    Failed,
}

/// What decides whether an estimate is told, or a lower bound in its place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Grounds {
    /// The capacity of the link, as far as it is known.
    pub(super) capacity: Option<Bandwidth>,
    /// Whether more was delivered than that. The estimate then rests on a capacity that is wrong.
    pub(super) is_refuted: bool,
}

impl Grounds {
    /// The lower bound that is told in the place of an estimate of which only the lower end holds;
    /// `None` if the estimate is told.
    fn bound(&self, estimate: &Estimate) -> Option<Estimate> {
        let is_vague = || self.capacity.is_some_and(|it| estimate.is_vague(it));
        (self.is_refuted || is_vague()).then(|| estimate.as_lower_bound())
    }
}

#[derive(Debug)]
pub(super) struct Reports {
    /// The estimator whose estimates the application reads.
    driver: EstimatorKind,
    classic: Option<Estimate>,
    statistical: Option<Estimate>,
    /// What delivery says while the driving estimator says nothing.
    bound: Option<Estimate>,
    last_report: Option<Timestamp>,
    /// Whether something was in flight then.
    had_flight: bool,
    /// When the driving estimator's last estimate was reported, or the lack of one.
    last_told: Timestamp,
    /// When a departing packet last reported that there is no estimate.
    told_by_packet: Timestamp,
    /// Whether the driving estimator's latest estimate does not hold any more, or is vague.
    withdrawn: bool,
    /// For how long acknowledgements have come without an estimate.
    silent: Nanos,
    /// After how long the estimators start anew.
    patience: Nanos,
    last_ack: Option<Timestamp>,
}

impl Reports {
    pub(super) fn new(driver: EstimatorKind) -> Self {
        Self {
            driver,
            classic: None,
            statistical: None,
            bound: None,
            last_report: None,
            had_flight: false,
            last_told: Timestamp::ZERO,
            told_by_packet: Timestamp::ZERO,
            withdrawn: false,
            silent: Nanos::ZERO,
            patience: FIRST_PATIENCE,
            last_ack: None,
        }
    }

    /// An estimate is reported. Returns what is told of it: a vague one is a lower bound, and so is
    /// one that is refuted.
    pub(super) fn on_estimate(
        &mut self,
        now: Timestamp,
        by: EstimatorKind,
        estimate: Estimate,
        grounds: Grounds,
    ) -> Estimate {
        let bound = grounds.bound(&estimate);
        if by == self.driver {
            self.silent = Nanos::ZERO;
            self.patience = FIRST_PATIENCE;
            self.last_told = now;
            self.withdrawn = bound.is_some();
            self.bound = bound;
        }
        match by {
            EstimatorKind::Classic => self.classic = Some(estimate),
            EstimatorKind::Statistical => {
                self.statistical = (!grounds.is_refuted).then_some(estimate);
            }
        }
        bound.unwrap_or(estimate)
    }

    /// A lower bound takes the place of an estimate.
    pub(super) fn on_bound(&mut self, now: Timestamp, bound: Estimate) {
        self.bound = Some(bound);
        self.last_told = now;
    }

    /// Whether the driving estimator has nothing to tell.
    pub(super) fn is_silent(&self) -> bool {
        self.withdrawn || self.latest(self.driver).is_none()
    }

    /// The driving estimator's latest estimate, or what takes its place.
    pub(super) fn told(&self) -> Option<Estimate> {
        match self.is_silent() {
            true => self.bound,
            false => self.latest(self.driver).copied(),
        }
    }

    /// The estimate is withdrawn, or the lower bound in its place. True if that bound still holds.
    pub(super) fn on_withdrawal(&mut self, now: Timestamp) -> bool {
        self.withdrawn = true;
        self.bound = self.bound.filter(|bound| bound.age(now) <= BOUND_LIFE);
        self.bound.is_some()
    }

    pub(super) fn latest(&self, estimator: EstimatorKind) -> Option<&Estimate> {
        match estimator {
            EstimatorKind::Classic => self.classic.as_ref(),
            EstimatorKind::Statistical => self.statistical.as_ref(),
        }
    }

    /// Forgets all estimates, because they do not hold any more.
    pub(super) fn forget(&mut self) {
        (self.classic, self.statistical) = (None, None);
    }

    /// An acknowledgement came. While the window `grows` in its first slow start, the link is not
    /// busy yet, and the lack of an estimate is no failure.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Timestamp, grows: bool) -> Silence {
        let last = self.last_ack.replace(now);
        let since = last.map_or(Nanos::ZERO, |last| now.nanos_since(last));
        if !grows {
            self.silent = self.silent + since.min(PAUSE);
        }
        if self.silent > self.patience {
            self.silent = Nanos::ZERO;
            self.patience = self.patience.times(2).min(MOST_PATIENCE);
            self.last_told = now;
            Silence::Failed
        } else if now.nanos_since(self.last_told) > LONGEST_SILENCE {
            self.last_told = now;
            Silence::Paused
        } else {
            Silence::None
        }
    }

    /// A packet left. True if there was no report for long. The lack of an estimate then has to be
    /// reported now, because the next acknowledgement may be far off. That acknowledgement reports
    /// all the same.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Timestamp) -> bool {
        let told = self.last_told.max(self.told_by_packet);
        let is_silent = now.nanos_since(told) > LONGEST_SILENCE;
        if is_silent {
            self.told_by_packet = now;
        }
        is_silent
    }

    /// Nothing is left in flight, and nobody knows when the application goes on. True if there is
    /// no estimate and this has to be reported once more, because the last report is not recent.
    pub(super) fn on_last_ack(&mut self, now: Timestamp) -> bool {
        let told = self.last_told.max(self.told_by_packet);
        let is_worth_saying = self.withdrawn && now.nanos_since(told) >= FASTEST_REPORT;
        if is_worth_saying {
            self.last_told = now;
        }
        is_worth_saying
    }

    /// True if the statistical estimator's next report is due. The report then counts as made.
    #[inline]
    pub(super) fn is_due(
        &mut self,
        now: Timestamp,
        smoothed_rtt: Duration,
        bytes_in_flight: Bytes,
    ) -> bool {
        let passed = |distance: Nanos| {
            self.last_report
                .is_none_or(|last| now >= last.after(distance))
        };
        let is_due = if bytes_in_flight.is_zero() {
            self.had_flight || passed(LAST_REPORT)
        } else {
            let half = || Nanos::new(Nanos::from(smoothed_rtt).get() / 2);
            passed(FASTEST_REPORT) && passed(half().min(SLOWEST_REPORT))
        };
        if is_due {
            self.last_report = Some(now);
            self.had_flight = !bytes_in_flight.is_zero();
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
        let by = EstimatorKind::Statistical;
        let told = reports.on_estimate(now, by, estimate, Grounds::default());
        assert_eq!(told, estimate);
    }

    #[test]
    fn what_is_vague_or_refuted_is_told_as_a_lower_bound() {
        let link = Bandwidth::from_mbps(100);
        let told = |low: u64, high: u64, is_refuted: bool| {
            let mut reports = reports();
            let estimate = Estimate {
                at: at(1000),
                available: Bandwidth::from_mbps(50),
                low: Bandwidth::from_mbps(low),
                high: Bandwidth::from_mbps(high),
                window: RTT,
                flags: Flags::default(),
            };
            let by = EstimatorKind::Statistical;
            let grounds = Grounds {
                capacity: Some(link),
                is_refuted,
            };
            let told = reports.on_estimate(at(1000), by, estimate, grounds);
            assert_eq!(reports.told(), Some(told));
            let latest = (!is_refuted).then_some(&estimate);
            assert_eq!(reports.latest(by), latest);
            (told.available.as_bps() / 1_000_000, told.flags.lower_bound)
        };
        assert_eq!(told(5, 100, false), (5, true));
        assert_eq!(told(5, 90, false), (50, false));
        assert_eq!(told(15, 100, false), (50, false));
        assert_eq!(told(45, 55, true), (45, true));
    }

    #[test]
    fn the_first_packet_after_half_a_second_of_silence_says_so_once() {
        let mut reports = reports();
        tell_estimate(&mut reports, at(1000));
        let told: Vec<bool> = [1200, 1500, 1501, 1502, 2001, 2002]
            .map(|ms| reports.on_sent(at(ms)))
            .into();
        assert_eq!(told, [false, false, true, false, false, true]);
        // The acknowledgement of that packet reports the lack of an estimate too.
        assert_eq!(reports.on_ack(at(2003), false), Silence::Paused);
    }

    #[test]
    fn acknowledgements_that_tell_nothing_for_long_are_a_failure() {
        let mut reports = reports();
        let failures = |reports: &mut Reports, every_ms: u64| {
            let acks = (0..30).map(|count| 10_000 + count * every_ms);
            let said: Vec<Silence> = acks.map(|ms| reports.on_ack(at(ms), false)).collect();
            said.iter().filter(|said| **said == Silence::Failed).count()
        };
        assert_eq!(failures(&mut reports, 100), 1);
        // Only a part of a pause of the application counts: 30 acknowledgements are 5.8 s.
        let mut reports = Reports::new(EstimatorKind::Statistical);
        assert_eq!(failures(&mut reports, 2000), 1);
    }

    #[test]
    fn estimators_that_start_anew_get_more_time_until_one_succeeds() {
        let mut reports = reports();
        let failures = |reports: &mut Reports, from_ms: u64| {
            let mut acks = (0..400).map(|count| from_ms + count * 50);
            let failed = acks
                .by_ref()
                .filter(|ms| reports.on_ack(at(*ms), false) == Silence::Failed);
            failed.map(|ms| ms - from_ms).take(5).collect::<Vec<_>>()
        };
        assert_eq!(
            failures(&mut reports, 0),
            [2050, 6100, 10_150, 14_200, 18_250]
        );
        tell_estimate(&mut reports, at(20_000));
        // The pause before counts for 200 ms.
        assert_eq!(failures(&mut reports, 20_000)[0], 1850);
    }

    #[test]
    fn a_window_that_grows_for_the_first_time_is_no_failure() {
        let mut reports = reports();
        let said = (0..100).map(|count| reports.on_ack(at(10_000 + count * 100), true));
        assert_eq!(said.filter(|said| *said == Silence::Failed).count(), 0);
    }

    #[test]
    fn that_there_is_nothing_is_repeated_when_a_burst_ends() {
        let mut reports = reports();
        tell_estimate(&mut reports, at(1000));
        assert!(!reports.on_last_ack(at(1400)), "there was an estimate");
        assert!(reports.on_sent(at(1600)));
        reports.on_withdrawal(at(1600));
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
        assert!(reports.is_due(at(1103), RTT, Bytes::ZERO));
        assert!(!reports.is_due(at(1112), RTT, Bytes::ZERO));
        assert!(reports.is_due(at(1113), RTT, Bytes::ZERO));
    }
}
