//! One requirement on one path, with each carrier.

use super::super::compare::Failure;
use super::super::path::{Facts, Path};
use super::wish::{BULK, Wish};
use crate::calibration::{Warnings, observe};
use crate::result::{RivalShare, RunResult, Slots};
use crate::simulation::Simulation;
use serde::Serialize;

/// Who carries the application's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// The controller that steers by the promise.
    Imtcp,
    /// quiche's CUBIC.
    Cubic,
    /// quiche's BBRv2.
    Bbr2,
    /// quiche's Reno.
    Reno,
}

impl Carrier {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Imtcp, Self::Cubic, Self::Bbr2, Self::Reno];

    /// Its name in scenarios and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Imtcp => "imtcp",
            Self::Cubic => "cubic",
            Self::Bbr2 => "bbr2",
            Self::Reno => "reno",
        }
    }

    /// The carrier of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }
}

/// What came of a path.
#[derive(Clone, Debug, Serialize)]
pub struct Promised {
    /// The seed that drew it, and with which it was run.
    pub seed: u64,
    /// What was drawn.
    pub facts: Facts,
    /// What was required.
    pub wish: Wish,
    /// What each carrier made of it.
    pub carriers: Vec<Carried>,
    /// The scenario file, to be run by itself.
    #[serde(skip)]
    pub text: String,
}

impl Promised {
    /// The share of the slots that this carrier kept.
    pub fn kept(&self, carrier: Carrier) -> Option<f64> {
        let mut carriers = self.carriers.iter();
        let carried = carriers.find(|carried| carried.carrier == carrier)?;
        Some(carried.slots.kept_share)
    }

    /// The paths where this project's controller missed slots, with the share that it kept. The
    /// path with the smallest share is the first.
    pub fn worst_first(all: &[Self]) -> Vec<(&Self, f64)> {
        let mut ordered: Vec<(&Self, f64)> = all
            .iter()
            .filter_map(|one| Some((one, one.kept(Carrier::Imtcp)?)))
            .filter(|(_, kept)| *kept < 1.0)
            .collect();
        ordered.sort_by(|one, other| {
            one.1
                .total_cmp(&other.1)
                .then(one.0.seed.cmp(&other.0.seed))
        });
        ordered
    }
}

/// What a carrier made of a requirement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Carried {
    /// Who it is.
    pub carrier: Carrier,
    /// The slots, of what the client has read.
    pub slots: Slots,
    /// Achieved / required, slot by slot.
    pub ratios: Vec<f64>,
    /// Packets lost / packets sent, of this flow alone.
    pub loss_share: f64,
    /// The flows beside.
    pub rivals: Vec<RivalShare>,
    /// Round trips of this flow above those of the empty path: the median and the 95th percentile.
    pub queueing_ms: Option<[f64; 2]>,
    /// The controller's forecasts at the beginnings of slots. Others make none.
    pub forecasts: Vec<Forecast>,
    /// The controller's warnings. Others give none.
    pub warnings: Warnings,
    /// Why the connection ended early. None if it did not.
    pub ended: Option<String>,
}

/// The answer of `can_promise` at the beginning of a slot, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The answer.
    pub probability: f64,
    /// Whether the slot was kept by the controller's own count.
    pub kept: bool,
}

/// Runs a path with its seed and each of the carriers. `overrides` are applied last.
///
/// # Errors
/// A flow cannot be set up, or no slot came to its end.
pub fn run(
    path: &Path,
    wish: &Wish,
    seed: u64,
    carriers: &[Carrier],
    overrides: &[(String, String)],
) -> Result<Promised, Failure> {
    let carried = carriers
        .iter()
        .map(|carrier| carry(path, wish, seed, *carrier, overrides));
    Ok(Promised {
        seed,
        facts: path.facts.clone(),
        wish: wish.clone(),
        carriers: carried.collect::<Result<_, _>>()?,
        text: wish.written_into(&path.text),
    })
}

fn carry(
    path: &Path,
    wish: &Wish,
    seed: u64,
    carrier: Carrier,
    overrides: &[(String, String)],
) -> Result<Carried, Failure> {
    let own = wish.overrides();
    let mut all = vec![BULK, ("flow.main.controller", carrier.name())];
    all.extend(own.iter().map(|(key, value)| (*key, value.as_str())));
    all.extend(overrides.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    let scenario = path.scenario(&all)?;
    let mut simulation = Simulation::new(&scenario, seed)?;
    let survey = match carrier {
        Carrier::Imtcp => observe(&mut simulation, None),
        _ => {
            simulation.advance(scenario.end());
            Default::default()
        }
    };
    let result = RunResult::of(&simulation);
    let name = || format!("seed {seed}, {}", carrier.name());
    let main = result
        .flow("main")
        .ok_or_else(|| format!("{}: no flow", name()))?;
    let promise = main.promise.as_ref();
    let promise = promise.ok_or_else(|| format!("{}: no slot came to its end", name()))?;
    let counted = survey.asked.iter();
    let counted = counted.filter(|asked| asked.at.as_secs_f64() >= wish.slots_from_s);
    let mut warnings = Warnings::default();
    if carrier == Carrier::Imtcp {
        for slot in &promise.slots {
            warnings.count(slot.was_warned_in_time(promise.per_s), slot.kept);
        }
    }
    let above = |ms: f64| (ms - path.facts.rtt_ms).max(0.0);
    Ok(Carried {
        carrier,
        slots: promise.all,
        ratios: promise
            .slots
            .iter()
            .map(|slot| slot.achieved_bps as f64 / wish.required_bps)
            .collect(),
        loss_share: main.lost_packets as f64 / (main.sent_packets as f64).max(1.0),
        rivals: promise.rivals.clone(),
        queueing_ms: main
            .rtt_ms
            .map(|rtt| [above(rtt.p50_ms), above(rtt.p95_ms)]),
        forecasts: counted
            .map(|asked| Forecast {
                probability: asked.probability,
                kept: asked.report.outcome.is_kept(),
            })
            .collect(),
        warnings,
        ended: main.ended.clone(),
    })
}
