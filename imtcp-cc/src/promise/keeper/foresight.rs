//! Foresees how the present slot will end, and tells the application.

use super::super::answers::SILENT_ROUND_TRIPS;
use super::super::bulletin::Bulletin;
use super::super::forecast::{Outlook, error_of};
use super::super::requirement::{FEWEST_ROUND_TRIPS, Requirement};
use super::super::running::{Course, is_at_risk};
use super::super::slots::EvaluationSlot;
use super::super::status::{Cause, Status};
use super::{Keeper, PathState};
use crate::bulk_share::{BulkShare, Evidence};
use crate::event::{Emit, Event};
use crate::measurement::Findings;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// The least time between two looks at the forecast. Usually it is half a round trip.
const SHORTEST_LOOK: Duration = Duration::from_millis(5);

/// The time over which the delivered rate is averaged for the share of a bulk transfer, and after
/// which the own throughput is no longer recent. A window that CUBIC moves goes up and down over
/// some seconds.
const OWN: Duration = Duration::from_secs(4);

/// The relative error of the own throughput if it stands in for an estimate.
const OWN_RATE_ERROR: f64 = 0.3;

impl Keeper {
    /// The knowledge of the near future, in goodput.
    pub(super) fn outlook(&self, path: &PathState) -> Option<Outlook> {
        let share = self.goodput_of(path).as_f64() / path.on_wire.as_f64().max(1.0);
        let capacity = path.capacity.map(|capacity| capacity.scaled(share));
        let (available, error, window) = match self.fresh_estimate(path) {
            Some(estimate) => (
                estimate.available.scaled(share),
                error_of(estimate.low, estimate.high).scaled(share),
                estimate.window,
            ),
            // The flow's own recent throughput was available.
            None => {
                let own = self.recent(self.own_rate, path.now)?;
                (own, own.scaled(OWN_RATE_ERROR), path.smoothed)
            }
        };
        Some(Outlook {
            available,
            error,
            changes: self.changes.scaled(share),
            window,
            capacity,
            ceiling: capacity.map_or(self.settings.ceiling, |capacity| self.ceiling(capacity)),
            history: self.history,
        })
    }

    /// What a control slot got through, unless it is too long ago to say anything.
    fn recent(&self, rate: Option<(Bandwidth, Timestamp)>, now: Timestamp) -> Option<Bandwidth> {
        let (rate, at) = rate?;
        (now.saturating_since(at) <= self.period().max(OWN)).then_some(rate)
    }

    /// The goodput of the connection now, as far as it is known.
    pub(super) fn carried(&self, now: Timestamp) -> Bandwidth {
        self.recent(self.carried, now).unwrap_or(Bandwidth::ZERO)
    }

    /// Looks at the forecast if acknowledgements stopped. While they come there is a look every
    /// half round trip. If none has come for two round trips, none of the data in flight arrives,
    /// and the application is told so. Slots whose time is over end, and what the application
    /// requires by now comes into force.
    pub(super) fn look_into_silence(&mut self, now: Timestamp, emit: Emit<'_>) {
        let Some(path) = &self.last_path else {
            return;
        };
        if now < self.next_look + path.smoothed * SILENT_ROUND_TRIPS {
            return;
        }
        let path = PathState { now, ..*path };
        let was_required = self.is_required();
        self.follow_requirement(now, emit);
        if let Some(requirement) = self.requirement {
            self.follow_slots(&path, &requirement, emit);
        }
        // The data that waits is not what the source has not offered.
        self.account_until(now);
        if was_required || self.is_required() || !self.silence(&path).is_zero() {
            self.look(&path, emit);
        }
    }

    /// For how long nothing that was sent has been acknowledged; zero while an answer may still be
    /// on its way.
    fn silence(&self, path: &PathState) -> Duration {
        self.answers.silence(path.now, path.smoothed)
    }

    /// What a bulk transfer in the place of this connection would get.
    pub(super) fn share_of_bulk(&self, path: &PathState, findings: &Findings<'_>) -> BulkShare {
        let on_wire = path.on_wire.as_f64() / path.datagram.as_f64().max(1.0);
        let window = Bandwidth::from_bytes_over(path.cwnd, path.smoothed);
        let packet = path.on_wire.as_bits_f64();
        let standard = self.weight.fair_rate(path.smoothed.as_secs_f64());
        let estimate = self.fresh_estimate(path);
        BulkShare::of(&Evidence {
            window: window.unwrap_or(Bandwidth::MAX).scaled(on_wire),
            // A promise moves the window as well.
            is_window_used: self.requirement.is_none() && !findings.is_application_limited,
            capacity: path.capacity,
            estimate: estimate.filter(|_| self.told.is_some_and(|told| !told.flags.lower_bound)),
            delivered: findings.delivered.recently(OWN).unwrap_or_default(),
            standard: standard.map(|packets| Bandwidth::from_bps_f64(packets * packet)),
        })
    }

