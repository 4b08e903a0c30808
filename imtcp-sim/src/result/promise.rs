//! What became of a requirement under any controller, and of the flows beside it.

use super::rivals::{self, RivalShare};
use super::rounded;
use crate::endpoint::Said;
use crate::network::FlowId;
use crate::scenario::{Nominal, fair_shares};
use crate::simulation::Simulation;
use crate::statistics::{mean, quantile_of_sorted};
use imtcp_cc::event::Event;
use imtcp_cc::promise::{Outcome, Requirement};
use imtcp_cc::units::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// What became of a requirement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromiseResult {
    /// The rate of application data.
    pub required_bps: u64,
    /// The period.
    pub per_s: f64,
    /// All slots that count.
    pub all: Slots,
    /// The slots that count, by the number of flows beside it.
    pub by_rivals: Vec<BesideRivals>,
    /// What the controller itself counted, of acknowledged data; only the measuring one does.
    pub reported: Option<Reported>,
    /// What each flow beside it had of what was left for it.
    pub rivals: Vec<RivalShare>,
    /// The slots, in order.
    pub slots: Vec<SlotPoint>,
}

/// Some slots, together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slots {
    /// How many.
    pub count: usize,
    /// The share of them that had what was required.
    #[serde(rename = "kept")]
    pub kept_share: f64,
    /// 5th percentile of achieved / required.
    pub p5: f64,
    /// Mean of achieved / required.
    pub mean: f64,
    /// The highest of achieved / required.
    pub most: f64,
}

/// The slots in which so many flows were beside it, and what became of these flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BesideRivals {
    /// Flows that shared a link with it.
    pub rivals: usize,
    /// The slots.
    pub slots: Slots,
    /// Mean goodput of a rival; nothing if there was none.
    pub rival_bps: Option<u64>,
    /// A rival's max-min fair share of the narrowest link, as goodput. It is never more than the
    /// rival asks for.
    pub fair_bps: Option<u64>,
    /// What a rival lost against its fair share, as a share of that; negative if it had more.
    #[serde(rename = "lost")]
    pub lost_share: Option<f64>,
}

/// A slot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlotPoint {
    /// When it began, in seconds.
    #[serde(rename = "t")]
    pub t_s: f64,
    /// Application data that the client read in it, as a rate.
    pub achieved_bps: u64,
    /// Whether that was as much as was required.
    pub kept: bool,
    /// Flows beside it at its end.
    pub rivals: usize,
    /// Mean goodput of these in it.
    pub rival_bps: Option<u64>,
    /// How many seconds before its end the application was first told that it was at risk, if it
    /// was.
    pub warned_s: Option<f64>,
}

impl SlotPoint {
    /// Whether the application was warned while at least half of the slot was still to come.
    pub fn was_warned_in_time(&self, per_s: f64) -> bool {
        self.warned_s.is_some_and(|left| left >= per_s / 2.0)
    }
}

/// The controller's own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reported {
    /// Slots kept.
    pub kept: usize,
    /// Slots missed.
    pub missed: usize,
    /// Slots for which the source had too little.
    pub source_limited: usize,
}

impl PromiseResult {
    /// Nothing where the flow requires nothing.
    pub(super) fn of(simulation: &Simulation<'_>, flow: FlowId, events: &[Said]) -> Option<Self> {
        let scenario = simulation.scenario();
        let requirement = scenario.flows[flow.0].imtcp.promise()?;
        let nominal = Nominal::new(scenario, flow);
        let (start, stop) = nominal.life();
        let counted = start + scenario.flows[flow.0].slots_from;
        let announced = announced(events);
        let spans = match announced.is_empty() {
            false => announced,
            true => grid(start, stop, &requirement),
        };
        let scene = Scene {
            simulation,
            requirement,
            rivals: nominal.rivals(),
            flow,
            back: simulation.network().delay_back(flow),
        };
        let slots: Vec<(Span, SlotPoint)> = spans
            .into_iter()
            .filter(|span| span.from >= counted && span.to <= stop)
            .filter_map(|span| Some((span, scene.slot(span)?)))
            .collect();
        let by_rivals = scene.by_rivals(&slots);
        let slots: Vec<SlotPoint> = slots.into_iter().map(|(_, slot)| slot).collect();
        Some(Self {
            required_bps: requirement.rate().as_bps(),
            per_s: requirement.per().as_secs_f64(),
            all: Slots::of(slots.iter(), requirement.rate().as_bps_f64())?,
            by_rivals,
            reported: reported(events),
            rivals: rivals::shares(simulation, flow, &requirement, (counted, stop)),
            slots,
        })
    }
}

/// A slot, in virtual time.
#[derive(Clone, Copy)]
struct Span {
    from: Timestamp,
    to: Timestamp,
    /// The time from the first warning to the slot's end.
    warned: Option<Duration>,
}

/// The slots that the controller told its application of.
fn announced(events: &[Said]) -> Vec<Span> {
    let slot = |said: &Said| match said.event {
        Event::SlotEnded { report } => Some(Span {
            from: said.virtual_time(report.start),
            to: said.virtual_time(report.end),
            warned: report.warned.map(|at| report.end.saturating_since(at)),
        }),
        _ => None,
    };
    events.iter().filter_map(slot).collect()
}

