//! The paper's estimator: steps 3 to 6 of IM 3.2 over a completed measurement.
//!
//! ```text
//! record -> trend of each stream -> choice of a -> fit in I_a   -> last values -> narrower range
//!                                             \-> out of range -> no last values -> wider range
//! ```

use super::choice::{Choice, choose, early_stop};
use super::fit::{Fit, fit};
use super::last_values::LastValues;
use super::pairs::most_pairs;
use super::range::SearchRange;
use super::record::MeasurementRecord;
use super::trend::{Doubt, Thresholds, Trend, judge};
use super::{Estimator, MAX_SUB_RANGES};
use crate::estimate::{Estimate, Flags};
use crate::units::Bandwidth;

/// The result of a measurement (IM 3.2.4 to 3.2.6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The place of the available bandwidth in the search range (a of IM 3.2.4).
    pub choice: Choice,
    /// The available bandwidth with its interval (A of IM 3.2.5 and 3.2.6).
    pub estimate: Estimate,
    /// The next search range (B'_l to B'_u of IM 3.2.6). The capacity does not bound it yet.
    pub next_range: SearchRange,
}

/// The estimator of IM 3.2. It drives the measurements, or runs as the shadow of another
/// estimator.
#[derive(Clone, Debug)]
pub struct ClassicEstimator {
    minimum_range: Bandwidth,
    thresholds: Thresholds,
    last_values: LastValues,
    next_range: Option<SearchRange>,
}

impl ClassicEstimator {
    /// An estimator whose search range is at least `minimum_range` wide (B_m of IM 3.2.6). With
    /// zero the rule of [`default_minimum_range`] applies.
    pub fn new(minimum_range: Bandwidth) -> Self {
        Self {
            minimum_range,
            thresholds: Thresholds::default(),
            last_values: LastValues::default(),
            next_range: None,
        }
    }

    /// The trend of one stream (T_i of IM 3.2.3).
    pub fn judge(&self, record: &MeasurementRecord, stream: u32) -> Trend {
        record
            .stream(stream)
            .map_or(Trend::CannotTell(Doubt::Incomplete), |stream| {
                judge(stream, record.cadence(), &self.thresholds)
            })
    }

    /// Whether the streams still to come would only repeat what two streams in a row have said
    /// (IM 3.2.3).
    pub fn may_stop_early(&self, record: &MeasurementRecord) -> bool {
        early_stop(&self.trends(record)[..record.streams().len().min(MAX_SUB_RANGES as usize)])
    }

    /// The first train of back-to-back packets came in at the rate `cprobe` (IM 3.2.1).
    pub fn on_first_train(&mut self, cprobe: Bandwidth) {
        self.next_range = Some(SearchRange::first(cprobe));
    }

    /// All streams of a measurement were sent, and all their packets were acknowledged or lost.
    ///
    /// `None` if no trend could be told, or if no packet arrived. The next range is then the range
    /// of this measurement again (IM 3.2.6).
    pub fn on_measurement(&mut self, record: &MeasurementRecord) -> Option<Outcome> {
        let trends = self.trends(record);
        let k = record.sub_ranges();
        let reaches_line_one = fit_of(record, k) != Fit::NoLineOne;
        let trends = trends.get(..record.streams().len())?;
        let Some((choice, (at, window))) =
            choose(trends, reaches_line_one).zip(record.arrival_span())
        else {
            self.next_range = Some(record.range());
            return None;
        };
        let conclusion = self.conclude(record, choice);
        let estimate = Estimate {
            at,
            available: conclusion.value,
            low: conclusion.low,
            high: conclusion.high,
            window,
            flags: Flags {
                aggregated_acks: record.has_aggregated_echoes(),
                out_of_range: !matches!(choice, Choice::SubRange(_)),
                ..Flags::default()
            },
        };
        self.next_range = Some(conclusion.next_range);
        Some(Outcome {
            choice,
            estimate,
            next_range: conclusion.next_range,
        })
    }

