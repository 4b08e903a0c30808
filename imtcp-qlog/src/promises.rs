//! Promises: how slots ended, and what was said of them before.

use crate::bounds;
use crate::read::Record;
use crate::series::rank;
use serde::Deserialize;
use serde::de::Error as _;
use std::collections::BTreeMap;

/// The 5th percentile is of so many slots at most, the first ones of a log. Slots of a second fill
/// this in twelve days.
const MOST_RATIOS: usize = 1 << 20;

/// The promises of a log, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Promises {
    /// How often what was required changed; withdrawing it is a change, too.
    pub changes: u64,
    /// What was required last.
    pub required: Option<Required>,
    /// Control slots that began.
    pub control_slots: u64,
    /// Slots with the required rate.
    pub kept: u64,
    /// Slots whose source offered less, and got it through.
    pub source_limited: u64,
    /// Slots with less than the required rate.
    pub missed: u64,
    /// Achieved by required rate, of slots that the source did not limit: of the first million.
    ratios: Vec<f64>,
    /// The sum of all these ratios, and how many there are.
    sum: f64,
    ratio_count: u64,
    /// Missed slots that had been called at risk at least half a slot before their end.
    pub warned_missed: u64,
    /// Other slots that had been called at risk as early.
    pub warned_kept: u64,
    /// How often each status was entered, by its name.
    pub statuses: BTreeMap<String, u64>,
    /// How often a slot was at risk, by the cause.
    pub causes: BTreeMap<String, u64>,
    /// The path on which the last change withdrew the requirement.
    withdrawn_on: Option<u32>,
}

/// What an application asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Required {
    /// Rate of application data.
    pub rate_bps: u64,
    /// The period in ms.
    pub per_ms: f64,
    /// `at_least` or `exactly`.
    pub demand: String,
}

/// A change of what is required. Without a rate nothing is required any more.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Change {
    /// The number of the path; missing for the first.
    #[serde(default)]
    pub(crate) path: u32,
    rate_bps: Option<u64>,
    #[serde(rename = "per")]
    per_ms: Option<f64>,
    demand: Option<String>,
}

impl Change {
    /// On which path, and what is required from now on.
    ///
    /// # Errors
    /// Some of it is missing.
    pub(crate) fn checked(self) -> serde_json::Result<(u32, Option<Required>)> {
        let required = match (self.rate_bps, self.per_ms, self.demand) {
            (None, ..) => None,
            (Some(rate_bps), Some(per_ms), Some(demand)) => Some(Required {
                rate_bps,
                per_ms,
                demand: bounds::name(demand)?,
            }),
            (_, None, _) => return Err(serde_json::Error::missing_field("per")),
            (_, _, None) => return Err(serde_json::Error::missing_field("demand")),
        };
        Ok((self.path, required))
    }
}

#[derive(Deserialize)]
struct StatusChanged {
    status: String,
    cause: Option<String>,
}

#[derive(Deserialize)]
struct SlotEnded {
    #[serde(rename = "length")]
    length_ms: f64,
    required_bps: u64,
    achieved_bps: u64,
    outcome: Outcome,
    #[serde(rename = "warned_after")]
    warned_after_ms: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Kept,
    SourceLimited,
    Missed,
}

impl Promises {
    /// Counts an event of a promise. Other events are left alone.
    pub(crate) fn add(&mut self, record: &Record<'_>) -> serde_json::Result<()> {
        match record.event() {
            "promise_changed" => self.add_change(record.data()?)?,
            "control_slot_started" => self.control_slots += 1,
            "promise_status_changed" => self.add_status(record.data()?)?,
            "slot_ended" => self.add_slot(&record.data()?),
            _ => {}
        }
        Ok(())
    }

    fn add_change(&mut self, change: Change) -> serde_json::Result<()> {
        let (path, required) = change.checked()?;
        // At first nothing is required, so to withdraw that is no change.
        let is_first = self.changes == 0 && required.is_none();
        // Data took another path, and the promise went with it: that is no change either.
        let has_moved = self.withdrawn_on.is_some_and(|other| other != path)
            && required.is_some()
            && self.required == required;
        if is_first {
            return Ok(());
        }
        self.withdrawn_on = required.is_none().then_some(path);
        if has_moved {
            self.changes -= 1;
        } else {
            self.changes += 1;
        }
        self.required = required.or(self.required.take());
        Ok(())
    }

    fn add_status(&mut self, changed: StatusChanged) -> serde_json::Result<()> {
        *bounds::entry(&mut self.statuses, changed.status)? += 1;
        if let Some(cause) = changed.cause {
            *bounds::entry(&mut self.causes, cause)? += 1;
        }
        Ok(())
    }

    fn add_slot(&mut self, slot: &SlotEnded) {
        let count = match slot.outcome {
            Outcome::Kept => &mut self.kept,
            Outcome::SourceLimited => &mut self.source_limited,
            Outcome::Missed => &mut self.missed,
        };
        *count += 1;
        if slot.outcome != Outcome::SourceLimited && slot.required_bps > 0 {
            let ratio = slot.achieved_bps as f64 / slot.required_bps as f64;
            self.sum += ratio;
            self.ratio_count += 1;
            if self.ratios.len() < MOST_RATIOS {
                self.ratios.push(ratio);
            }
        }
        if slot
            .warned_after_ms
            .is_some_and(|after| after * 2.0 <= slot.length_ms)
        {
            match slot.outcome {
                Outcome::Missed => self.warned_missed += 1,
                Outcome::Kept | Outcome::SourceLimited => self.warned_kept += 1,
            }
        }
    }