/// Slots one after the other from the beginning, for controllers that know no slots.
fn grid(start: Timestamp, stop: Timestamp, requirement: &Requirement) -> Vec<Span> {
    let mut all = Vec::new();
    let mut from = start;
    while from < stop {
        let to = from + requirement.per();
        all.push(Span {
            from,
            to,
            warned: None,
        });
        from = to;
    }
    all
}

struct Scene<'a, 's> {
    simulation: &'a Simulation<'s>,
    requirement: Requirement,
    rivals: Vec<FlowId>,
    flow: FlowId,
    /// The delay from the client to the server. Slots are those of the server's clock: it learns of
    /// data so much later than the client has it.
    back: Duration,
}

impl Scene<'_, '_> {
    fn slot(&self, span: Span) -> Option<SlotPoint> {
        let Span { from, to, warned } = span;
        let delivery = self.simulation.pairs()[self.flow.0].delivery();
        let bytes = |at: Timestamp| delivery.bytes_at(at - self.back);
        let achieved = rate(bytes(to)? - bytes(from)?, from, to);
        let present = rivals::present(self.simulation, &self.rivals, to);
        let all: f64 = present
            .iter()
            .map(|rival| self.goodput(*rival, from, to))
            .sum();
        let mean = (!present.is_empty()).then(|| whole(all / present.len() as f64));
        Some(SlotPoint {
            t_s: rounded(from.as_secs_f64()),
            achieved_bps: whole(achieved),
            kept: achieved >= self.requirement.rate().as_bps_f64(),
            rivals: present.len(),
            rival_bps: mean,
            warned_s: warned.map(|left| rounded(left.as_secs_f64())),
        })
    }

    fn goodput(&self, rival: FlowId, from: Timestamp, to: Timestamp) -> f64 {
        let at = |when| self.simulation.record().delivered_at(rival.0, when);
        (at(to) - at(from)) * 8.0 / to.saturating_since(from).as_secs_f64().max(1e-9)
    }

    fn by_rivals(&self, slots: &[(Span, SlotPoint)]) -> Vec<BesideRivals> {
        let mut numbers: Vec<usize> = slots.iter().map(|(_, slot)| slot.rivals).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let beside = |number: usize| {
            let these = slots.iter().filter(move |(_, slot)| slot.rivals == number);
            let (last, _) = these.clone().next_back()?;
            let some = these.map(|(_, slot)| slot);
            let rates = some.clone().filter_map(|slot| slot.rival_bps);
            let had = mean(rates.map(|bps| bps as f64));
            let fair = self.fair(*last);
            Some(BesideRivals {
                rivals: number,
                slots: Slots::of(some, self.requirement.rate().as_bps_f64())?,
                rival_bps: had.map(whole),
                fair_bps: fair.map(whole),
                lost_share: had.zip(fair).map(|(had, fair)| rounded(1.0 - had / fair)),
            })
        };
        numbers.into_iter().filter_map(beside).collect()
    }

    /// Mean fair share of the rivals that a slot counts, on the link as it is when the slot begins.
    fn fair(&self, Span { from, to, .. }: Span) -> Option<f64> {
        let mut flows = rivals::present(self.simulation, &self.rivals, to);
        let rivals = flows.len();
        flows.push(self.flow);
        let shares = fair_shares(self.simulation.scenario(), &flows, from);
        mean(shares.into_iter().take(rivals))
    }
}

impl Slots {
    pub(super) fn of<'p>(
        slots: impl Iterator<Item = &'p SlotPoint> + Clone,
        required_bps: f64,
    ) -> Option<Self> {
        let mut ratios: Vec<f64> = slots
            .clone()
            .map(|slot| slot.achieved_bps as f64 / required_bps)
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let kept = slots.filter(|slot| slot.kept).count();
        Some(Self {
            count: ratios.len(),
            kept_share: rounded(kept as f64 / ratios.len() as f64),
            p5: rounded(quantile_of_sorted(&ratios, 0.05)?),
            mean: rounded(mean(ratios.iter().copied())?),
            most: rounded(*ratios.last()?),
        })
    }
}

fn reported(events: &[Said]) -> Option<Reported> {
    let mut counts = Reported {
        kept: 0,
        missed: 0,
        source_limited: 0,
    };
    for said in events {
        let Event::SlotEnded { report } = said.event else {
            continue;
        };
        match report.outcome {
            Outcome::Kept => counts.kept += 1,
            Outcome::SourceLimited => counts.source_limited += 1,
            // Missed.
            _ => counts.missed += 1,
        }
    }
    (counts.kept + counts.missed + counts.source_limited > 0).then_some(counts)
}

fn rate(bytes: u64, from: Timestamp, to: Timestamp) -> f64 {
    bytes as f64 * 8.0 / to.saturating_since(from).as_secs_f64().max(1e-9)
}

fn whole(bps: f64) -> u64 {
    imtcp_cc::units::Bandwidth::from_bps_f64(bps).as_bps()
}
