//! The application's requirement, checked.

use crate::units::Bandwidth;
use std::fmt;
use std::time::Duration;

/// The lowest rate. A slower one cannot be told from silence: it is below a packet a second over
/// the usual periods.
const LOWEST_RATE: Bandwidth = Bandwidth::from_kbps(8);
/// The highest rate. No path of today carries more; a larger number is a mistake of units.
const HIGHEST_RATE: Bandwidth = Bandwidth::from_mbps(1_000_000);
/// The shortest period. No path has two round trips in a shorter one.
const SHORTEST_PERIOD: Duration = Duration::from_micros(100);
/// The longest period. A mean over a longer one says nothing to an application.
const LONGEST_PERIOD: Duration = Duration::from_secs(3600);

/// The fewest round trips in a period (PT II-A): a control slot has at least two round trips, and
/// an evaluation slot has at least one control slot.
pub(super) const FEWEST_ROUND_TRIPS: u32 = 2;

/// Whether more than the required rate is welcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Demand {
    /// At least the rate. The bandwidth that the path gives beyond it is used as Reno would
    /// (k_min = 1, PT II-B.2). This is for sources that can use more, for example a download.
    #[default]
    AtLeast,
    /// The rate and no more. The window is steered down to the rate as well (no k_min). This is
    /// for sources that produce data at the rate, for example live video. Neighbours keep the
    /// bandwidth that the source does not need.
    Exactly,
}

impl Demand {
    /// The name of the demand in qlog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AtLeast => "at_least",
            Self::Exactly => "exactly",
        }
    }
}

/// A rate of application data over every period of a length: "8 Mbit/s over every 2 s".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    rate: Bandwidth,
    per: Duration,
    demand: Demand,
}

impl Requirement {
    /// A requirement of `rate` of application data, as a mean over every period of length `per`.
    ///
    /// # Errors
    /// The rate is below 8 kbit/s or above 1 Tbit/s, or the period is below 100 µs or above 1 h.
    /// [`super::Promise::require`] checks whether the path can carry the rate.
    pub fn new(rate: Bandwidth, per: Duration) -> Result<Self, RejectedRequirement> {
        if !(LOWEST_RATE..=HIGHEST_RATE).contains(&rate) {
            return Err(RejectedRequirement::Rate {
                given: rate.to_string(),
            });
        }
        if !(SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&per) {
            return Err(RejectedRequirement::Period { given: per });
        }
        let demand = Demand::default();
        Ok(Self { rate, per, demand })
    }

    /// A requirement from bits per second and seconds, as they come out of a computation.
    ///
    /// # Errors
    /// As [`Requirement::new`]. Numbers that are negative or not finite are errors, too.
    pub fn from_f64(bits_per_second: f64, seconds: f64) -> Result<Self, RejectedRequirement> {
        if !bits_per_second.is_finite() || bits_per_second < 0.0 {
            return Err(RejectedRequirement::Rate {
                given: format!("{bits_per_second} bit/s"),
            });
        }
        let per = Duration::try_from_secs_f64(seconds).map_err(|_| {
            RejectedRequirement::PeriodNotANumber {
                given: format!("{seconds} s"),
            }
        })?;
        Self::new(Bandwidth::from_bps_f64(bits_per_second), per)
    }

    /// The same requirement with another [`Demand`].
    #[must_use]
    pub fn demand(mut self, demand: Demand) -> Self {
        self.demand = demand;
        self
    }

    /// The rate of application data.
    pub fn rate(&self) -> Bandwidth {
        self.rate
    }

    /// t in PT: the period over which the rate is a mean, which is the evaluation slot.
    pub fn per(&self) -> Duration {
        self.per
    }

    /// Whether more than the rate is welcome.
    pub fn wanted(&self) -> Demand {
        self.demand
    }

    /// Checks the requirement against what is known of a path: the round trip, and the most that
    /// the path may carry.
    pub(super) fn check(
        &self,
        smoothed_rtt: Option<Duration>,
        most: Option<Bandwidth>,
    ) -> Result<(), RejectedRequirement> {
        if let Some(rtt) = smoothed_rtt {
            let shortest = rtt * FEWEST_ROUND_TRIPS;
            if self.per < shortest {
                return Err(RejectedRequirement::PeriodBelowRoundTrips {
                    given: self.per,
                    shortest,
                });
            }
        }
        match most {
            Some(most) if self.rate > most => Err(RejectedRequirement::AbovePath {
                given: self.rate,
                most,
            }),
            _ => Ok(()),
        }
    }
}

