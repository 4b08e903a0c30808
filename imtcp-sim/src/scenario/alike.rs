//! `count` and `every`: flows that are written once.

use super::error::{Complaint, ScenarioError};
use super::flow::Flow;
use super::reader::Section;
use super::{life, quantity};
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// No scenario needs more flows than this, and each has a name and files.
const MOST: u32 = 500;

/// How many flows a table stands for, and how long after one the next begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alike {
    count: u32,
    every: Duration,
}

impl Alike {
    pub(super) fn read(
        section: &mut Section<'_>,
        (start, stop): (Timestamp, Option<Timestamp>),
        too_late: Timestamp,
    ) -> Result<Self, ScenarioError> {
        let count = section.optional("count");
        let count = count.map_or(Ok(1), |entry| entry.count(0..=MOST))?;
        let Some(entry) = section.optional("every") else {
            let every = Duration::ZERO;
            return Ok(Self { count, every });
        };
        let every = entry.quantity(quantity::span)?;
        let alike = Self { count, every };
        let last = alike.last(start);
        if stop.is_some_and(|stop| stop <= last) {
            let problem = "the last of them stops before it starts";
            let remedy = "let `stop` be later, or leave it out";
            return Err(entry.reject(Complaint::new(problem, remedy)));
        }
        life::in_time(&entry, last, too_late)?;
        Ok(alike)
    }

    /// When the last of them starts, if the first does at `start`.
    pub(super) fn last(self, start: Timestamp) -> Timestamp {
        start + self.every.saturating_mul(self.count.saturating_sub(1))
    }

    /// `name` for one, `name-1`, `name-2` and so on for several.
    pub(super) fn expand(self, flow: &Flow) -> Vec<Flow> {
        if self.count == 1 {
            return vec![flow.clone()];
        }
        let one_of = |number: u32| Flow {
            name: format!("{}-{number}", flow.name),
            group: Some(flow.name.clone()),
            start: flow.start + self.every.saturating_mul(number - 1),
            ..flow.clone()
        };
        (1..=self.count).map(one_of).collect()
    }
}