    /// Looks at the forecast, and tells the application.
    pub(super) fn look(&mut self, path: &PathState, emit: Emit<'_>) {
        self.next_look = path.now + (path.smoothed / 2).max(SHORTEST_LOOK);
        if let (true, Some(requirement)) = (self.share.is_open(), self.requirement) {
            self.settle(path, &requirement);
        }
        let (outlook, silence) = (self.outlook(path), self.silence(path));
        let status = self.foresee(path, outlook.as_ref(), silence);
        let is_news = !same_kind(status, self.told_status);
        self.status = status;
        self.told_status = status;
        if status.is_warning() {
            self.warned.get_or_insert(path.now);
        }
        if is_news {
            emit(Event::PromiseStatusChanged { status });
        }
        let bulletin = Bulletin {
            smoothed_rtt: Some(path.smoothed),
            least_rtt: Some(path.least),
            capacity: path.capacity,
            requirement: self.requirement,
            estimate: self.told,
            // Nobody knows whether a silent path carries anything.
            outlook: outlook.filter(|_| silence.is_zero()),
            share: self.bulk_share.filter(|_| silence.is_zero()),
            status,
        };
        self.seat.publish(bulletin, is_news);
    }

    fn foresee(&self, path: &PathState, outlook: Option<&Outlook>, silence: Duration) -> Status {
        let (Some(requirement), Some(slot)) = (self.requirement, self.evaluation) else {
            return Status::Idle;
        };
        let left = slot.end.saturating_since(path.now);
        let missing = self.missing(&slot, &requirement, path);
        if missing.is_zero() {
            return Status::Kept;
        }
        let gave_up = self.exit.is_resting() || self.share.is_refused();
        // A silence lasts as long again as it has lasted, as far as anybody can tell.
        let left = left.saturating_sub(silence);
        let needed = Bandwidth::from_bytes_over(missing, left).unwrap_or(Bandwidth::MAX);
        let shortfall = missing;
        let capacity = outlook.and_then(|outlook| outlook.capacity);
        let is_beyond = left.is_zero() || capacity.is_some_and(|capacity| needed > capacity);
        if is_beyond || gave_up {
            return if silence.is_zero() {
                let cause = self.cause(path, &requirement, needed, outlook);
                Status::Broken { cause, shortfall }
            } else {
                Status::AtRisk {
                    cause: Cause::Silence,
                    shortfall,
                }
            };
        }
        let Some(outlook) = outlook else {
            // While nothing is known of the path, nothing speaks against the promise.
            return Status::Kept;
        };
        let share = left.as_secs_f64() / requirement.per().as_secs_f64();
        let course = Course {
            needed,
            required: requirement.rate(),
            pace: self.window_rate(path),
            lost: path.lost,
            rounds: requirement.per().as_secs_f64() / path.smoothed.as_secs_f64(),
        };
        let forecast = outlook.probability(needed, left, share);
        if !is_at_risk(
            course.probability(forecast),
            share,
            self.status.is_warning(),
        ) {
            return Status::Kept;
        }
        let likely = outlook.available.min(needed).bytes_in(left);
        let cause = if silence.is_zero() {
            self.cause(path, &requirement, needed, Some(outlook))
        } else {
            Cause::Silence
        };
        Status::AtRisk {
            cause,
            shortfall: missing.saturating_sub(likely),
        }
    }

    /// The rate that the window carries now, as goodput.
    fn window_rate(&self, path: &PathState) -> Bandwidth {
        let share = self.goodput_of(path).as_f64() / path.datagram.as_f64().max(1.0);
        let window = Bandwidth::from_bytes_over(path.cwnd, path.smoothed);
        window.unwrap_or(Bandwidth::MAX).scaled(share)
    }

    /// The goodput that the slot still has to deliver, less what the source did not offer.
    fn missing(&self, slot: &EvaluationSlot, requirement: &Requirement, path: &PathState) -> Bytes {
        let passed = path.now.saturating_since(slot.start);
        let idle = passed.saturating_sub(slot.wanting);
        // A busy source may be idle for less than a round trip between two writes.
        let excused = if idle > path.smoothed {
            requirement.rate().bytes_in(idle)
        } else {
            Bytes::ZERO
        };
        EvaluationSlot::due(requirement)
            .saturating_sub(excused)
            .saturating_sub(slot.achieved)
    }

    fn cause(
        &self,
        path: &PathState,
        requirement: &Requirement,
        needed: Bandwidth,
        outlook: Option<&Outlook>,
    ) -> Cause {
        if requirement.per() < path.smoothed * FEWEST_ROUND_TRIPS {
            return Cause::RoundTrip;
        }
        if self.share.is_refused() {
            return Cause::Ceiling;
        }
        let Some(outlook) = outlook else {
            return Cause::Crowded;
        };
        if needed <= outlook.available {
            Cause::Window
        } else if needed > outlook.reach()
            && self.settings.ceiling < 1.0
            && outlook.capacity.is_some()
        {
            Cause::Ceiling
        } else {
            Cause::Crowded
        }
    }
}

/// Whether two statuses are of the same kind. A changed shortfall alone is not reported.
fn same_kind(one: Status, other: Status) -> bool {
    match (one, other) {
        (Status::AtRisk { cause: one, .. }, Status::AtRisk { cause: other, .. }) => one == other,
        _ => std::mem::discriminant(&one) == std::mem::discriminant(&other),
    }
}
