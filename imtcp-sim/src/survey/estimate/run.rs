//! A path, and what several readers say of it.

use super::super::compare::Failure;
use super::super::path::{Facts, Path};
use super::grid::{AROUND, Instant, Reading, Says, oracle, read};
use super::score::{Score, score};
use super::truth::Truth;
use crate::endpoint::Said;
use crate::network::FlowId;
use crate::record::{Observation, Snapshot};
use crate::result::forward;
use crate::simulation::Simulation;
use baselines::estimators::Kind as Observer;
use imtcp_cc::EstimatorKind;
use imtcp_cc::event::Event;
use imtcp_cc::units::Timestamp;
use serde::{Serialize, Serializer};
use std::collections::VecDeque;
use std::time::Duration;

/// The flow that is looked at: the path's first.
const MAIN: FlowId = FlowId(0);
/// The time over which the highest delivery rate counts.
const DELIVERED: Duration = Duration::from_secs(10);

/// Who says what is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// This project's estimator.
    Statistical,
    /// The paper's estimator.
    Classic,
    /// The highest delivery rate of the flow in the last 10 s, as quiche measures it.
    Delivery,
    /// The bandwidth that quiche's BBRv2 takes the path for, in the place of the flow.
    Bbr2,
    /// Somebody who knows the truth of a second ago.
    Oracle,
    /// An estimator of the literature, which watches the flow.
    Observer(Observer),
}

/// Its name.
impl Serialize for Reader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Reader {
    /// Those that always read.
    pub const ALL: &[Self] = &[
        Self::Statistical,
        Self::Classic,
        Self::Delivery,
        Self::Bbr2,
        Self::Oracle,
    ];

    /// Its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Statistical => "statistical",
            Self::Classic => "classic",
            Self::Delivery => "delivery",
            Self::Bbr2 => "bbr2",
            Self::Oracle => "oracle",
            Self::Observer(observer) => observer.name(),
        }
    }
}

/// A path, and what was read on it.
#[derive(Clone, Debug, Serialize)]
pub struct Surveyed {
    /// The seed that drew it, and with which it was run.
    pub seed: u64,
    /// What was drawn.
    pub facts: Facts,
    /// When the truth changes by design, or a token bucket is empty for the first time, as the
    /// server can see it, in seconds.
    pub changes_s: Vec<f64>,
    /// Each reader's readings.
    pub read: Vec<Read>,
    /// The scenario file, to be run by itself.
    #[serde(skip)]
    pub text: String,
}

/// The readings of one reader.
#[derive(Clone, Debug, Serialize)]
pub struct Read {
    /// Who said it.
    pub reader: Reader,
    /// What was said on the grid.
    pub instants: Vec<Instant>,
}

/// Runs a path with its seed, and reads. With `observers` the estimators of the literature watch
/// this project's flow, and read as well.
///
/// # Errors
/// A flow cannot be set up.
pub fn run(path: &Path, seed: u64, observers: bool) -> Result<Surveyed, Failure> {
    let watched = [("flow.main.observers", "true")];
    let own = observe(path, seed, if observers { &watched } else { &[] })?;
    let classic = observe(path, seed, &[("flow.main.imtcp.estimator", "classic")])?;
    let bbr2 = observe(path, seed, &[("flow.main.controller", "bbr2")])?;
    let statistical = own.read(&own.said_by(EstimatorKind::Statistical));
    let oracle = oracle(&own.truth, &statistical);
    let of = |reader, instants| Read { reader, instants };
    let kinds = Observer::ALL.into_iter().filter(|_| observers);
    let literature = kinds.map(|kind| of(Reader::Observer(kind), own.read(&own.observed(kind))));
    let literature: Vec<Read> = literature.collect();
    let seen_after = own.truth.seen_after();
    let changes = path.steps.iter().chain(&own.bucket_spent);
    let changes = changes.map(|change| *change + seen_after);
    Ok(Surveyed {
        seed,
        facts: path.facts.clone(),
        changes_s: changes.map(Timestamp::as_secs_f64).collect(),
        read: [
            of(Reader::Statistical, statistical),
            of(
                Reader::Classic,
                classic.read(&classic.said_by(EstimatorKind::Classic)),
            ),
            of(Reader::Delivery, own.read(&own.told(DELIVERED))),
            of(Reader::Bbr2, bbr2.read(&bbr2.told(Duration::ZERO))),
            of(Reader::Oracle, oracle),
        ]
        .into_iter()
        .chain(literature)
        .collect(),
        text: path.text.clone(),
    })
}

