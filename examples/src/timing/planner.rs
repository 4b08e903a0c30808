//! From the controller's answers to planned times and gaps.

use super::ReleaseTiming;
use quiche::cc::Release;
use std::time::Instant;

/// Compares what was planned with what happened, for one controller.
#[derive(Debug, Default)]
pub(super) struct Planner {
    plan: Option<Plan>,
    last_probe: Option<Probe>,
}

/// The time that the controller has named for the next packet.
#[derive(Clone, Copy, Debug)]
struct Plan {
    due: Instant,
    /// Another packet of the same probe stream went before.
    inside_stream: bool,
}

/// A packet of a probe stream.
#[derive(Clone, Copy, Debug)]
struct Probe {
    planned: Instant,
    sent: Instant,
}

impl Planner {
    /// The controller was asked for the next release at `now`. `inside_stream` tells whether it was
    /// sending a stream already before it was asked: the answer for the first packet of a stream
    /// begins that stream.
    pub(super) fn on_answer(
        &mut self,
        now: Instant,
        release: Release,
        inside_stream: bool,
        account: &mut ReleaseTiming,
    ) {
        match release {
            Release::At(due) => self.plan = Some(Plan { due, inside_stream }),
            Release::Hold => self.plan = None,
            Release::Now => {
                // What may leave before its time was given another one.
                self.plan = self.plan.filter(|plan| plan.due <= now);
                if inside_stream && self.plan.is_none() {
                    account.on_asked_too_late();
                }
            }
        }
    }

    /// The window has shrunk: it may hold the next packet back beyond the time it was given.
    pub(super) fn on_loss(&mut self) {
        self.plan = None;
    }

    /// A packet left at `now`, with the controller's permission or without; `probe` tells whether
    /// it is one of a stream.
    pub(super) fn on_sent(
        &mut self,
        now: Instant,
        released: bool,
        probe: bool,
        account: &mut ReleaseTiming,
    ) {
        let plan = self.plan.take().filter(|_| released);
        if let Some(plan) = plan {
            account.on_release(plan.due, now);
        }
        let inside = plan.filter(|plan| plan.inside_stream && probe);
        if let (Some(plan), Some(last)) = (inside, self.last_probe) {
            account.on_gap(plan.due - last.planned, now - last.sent);
        }
        self.last_probe = probe.then(|| Probe {
            // A stream begins when its first packet leaves.
            planned: inside.map_or(now, |plan| plan.due),
            sent: now,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Fixture {
        origin: Instant,
        planner: Planner,
        account: ReleaseTiming,
    }

    impl Fixture {
        fn new() -> Self {
            Self {
                origin: Instant::now(),
                planner: Planner::default(),
                account: ReleaseTiming::default(),
            }
        }

        fn at(&self, us: u64) -> Instant {
            self.origin + Duration::from_micros(us)
        }

        fn answer(&mut self, us: u64, release: Release, inside_stream: bool) {
            let now = self.at(us);
            self.planner
                .on_answer(now, release, inside_stream, &mut self.account);
        }

        fn sent(&mut self, us: u64, probe: bool) {
            let now = self.at(us);
            self.planner.on_sent(now, true, probe, &mut self.account);
        }

        /// Count, and the longest in whole microseconds, of a distribution.
        fn figures(of: super::super::Quantiles) -> (u64, u64) {
            let whole = Duration::from_secs_f64(of.max * 1e-6).as_micros();
            (of.count, u64::try_from(whole).expect("a small number"))
        }
    }

    #[test]
    fn gaps_are_those_between_packets_of_one_stream() {
        let mut f = Fixture::new();
        // Pacing names a time for what turns out to be the first packet of a stream.
        f.answer(0, Release::At(f.at(100)), false);
        f.answer(104, Release::Now, false);
        f.sent(104, true);
        f.answer(105, Release::At(f.at(504)), true);
        f.answer(510, Release::Now, true);
        f.sent(510, true);
        f.answer(511, Release::At(f.at(904)), true);
        f.answer(904, Release::Now, true);
        f.sent(904, true);
        f.answer(905, Release::At(f.at(2000)), false);
        f.answer(2001, Release::Now, false);
        f.sent(2001, false);
        let summary = f.account.summary().expect("there were release times");
        // 104 to 504 was achieved as 104 to 510; 504 to 904 as 510 to 904.
        assert_eq!(Fixture::figures(summary.planned_gap_us), (2, 400));
        assert_eq!(Fixture::figures(summary.gap_error_us), (2, 6));
        assert_eq!(Fixture::figures(summary.lateness_us), (4, 6));
        assert_eq!(summary.asked_too_late, 0);
    }

    #[test]
    fn a_plan_that_no_longer_holds_is_not_compared_with() {
        let mut f = Fixture::new();
        // An acknowledgement lets it go at once.
        f.answer(0, Release::At(f.at(100)), false);
        f.answer(50, Release::Now, false);
        f.sent(50, false);
        // A loss closes the window until long after its time.
        f.answer(60, Release::At(f.at(100)), false);
        f.planner.on_loss();
        f.answer(9000, Release::Now, false);
        f.sent(9000, false);
        // A probe after a timeout leaves without asking.
        f.answer(9010, Release::At(f.at(9100)), false);
        let now = f.at(9020);
        f.planner.on_sent(now, false, false, &mut f.account);
        assert!(f.account.summary().is_none(), "{:?}", f.account.summary());
    }

    #[test]
    fn a_probe_whose_time_had_passed_before_anybody_asked_is_counted() {
        let mut f = Fixture::new();
        f.answer(0, Release::Now, false);
        f.sent(0, true);
        f.answer(700, Release::Now, true);
        f.sent(700, true);
        f.answer(701, Release::At(f.at(800)), true);
        f.answer(803, Release::Now, true);
        f.sent(803, true);
        let summary = f.account.summary().expect("there was a release time");
        assert_eq!(summary.asked_too_late, 1);
        assert_eq!(Fixture::figures(summary.gap_error_us), (1, 3));
    }
}
