//! What estimates have to reach in each class, at the median of its paths.

use super::super::Class;

/// The bars of a class. Errors are shares of the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bars {
    /// The median error is at most this.
    pub error_p50: f64,
    /// The 90th percentile of the errors is at most this.
    pub error_p90: f64,
    /// The share of the time with a usable reading is at least this.
    pub reach: f64,
    /// A change is followed within this many seconds.
    pub lag_s: Option<f64>,
}

/// The least and the most of the intervals that hold the truth.
pub const COVERAGE: [f64; 2] = [0.90, 0.98];
/// The most of the time in which the truth may be far outside the interval.
pub const FALSE_CONFIDENCE: f64 = 0.005;

impl Bars {
    /// Those of a class.
    pub fn of(class: Class) -> Self {
        let (error_p50, error_p90, reach, lag_s) = match class {
            Class::Fixed => (0.02, 0.08, 0.98, None),
            Class::Steps => (0.03, 0.10, 0.95, Some(0.7)),
            Class::Elastic => (0.08, 0.20, 0.95, Some(2.0)),
            Class::Managed => (0.05, 0.15, 0.95, Some(1.5)),
            Class::Radio => (0.10, 0.25, 0.90, None),
            Class::Shaped => (0.04, 0.12, 0.95, Some(1.5)),
            Class::Hops => (0.06, 0.15, 0.95, None),
            Class::Echoes => (0.04, 0.12, 0.85, None),
            Class::Hosts => (0.04, 0.12, 0.95, None),
            // Nobody has set bars for these: they are those of one link, with poor echoes or not.
            Class::Mixed | Class::Clients | Class::Jitter => (0.04, 0.12, 0.85, None),
            Class::Sources => (0.02, 0.08, 0.98, None),
        };
        Self {
            error_p50,
            error_p90,
            reach,
            lag_s,
        }
    }
}
