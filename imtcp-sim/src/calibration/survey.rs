//! Runs a case as an application would: asks, requires, reads reports.

use crate::endpoint::PairError;
use crate::random::Random;
use crate::scenario::{Controller, Scenario};
use crate::simulation::Simulation;
use imtcp_cc::promise::{Demand, Outlook, Promise, Requirement, SlotReport, SlotReports};
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// How often the application looks.
const LOOK: Duration = Duration::from_millis(10);
/// Nothing is required before this time, because the path is not known yet.
const SETTLED: Duration = Duration::from_secs(2);
/// A rate is required for one slot up to this many.
const MOST_SLOTS: u32 = 8;

/// A scenario and what its first measuring flow asks for.
#[derive(Clone, Debug)]
pub struct Case {
    /// The path.
    pub scenario: Scenario,
    /// What is required. None where the scenario says it.
    pub plan: Option<Plan>,
}

/// Rates drawn evenly between two bounds, one every few slots.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The least.
    pub lowest: Bandwidth,
    /// The most.
    pub highest: Bandwidth,
    /// The slot.
    pub per: Duration,
    /// Whether more than that is welcome.
    pub demand: Demand,
}

/// A question at the beginning of a slot, and how the slot ended.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// When it was asked, in virtual time.
    pub at: Timestamp,
    /// The rate asked for.
    pub rate: Bandwidth,
    /// The slot.
    pub per: Duration,
    /// Whether the rate was required before.
    pub running: bool,
    /// The answer: the probability that the rate will be kept.
    pub probability: f64,
    /// What the answer rests on.
    pub outlook: Outlook,
    /// How the slot ended.
    pub report: SlotReport,
}

/// What a run told.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Questions with their outcomes.
    pub asked: Vec<Asked>,
    /// All slots.
    pub slots: Vec<SlotReport>,
}

/// Runs a case with a seed.
///
/// # Errors
/// A flow cannot be set up.
pub fn survey(case: &Case, seed: u64) -> Result<Survey, PairError> {
    let mut simulation = Simulation::new(&case.scenario, seed)?;
    Ok(observe(&mut simulation, case.plan))
}

/// Runs a simulation to its end, and asks its first measuring flow what `plan` says, or else about
/// what the scenario requires.
pub fn observe(simulation: &mut Simulation<'_>, plan: Option<Plan>) -> Survey {
    let flows = &simulation.scenario().flows;
    let main = flows
        .iter()
        .position(|flow| flow.controller == Controller::Imtcp);
    let mut asker = Asker::new(plan, simulation.seed());
    let mut now = Timestamp::ZERO;
    while simulation.advance(now) {
        now = now + LOOK;
        if let Some(promise) = main.and_then(|flow| simulation.pairs()[flow].promise()) {
            asker.look(now, &promise);
        }
    }
    asker.survey
}

struct Question {
    at: Timestamp,
    rate: Bandwidth,
    per: Duration,
    running: bool,
    probability: f64,
    outlook: Outlook,
}

struct Asker {
    plan: Option<Plan>,
    random: Random,
    reports: Option<SlotReports>,
    begun: Option<Timestamp>,
    /// Slots for which the present rate is kept.
    slots_left: u32,
    open: Option<Question>,
    survey: Survey,
}

impl Asker {
    fn new(plan: Option<Plan>, seed: u64) -> Self {
        Self {
            plan,
            random: Random::for_component(seed, "application"),
            reports: None,
            begun: None,
            slots_left: 0,
            open: None,
            survey: Survey::default(),
        }
    }

    fn look(&mut self, now: Timestamp, promise: &Promise) {
        let begun = *self.begun.get_or_insert(now);
        let mut ended = self.reports.is_none();
        let reports = self.reports.get_or_insert_with(|| promise.reports());
        while let Some(report) = reports.take() {
            ended = true;
            self.survey.slots.push(report);
            if let Some(question) = self.open.take() {
                self.survey.asked.push(question.answered(report));
            }
        }
        let settled = now.saturating_since(begun) >= SETTLED;
        if !settled || (!ended && promise.required().is_some()) {
            return;
        }
        self.slots_left = self.slots_left.saturating_sub(1);
        let changed = match self.plan {
            Some(plan) if self.slots_left == 0 => self.require(now, promise, plan),
            _ => false,
        };
        if !changed && let Some(required) = promise.required() {
            self.open = question(now, promise, required.rate(), required.per(), true);
        }
    }

    /// Draws another rate, asks about it, and requires it. False where the path is known not to
    /// allow it, so that there is nothing to observe.
    fn require(&mut self, now: Timestamp, promise: &Promise, plan: Plan) -> bool {
        let share = self.random.uniform();
        let span = plan.highest.saturating_sub(plan.lowest);
        let rate = plan.lowest.saturating_add(span.scaled(share));
        let asked = question(now, promise, rate, plan.per, false);
        let required = Requirement::new(rate, plan.per)
            .and_then(|requirement| promise.require(requirement.demand(plan.demand)));
        if required.is_err() {
            return false;
        }
        self.open = asked;
        self.slots_left = self.some_slots();
        true
    }

    /// One to [`MOST_SLOTS`], each as likely.
    fn some_slots(&mut self) -> u32 {
        let share = self.random.uniform();
        (1..MOST_SLOTS)
            .find(|slots| share * f64::from(MOST_SLOTS) < f64::from(*slots))
            .unwrap_or(MOST_SLOTS)
    }
}

fn question(
    at: Timestamp,
    promise: &Promise,
    rate: Bandwidth,
    per: Duration,
    running: bool,
) -> Option<Question> {
    Some(Question {
        at,
        rate,
        per,
        running,
        probability: promise.can_promise(rate, per)?,
        outlook: promise.outlook()?,
    })
}

impl Question {
    fn answered(self, report: SlotReport) -> Asked {
        Asked {
            at: self.at,
            rate: self.rate,
            per: self.per,
            running: self.running,
            probability: self.probability,
            outlook: self.outlook,
            report,
        }
    }
}