    /// Nothing was ever required.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Slots that ended.
    pub fn slots(&self) -> u64 {
        self.kept + self.source_limited + self.missed
    }

    /// Achieved by required rate, of the first million slots that the source did not limit, in
    /// their order.
    pub fn ratios(&self) -> &[f64] {
        &self.ratios
    }

    /// The ratio of achieved to required rate at the 5th percentile of the slots. `None` if the
    /// source limited all slots, or if there are none.
    pub fn p5(&self) -> Option<f64> {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = rank(sorted.len() as u64, 0.05)?;
        sorted.get(usize::try_from(rank).ok()?).copied()
    }

    /// The mean of these ratios.
    pub fn mean(&self) -> Option<f64> {
        (self.ratio_count > 0).then(|| self.sum / self.ratio_count as f64)
    }

    /// Of how many slots the 5th percentile is not, because they came too late in a long log.
    pub fn beyond_p5(&self) -> u64 {
        self.ratio_count - self.ratios.len() as u64
    }

    /// The share of slots warned of in time that were missed; `None` without warnings.
    pub fn precision(&self) -> Option<f64> {
        share(self.warned_missed, self.warned_missed + self.warned_kept)
    }

    /// The share of missed slots that were warned of in time; `None` if none was missed.
    pub fn recall(&self) -> Option<f64> {
        share(self.warned_missed, self.missed)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn slot(achieved: u64, outcome: &str, warned_after: Option<f64>) -> SlotEnded {
        serde_json::from_value(json!({
            "slot": 0, "length": 2000.0, "required_bps": 1000, "achieved_bps": achieved,
            "outcome": outcome, "warned_after": warned_after,
        }))
        .expect("complete")
    }

    #[test]
    fn a_warning_is_in_time_until_half_a_slot_is_over() {
        let mut promises = Promises::default();
        for (achieved, outcome, warned) in [
            (900, "missed", Some(0.0)),
            (900, "missed", Some(1000.0)),
            (900, "missed", Some(1000.1)),
            (900, "missed", None),
            (1000, "kept", Some(1000.0)),
            (1000, "kept", Some(1900.0)),
            (100, "source_limited", None),
        ] {
            let data = slot(achieved, outcome, warned);
            promises.add_slot(&data);
        }
        assert_eq!(
            (promises.kept, promises.missed, promises.slots()),
            (2, 4, 7)
        );
        assert_eq!((promises.warned_missed, promises.warned_kept), (2, 1));
        assert_eq!(promises.precision(), Some(2.0 / 3.0));
        assert_eq!(promises.recall(), Some(0.5));
        assert_eq!(promises.p5(), Some(0.9));
    }

    /// The promises after these changes, and whether each could be read.
    fn changed(changes: &[serde_json::Value]) -> (Promises, Vec<bool>) {
        let mut promises = Promises::default();
        let mut add = |change: &serde_json::Value| -> serde_json::Result<()> {
            promises.add_change(serde_json::from_value(change.clone())?)
        };
        let outcomes = changes.iter().map(|change| add(change).is_ok()).collect();
        (promises, outcomes)
    }

    #[test]
    fn a_promise_that_goes_with_the_connection_to_another_path_is_no_other_promise() {
        let first = json!({"rate_bps": 8, "per": 1000.0, "demand": "at_least"});
        let mut second = first.clone();
        second["path"] = json!(1);
        let (gone, closed) = (json!({}), json!({"path": 1}));
        let all = [gone.clone(), first.clone(), gone.clone(), second];
        let (promises, outcomes) = changed(&all);
        assert_eq!((promises.changes, outcomes), (1, vec![true; 4]));
        let mut all = all.to_vec();
        all.push(closed);
        assert_eq!(changed(&all).0.changes, 2, "withdrawn for good");
        // On one path it is required anew.
        assert_eq!(changed(&[first.clone(), gone.clone(), first]).0.changes, 3);
        assert!(changed(&[gone]).0.is_empty());
    }

    #[test]
    fn a_requirement_without_a_period_or_a_demand_is_damage() {
        for change in [
            json!({"rate_bps": 8, "demand": "at_least"}),
            json!({"rate_bps": 8, "per": 1000.0}),
            json!({"rate_bps": "8"}),
        ] {
            let (promises, outcomes) = changed(&[change]);
            assert_eq!(outcomes, [false]);
            assert!(promises.is_empty());
        }
    }

    #[test]
    fn the_fifth_percentile_leaves_out_what_the_source_limits() {
        let mut promises = Promises::default();
        assert_eq!((promises.p5(), promises.mean()), (None, None));
        let limited = slot(1, "source_limited", None);
        promises.add_slot(&limited);
        assert_eq!((promises.p5(), promises.recall()), (None, None));
        for achieved in (1001..=1041).rev() {
            let data = slot(achieved, "kept", None);
            promises.add_slot(&data);
        }
        // 41 values, of which two are 5 %.
        assert_eq!(promises.p5(), Some(1.003));
        let mean = promises.mean().expect("there are some");
        assert!((mean - 1.021).abs() < 1e-12, "{mean}");
    }
}
