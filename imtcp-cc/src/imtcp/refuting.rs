//! What was just delivered refutes what is believed of the path, and who has nothing to say starts
//! anew.

use super::ImTcp;
use super::reporting::Silence;
use crate::ack::EchoTiming;
use crate::estimate::Estimate;
use crate::event::Event;
use crate::measurement::Estimator;
use crate::measurement::range::SearchRange;
use crate::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// Deliveries are averaged over this time at least: several pictures of a video, or several bursts
/// of acknowledgements.
const SHORTEST_LOOK: Duration = Duration::from_millis(250);

/// And over so many round trips, lest acknowledgements that were held up on their way back, and
/// then came together, look like a rate.
const LOOK_ROUND_TRIPS: u32 = 4;

impl ImTcp {
    /// The range, unless what was just delivered is above the whole of it.
    pub(super) fn unrefuted(&self, range: SearchRange) -> SearchRange {
        self.range_above_delivered()
            .filter(|above| above.low() > range.high())
            .unwrap_or(range)
    }

    /// The paper's first range on top of what was just delivered, (r, 2 r): IM 3.2.1.
    pub(super) fn range_above_delivered(&self) -> Option<SearchRange> {
        let round_trip = self.rtt?.smoothed;
        let rate = self.just_delivered(Duration::ZERO, round_trip)?;
        Some(SearchRange::first(rate.saturating_add(rate)))
    }

    /// The estimate, which is no less than what was delivered in its time.
    pub(super) fn with_delivered(&self, estimate: Estimate, round_trip: Duration) -> Estimate {
        match self.just_delivered(estimate.window, round_trip) {
            // More than the capacity says that the capacity is wrong, which is its own affair.
            Some(rate) => estimate.at_least(rate.min(self.capacity.get().unwrap_or(rate))),
            None => estimate,
        }
    }

    fn just_delivered(&self, window: Duration, round_trip: Duration) -> Option<Bandwidth> {
        let look = round_trip.saturating_mul(LOOK_ROUND_TRIPS);
        self.delivered.over(window.max(look).max(SHORTEST_LOOK))
    }

    /// Says so where the driving estimator has nothing to tell.
    pub(super) fn break_silence(&mut self, now: Timestamp) {
        match self.reporter.on_ack(now) {
            Silence::None => return,
            // What was learnt before the pause may still be true.
            Silence::Paused => {}
            // Where echoes tell nothing, what gets through is looked at for ten seconds.
            Silence::Failed if self.tracker.timing() == EchoTiming::Foreign => {}
            Silence::Failed => self.start_anew(),
        }
        self.withdraw(now);
    }

    pub(super) fn withdraw(&mut self, now: Timestamp) {
        let estimator = self.config.estimator();
        self.reporter
            .emit(now, Event::EstimateWithdrawn { estimator });
    }

    /// What the estimators rest on is given up. What sets the echoes' time is another question, and
    /// stays known.
    fn start_anew(&mut self) {
        self.capacity.forget();
        self.statistical.reset();
        self.classic.reset();
        self.reporter.forget();
    }
}
