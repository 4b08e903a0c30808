//! How soon after a step something is said of the path: an estimate, or that there is none.

use crate::endpoint::{Departure, Said};
use imtcp_cc::EstimatorKind;
use imtcp_cc::event::Event;
use imtcp_cc::units::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// A statement has to come within this time after a step.
pub(super) const DUE: Duration = Duration::from_secs(1);

/// How long nothing was said after a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// The step, in seconds.
    pub step_s: f64,
    /// From the step, or from the first data that left after it, to the first statement. Nothing if
    /// none came before the next step or the end.
    pub seconds: Option<f64>,
}

/// Whether an event says something of the path.
fn is_statement(event: &Event) -> bool {
    match event {
        Event::EstimateUpdated { estimator, .. } | Event::EstimateWithdrawn { estimator } => {
            *estimator == EstimatorKind::Statistical
        }
        _ => false,
    }
}

/// The waits after steps. A step is left out if so little data leaves after it that nothing was due
/// before the next step or the end.
pub(super) fn waits(
    said: &[Said],
    departures: &[Departure],
    steps: &[Timestamp],
    end: Timestamp,
) -> Vec<Wait> {
    let ends = steps.iter().skip(1).copied().chain([end]);
    let wait = |(step, end): (Timestamp, Timestamp)| {
        let first = departures.partition_point(|departure| departure.at < step);
        let begun = departures.get(first)?.at;
        // A statement at that very instant comes from that data's departure, so it counts.
        let next = said.partition_point(|said| said.now < begun);
        let next = said[next..].iter().find(|said| is_statement(&said.event));
        let next = next.filter(|said| said.now < end);
        if next.is_none() && begun + DUE >= end {
            return None;
        }
        let seconds = next.map(|said| said.now.saturating_since(begun).as_secs_f64());
        Some(Wait {
            step_s: step.as_secs_f64(),
            seconds,
        })
    };
    steps.iter().copied().zip(ends).filter_map(wait).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::Estimate;
    use imtcp_cc::estimate::Flags;
    use imtcp_cc::units::Bandwidth;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(ms))
    }

    fn estimate(ms: u64, estimator: EstimatorKind) -> Said {
        let rate = Bandwidth::from_mbps(1);
        let estimate = Estimate {
            at: at(ms),
            available: rate,
            low: rate,
            high: rate,
            window: Duration::from_secs(1),
            flags: Flags::default(),
        };
        Said {
            now: at(ms),
            at: at(ms),
            event: Event::EstimateUpdated {
                estimator,
                estimate,
            },
        }
    }

    fn departure(ms: u64) -> Departure {
        Departure {
            at: at(ms),
            age: Duration::ZERO,
            bytes: 1000,
        }
    }

    #[test]
    fn the_clock_begins_with_the_first_data_after_the_step() {
        let said = [
            estimate(1000, EstimatorKind::Statistical),
            estimate(2350, EstimatorKind::Classic),
            estimate(2400, EstimatorKind::Statistical),
        ];
        // Nothing is said after the second step, nothing is sent after the third.
        let departures = [900, 2300, 5100].map(departure);
        let steps = [2000, 5000, 7000].map(at);
        let waits = waits(&said, &departures, &steps, at(9000));
        let seconds: Vec<_> = waits.iter().map(|w| (w.step_s, w.seconds)).collect();
        assert_eq!(seconds, [(2.0, Some(0.1)), (5.0, None)]);
    }

    #[test]
    fn a_step_too_near_the_end_asks_for_nothing() {
        assert!(waits(&[], &[departure(2300)], &[at(2000)], at(3200)).is_empty());
    }
}