/// Why a requirement was rejected, and which one would be possible.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectedRequirement {
    /// The connection is gone.
    ConnectionGone,
    /// The rate is not a valid rate, or is far from what any path carries.
    Rate {
        /// The rate as given.
        given: String,
    },
    /// The period is too short or too long for any path.
    Period {
        /// The period as given.
        given: Duration,
    },
    /// The period is negative or not a number.
    PeriodNotANumber {
        /// The period as given.
        given: String,
    },
    /// The period is too short for this path: data sent within it could not be corrected.
    PeriodBelowRoundTrips {
        /// The period as given.
        given: Duration,
        /// The shortest possible period: two smoothed round trips, as of now.
        shortest: Duration,
    },
    /// The rate is above what this path can give.
    AbovePath {
        /// The rate as given.
        given: Bandwidth,
        /// The largest possible rate in goodput: what is available, or the ceiling's share of the
        /// capacity if that is more.
        most: Bandwidth,
    },
}

impl fmt::Display for RejectedRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectionGone => {
                f.write_str("the connection is gone, and nothing can be required of it any more")
            }
            Self::Rate { given } => write!(
                f,
                "a rate of {given} cannot be required; it must be {LOWEST_RATE} to {HIGHEST_RATE}"
            ),
            Self::Period { given } => write!(
                f,
                "a period of {given:?} cannot be required; it must be {SHORTEST_PERIOD:?} to \
                 {LONGEST_PERIOD:?}"
            ),
            Self::PeriodNotANumber { given } => write!(
                f,
                "a period of {given} cannot be required; it must be {SHORTEST_PERIOD:?} to \
                 {LONGEST_PERIOD:?}"
            ),
            Self::PeriodBelowRoundTrips { given, shortest } => write!(
                f,
                "a period of {given:?} is below two round trips of this path; {shortest:?} and \
                 longer are possible"
            ),
            Self::AbovePath { given, most } => write!(
                f,
                "{given} is more than may be taken of this path; up to {most} is possible now"
            ),
        }
    }
}

impl std::error::Error for RejectedRequirement {}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_SECONDS: Duration = Duration::from_secs(2);

    fn message(result: Result<Requirement, RejectedRequirement>) -> String {
        result.expect_err("rejected").to_string()
    }

    #[test]
    fn what_is_no_rate_or_period_is_rejected_with_the_range() {
        for rate in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e15] {
            let text = message(Requirement::from_f64(rate, 2.0));
            assert!(text.contains("8.0 kbit/s to 1000.000 Gbit/s"), "{text}");
        }
        for period in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e30, 3601.0] {
            let text = message(Requirement::from_f64(8e6, period));
            assert!(text.contains("100µs to 3600s"), "{text}");
        }
        assert!(Requirement::new(Bandwidth::ZERO, TWO_SECONDS).is_err());
        let good = Requirement::from_f64(8e6, 2.0).expect("good");
        assert_eq!(
            Requirement::new(Bandwidth::from_mbps(8), TWO_SECONDS),
            Ok(good)
        );
    }

    #[test]
    fn a_path_that_cannot_carry_it_says_what_it_can() {
        let wanted = Requirement::new(Bandwidth::from_mbps(8), Duration::from_millis(100))
            .expect("in itself possible");
        let long_way = wanted.check(Some(Duration::from_millis(60)), None);
        assert_eq!(
            long_way
                .expect_err("two round trips are 120 ms")
                .to_string(),
            "a period of 100ms is below two round trips of this path; 120ms and longer are possible"
        );
        let narrow = wanted.check(
            Some(Duration::from_millis(50)),
            Some(Bandwidth::from_mbps(5)),
        );
        assert_eq!(
            narrow.expect_err("5 is below 8").to_string(),
            "8.00 Mbit/s is more than may be taken of this path; up to 5.00 Mbit/s is possible now"
        );
        assert_eq!(wanted.check(None, None), Ok(()));
    }
}
