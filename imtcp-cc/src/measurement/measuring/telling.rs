//! What the estimators find is told: an estimate, a lower bound in its place, or nothing.

use super::super::Estimator;
use super::super::reports::{Grounds, Silence};
use super::Measuring;
use crate::estimate::{Estimate, EstimatorKind};
use crate::event::{Emit, Event};
use crate::path::PathView;
use crate::path::ack::EchoTiming;
use crate::transport::AckInfo;
use crate::units::{Bandwidth, Timestamp};

/// A capacity that delivery exceeds by this factor is wrong. Bunched acknowledgements explain less,
/// over the time for which delivery is averaged.
const REFUTED: f64 = 1.1;

impl Measuring {
    /// The measurement is over, and its result is reported.
    pub(crate) fn conclude(&mut self, now: Timestamp, emit: Emit<'_>) {
        let measurement = self.record.measurement();
        emit(Event::MeasurementCompleted { measurement });
        if let Some(outcome) = self.classic.on_measurement(&self.record) {
            let mut estimate = outcome.estimate;
            // An arrival by the peer's clock may lie some round trips ahead of this clock.
            estimate.at = estimate.at.min(now);
            self.tell(
                now,
                EstimatorKind::Classic,
                estimate,
                Grounds::default(),
                emit,
            );
        }
    }

    /// Reports an estimate after an acknowledgement, or withdraws the last one. True if there was
    /// no estimate for so long that everything learnt of the path is given up.
    #[inline]
    pub(crate) fn report(
        &mut self,
        now: Timestamp,
        info: &AckInfo,
        view: &PathView,
        emit: Emit<'_>,
    ) -> bool {
        let starts_anew = self.break_silence(now, view.timing, emit);
        let capacity = view.capacity.filter(|_| !starts_anew);
        self.report_estimate(now, info, capacity, emit);
        if info.bytes_in_flight.is_zero() && self.reports.on_last_ack(now) {
            self.withdraw(now, emit);
        }
        starts_anew
    }

    #[inline]
    fn report_estimate(
        &mut self,
        now: Timestamp,
        info: &AckInfo,
        capacity: Option<Bandwidth>,
        emit: Emit<'_>,
    ) {
        self.is_link_covered = self.statistical.is_link_covered();
        let (smoothed_rtt, in_flight) = (info.rtt.smoothed, info.bytes_in_flight);
        if !self.reports.is_due(now, smoothed_rtt, in_flight) {
            return;
        }
        let told = self.statistical.report(now, in_flight);
        if let Some(estimate) = told.filter(|_| !self.policed.is_doubtful()) {
            let delivered = self.delivered.recently(estimate.window);
            // If more than the capacity was delivered, the capacity is wrong, and its own estimator
            // corrects it.
            let is_refuted = delivered
                .zip(capacity)
                .is_some_and(|(rate, most)| rate > most.scaled(REFUTED));
            let estimate = match delivered.filter(|_| !is_refuted) {
                // The rate that was delivered in the estimate's time was available. The capacity
                // bounds the correction.
                Some(rate) => estimate.at_least(rate.min(capacity.unwrap_or(rate))),
                None => estimate,
            };
            let estimate = self.policed.bounded(now, estimate);
            let grounds = Grounds {
                capacity,
                is_refuted,
            };
            self.tell(now, EstimatorKind::Statistical, estimate, grounds, emit);
        } else if self.reports.is_silent() {
            self.tell_bound(now, emit);
        }
    }

    /// Nobody is silent who delivers something: that much was available. False if nothing was
    /// delivered of late.
    fn tell_bound(&mut self, now: Timestamp, emit: Emit<'_>) -> bool {
        let Some(bound) = self.delivered.bound(now) else {
            return false;
        };
        self.reports.on_bound(now, bound);
        self.has_news = true;
        emit(Event::EstimateUpdated {
            estimator: self.settings.driver,
            estimate: bound,
        });
        true
    }

    fn tell(
        &mut self,
        now: Timestamp,
        by: EstimatorKind,
        estimate: Estimate,
        grounds: Grounds,
        emit: Emit<'_>,
    ) {
        let told = self.reports.on_estimate(now, by, estimate, grounds);
        self.has_news |= by == self.settings.driver;
        emit(Event::EstimateUpdated {
            estimator: by,
            estimate: told,
        });
    }

    /// Withdraws the estimate if the driving estimator has told none for long. True if the
    /// estimators start anew.
    #[inline]
    fn break_silence(&mut self, now: Timestamp, timing: EchoTiming, emit: Emit<'_>) -> bool {
        let starts_anew = match self.reports.on_ack(now, self.grows) {
            Silence::None => return false,
            // The results from before the pause may still be true.
            Silence::Paused => false,
            // If echoes cannot be read, what was learnt of the path is not at fault.
            Silence::Failed => timing != EchoTiming::Foreign && !self.statistical.is_noisy(),
        };
        if starts_anew {
            self.statistical.reset();
            self.classic.reset();
            self.reports.forget();
        }
        self.withdraw(now, emit);
        starts_anew
    }

    /// The estimate is withdrawn, and a lower bound takes its place if there is one.
    pub(super) fn withdraw(&mut self, now: Timestamp, emit: Emit<'_>) {
        let keeps_bound = self.reports.on_withdrawal(now);
        self.has_news = true;
        if !self.tell_bound(now, emit) && !keeps_bound {
            emit(Event::EstimateWithdrawn {
                estimator: self.settings.driver,
            });
        }
    }
}