/// A run that is over.
struct Observed {
    truth: Truth,
    said: Vec<Said>,
    snapshots: Vec<Snapshot>,
    observations: Vec<Observation>,
    /// IP packets in UDP payload.
    in_payload: f64,
    /// When a token bucket first had too few tokens.
    bucket_spent: Option<Timestamp>,
    end: Timestamp,
}

fn observe(path: &Path, seed: u64, overrides: &[(&str, &str)]) -> Result<Observed, Failure> {
    let scenario = path.scenario(overrides)?;
    let mut simulation = Simulation::new(&scenario, seed)?;
    simulation.advance(scenario.end());
    let flow = &scenario.flows[MAIN.0];
    let (packet, headers) = (flow.packet.as_f64(), flow.imtcp.header_overhead().as_f64());
    let pair = &simulation.pairs()[MAIN.0];
    let links = simulation.network().route(MAIN).links();
    Ok(Observed {
        bucket_spent: links
            .filter_map(|link| forward(&simulation, link).bucket_spent())
            .min(),
        truth: Truth::of(&simulation, MAIN),
        said: pair.tap().take(),
        snapshots: simulation.record().of(MAIN.0).to_vec(),
        observations: simulation.record().observed(MAIN.0).to_vec(),
        in_payload: (packet + headers) / packet,
        end: pair.delivery().completed.unwrap_or(scenario.end()),
    })
}

impl Observed {
    fn read(&self, says: &[Says]) -> Vec<Instant> {
        let start = self.snapshots.first().map(|snapshot| snapshot.at);
        start.map_or(Vec::new(), |start| {
            read(says, &self.truth, (start, self.end), AROUND)
        })
    }

    fn said_by(&self, wanted: EstimatorKind) -> Vec<Says> {
        said_by(&self.said, wanted)
    }

    fn observed(&self, wanted: Observer) -> Vec<Says> {
        let says = |observation: &Observation| {
            let mut estimates = observation.estimates.iter();
            let found = estimates.find(|(kind, _)| *kind == wanted);
            let reading = found.and_then(|(_, estimate)| *estimate);
            let reading = reading.map(|rate| Reading {
                value_bps: rate.as_bps_f64(),
                interval_bps: None,
                made_s: observation.at.as_secs_f64(),
                lower_bound: false,
            });
            (observation.at, reading)
        };
        self.observations.iter().map(says).collect()
    }

    /// What quiche tells of the path's bandwidth: the highest of so long.
    fn told(&self, over: Duration) -> Vec<Says> {
        let mut last: VecDeque<(Timestamp, u64)> = VecDeque::new();
        let says = |snapshot: &Snapshot| {
            last.retain(|(at, _)| *at + over > snapshot.at);
            last.extend(snapshot.told_bps.map(|told| (snapshot.at, told)));
            let highest = last.iter().map(|(_, told)| *told).max();
            let reading = highest.map(|told| Reading {
                value_bps: told as f64 * self.in_payload,
                interval_bps: None,
                made_s: snapshot.at.as_secs_f64(),
                lower_bound: false,
            });
            (snapshot.at, reading)
        };
        self.snapshots.iter().map(says).collect()
    }
}

/// What an estimator says from each instant on.
fn said_by(said: &[Said], wanted: EstimatorKind) -> Vec<Says> {
    let says = |said: &Said| match said.event {
        Event::EstimateUpdated {
            estimator,
            estimate,
        } if estimator == wanted => {
            let reading = Reading {
                value_bps: estimate.available.as_bps_f64(),
                interval_bps: Some([estimate.low, estimate.high].map(|it| it.as_bps_f64())),
                made_s: said.virtual_time(estimate.at).as_secs_f64(),
                lower_bound: estimate.flags.lower_bound,
            };
            Some((said.now, Some(reading)))
        }
        Event::EstimateWithdrawn { estimator } if estimator == wanted => Some((said.now, None)),
        _ => None,
    };
    said.iter().filter_map(says).collect()
}

/// How good the default estimator of a flow was, from the flow's start to its end, where nobody
/// drew the path. `steps` are those of the truth, as they happen on the links. The truth is the
/// mean from `around` before an instant to `around` after it.
pub(crate) fn scored(
    simulation: &Simulation<'_>,
    flow: FlowId,
    said: &[Said],
    (life, steps): ((Timestamp, Timestamp), &[Timestamp]),
    around: Duration,
) -> Score {
    let truth = Truth::of(simulation, flow);
    let seen_after = truth.seen_after();
    let changes = steps.iter().map(|step| (*step + seen_after).as_secs_f64());
    let says = said_by(said, EstimatorKind::Statistical);
    let instants = read(&says, &truth, life, around);
    score(&instants, [0.0; 2], &changes.collect::<Vec<_>>())
}