    /// The trends of all streams (T_1 to T_k of IM 3.2.3). Streams that the early stop left out
    /// count as not increasing.
    fn trends(&self, record: &MeasurementRecord) -> [Trend; MAX_SUB_RANGES as usize] {
        let mut trends = [Trend::CannotTell(Doubt::Incomplete); MAX_SUB_RANGES as usize];
        for (i, stream) in record.streams().iter().enumerate().take(trends.len()) {
            trends[i] = if !stream.was_sent() && early_stop(&trends[..i]) {
                Trend::NotIncreasing
            } else {
                judge(stream, record.cadence(), &self.thresholds)
            };
        }
        trends
    }

    /// Step 5 for 1 <= a <= k: the value in the sub-range I_a.
    ///
    /// If the fit has no value, the trends decide. They say that A is in I_a. If not even the
    /// slowest pair of stream a arrived unslowed, A is at the lower end. If the pairs are too few
    /// to tell, A is in the middle, whose largest possible error is the least.
    fn value_in(record: &MeasurementRecord, a: u32) -> Bandwidth {
        let sub_range = record.range().sub_range(a, record.sub_ranges());
        match fit_of(record, a) {
            Fit::Knee(rate) => rate,
            Fit::NoLineOne => sub_range.low,
            Fit::TooFewPairs => sub_range.middle(),
        }
    }

    /// Step 6 when A was found: half of the next range's width.
    ///
    /// It is max(1.96 S / sqrt(q), B_m / 2), with S the standard deviation of the q stored values
    /// and B_m the least width, all in bits per second. A first value has no S. It keeps the width
    /// of the previous measurement, as the paper says of a measurement without stored values.
    fn half_width(&self, record: &MeasurementRecord, value: Bandwidth) -> Bandwidth {
        let previous = record.range().width();
        let spread = self
            .last_values
            .half_width()
            .unwrap_or(Bandwidth::from_bps(previous.as_bps() / 2));
        let minimum = if self.minimum_range.is_zero() {
            default_minimum_range(value, most_pairs(record.stream_packets(), record.cadence()))
        } else {
            self.minimum_range
        };
        spread.max(Bandwidth::from_bps(minimum.as_bps() / 2))
    }

    /// Steps 5 and 6: the value, and the next range.
    fn conclude(&mut self, record: &MeasurementRecord, choice: Choice) -> Conclusion {
        let range = record.range();
        match choice {
            Choice::SubRange(a) => {
                let value = Self::value_in(record, a);
                self.last_values.push(value);
                let half_width = self.half_width(record, value);
                Conclusion {
                    value,
                    low: value.saturating_sub(half_width),
                    high: value.saturating_add(half_width),
                    next_range: SearchRange::around(value, half_width),
                }
            }
            Choice::Above => {
                self.last_values.clear();
                let next_range = range.raised();
                Conclusion {
                    value: range.high(),
                    low: range.high(),
                    high: next_range.high(),
                    next_range,
                }
            }
            Choice::Below => {
                self.last_values.clear();
                let next_range = range.lowered();
                Conclusion {
                    value: range.low(),
                    low: next_range.low(),
                    high: range.low(),
                    next_range,
                }
            }
        }
    }
}

/// The least width of the search range if none is configured (B_m of IM 3.2.6): A / (N - 1), where
/// A is the value and N the number of packets of a stream. With delayed acknowledgements the number
/// of remaining pairs takes the place of N - 1. One packet of cross traffic more or less during a
/// stream changes the rate that the stream sees by about that much, so chance alone would soon lead
/// out of a narrower range.
pub fn default_minimum_range(value: Bandwidth, pairs: usize) -> Bandwidth {
    let pairs = u64::try_from(pairs.max(1)).unwrap_or(u64::MAX);
    Bandwidth::from_bps(value.as_bps() / pairs)
}

fn fit_of(record: &MeasurementRecord, i: u32) -> Fit {
    record
        .stream(i)
        .map_or(Fit::TooFewPairs, |stream| fit(stream, record.cadence()))
}

struct Conclusion {
    value: Bandwidth,
    low: Bandwidth,
    high: Bandwidth,
    next_range: SearchRange,
}

impl Estimator for ClassicEstimator {
    fn next_range(&self, bound: Option<Bandwidth>) -> Option<SearchRange> {
        self.next_range.map(|range| range.bounded(bound))
    }

    fn reset(&mut self) {
        self.last_values.clear();
        self.next_range = None;
    }
}

#[cfg(test)]
mod tests;
