//! What a flow achieved and what it learnt.

use super::learnt::{Flagged, HALF_SECOND, Heard, Pauses, Read, SECOND};
use super::measuring::Measuring;
use super::observed::{self, Observed, ReadingPoint};
use super::promise::PromiseResult;
use super::{learnt, rounded, truth, usage};
use crate::endpoint::{Pair, Said, TIMED_OUT};
use crate::network::FlowId;
use crate::record::Snapshot;
use crate::scenario::{Controller, Nominal, Stack};
use crate::score::{Floor, LEAST_SHARE, Reference, Sample, Score, score};
use crate::simulation::Simulation;
use crate::statistics::quantile_of_sorted;
use crate::survey::estimate;
use imtcp_cc::EstimatorKind;
use imtcp_cc::event::Event;
use imtcp_cc::units::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// A flow's outcome.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// The flow's name.
    pub name: String,
    /// The name under which the scenario has it, where that stands for several flows.
    pub group: Option<String>,
    /// Its congestion controller.
    pub controller: &'static str,
    /// Application bytes that the client read, over the flow's life.
    pub goodput_bps: u64,
    /// QUIC packets that the server sent.
    pub sent_packets: u64,
    /// UDP payload that the server sent.
    pub sent_bytes: u64,
    /// Packets that the server declared lost.
    pub lost_packets: u64,
    /// Stream data that the server sent again.
    pub retransmitted_bytes: u64,
    /// Round trips on the path, the client's holding time left out.
    pub rtt_ms: Option<RoundTrips>,
    /// The default estimator's series.
    pub estimates: Vec<EstimatePoint>,
    /// The series of the paper's estimator.
    pub estimates_classic: Vec<EstimatePoint>,
    /// How good the default estimator's series is.
    pub score: Score,
    /// How good the series of the paper's estimator is.
    pub score_classic: Score,
    /// When the truth changed by design, in seconds; `settle_s` has one entry for each.
    pub steps_s: Vec<f64>,
    /// The default estimator read at every tenth of a second, and held against the truth of the
    /// second around: the scoring of `imtcp-sim survey --estimates`. Nothing where there is no
    /// estimate.
    pub grid: Option<estimate::Score>,
    /// The same against the truth of the half second around.
    pub grid_half_second: Option<estimate::Score>,
    /// What its readings of the path come to; nothing where there is none.
    pub read: Option<Read>,
    /// The share of the default estimator's series that has each flag.
    pub flagged: Flagged,
    /// The times between what the default estimator says, lower bounds among it; nothing for flows
    /// that do not measure.
    pub pauses: Option<Pauses>,
    /// The same between its results: what has a value, and is more than a lower bound.
    pub results: Option<Pauses>,
    /// The highest that the default estimator said, lower bounds among it, in bit/s.
    pub highest_said_bps: Option<u64>,
    /// What the flow carried of what its path left for it, over its life: on the link of which it
    /// left least.
    pub share_of_left: Option<f64>,
    /// What the measuring did; nothing for controllers that do not measure.
    pub measuring: Option<Measuring>,
    /// What became of what its application requires; nothing where it requires nothing.
    pub promise: Option<PromiseResult>,
    /// What the estimators of the literature said, and this project's beside, read at the same
    /// times; nothing where nobody watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<Observed>,
    /// What the server's stack told of its path every tenth of a second. Nothing if it is quiche.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<ReadingPoint>,
    /// Datagrams from the client that reached the server: acknowledgements, nearly all.
    pub acknowledgement_datagrams: u64,
    /// The time at which a transfer of known size was complete, in seconds.
    pub completed_s: Option<f64>,
    /// The 95th percentile of the time from making a frame or a chunk until the client has read all
    /// of it, in ms. What had not come at the end of the run is left out.
    pub burst_delay_p95_ms: Option<f64>,
    /// Why the connection ended before the run did. None if it did not.
    pub ended: Option<String>,
    /// What the estimates are measured against.
    #[serde(skip)]
    pub reference: Reference,
    /// Window, round trip and progress over time.
    #[serde(skip)]
    pub snapshots: Vec<Snapshot>,
    /// All that the controller said.
    #[serde(skip)]
    pub events: Vec<Said>,
}

/// Quantiles of round trips.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundTrips {
    /// The shortest, in ms.
    #[serde(rename = "min")]
    pub min_ms: f64,
    /// The median, in ms.
    #[serde(rename = "p50")]
    pub p50_ms: f64,
    /// The 95th percentile, in ms.
    #[serde(rename = "p95")]
    pub p95_ms: f64,
}

/// An estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EstimatePoint {
    /// When it was made, in seconds of virtual time.
    #[serde(rename = "t")]
    pub t_s: f64,
    /// The value.
    pub available_bps: u64,
    /// Lower end of its 95 % interval.
    pub low_bps: u64,
    /// Upper end of its 95 % interval.
    pub high_bps: u64,
    /// It is an average over so many seconds, up to `t_s`.
    pub window_s: f64,
    /// The flags that qualify it.
    pub flags: Vec<&'static str>,
}

/// A score as it is written.
pub(super) fn written(score: Score) -> Score {
    let settle_s = score.settle_s.into_iter();
    Score {
        mare: score.mare.map(rounded),
        bias: score.bias.map(rounded),
        coverage95: score.coverage95.map(rounded),
        settle_s: settle_s.map(|settle| settle.map(rounded)).collect(),
        scored: score.scored,
        longest_gap_s: score.longest_gap_s.map(rounded),
    }
}

impl FlowResult {
    pub(super) fn of(simulation: &Simulation<'_>, flow: FlowId) -> Self {
        let settings = &simulation.scenario().flows[flow.0];
        let pair = &simulation.pairs()[flow.0];
        let account = pair.account().unwrap_or_default();
        let reference = reference(simulation, flow);
        let events = pair.tap().take();
        let (statistical, classic) = (
            series(&events, EstimatorKind::Statistical),
            series(&events, EstimatorKind::Classic),
        );
        let is_to_measure =
            settings.controller == Controller::Imtcp && settings.imtcp.measurement();
        let measures = is_to_measure || learnt::measures(&events);
        let steps = reference.steps.iter();
        let estimates: Vec<EstimatePoint> = statistical.iter().map(point).collect();
        let snapshots = simulation.record().of(flow.0).to_vec();
        Self {
            name: settings.name.clone(),
            group: settings.group.clone(),
            controller: settings.controller.name(),
            goodput_bps: goodput(pair, &reference),
            sent_packets: account.sent_packets,
            sent_bytes: account.sent_bytes,
            lost_packets: account.lost_packets,
            retransmitted_bytes: account.retransmitted_bytes,
            rtt_ms: round_trips(pair),
            score: written(score(&samples(&statistical), &reference)),
            score_classic: written(score(&samples(&classic), &reference)),
            estimates_classic: classic.iter().map(point).collect(),
            steps_s: steps.map(|at| rounded(at.as_secs_f64())).collect(),
            grid: learnt::grid(simulation, flow, &events, &reference, SECOND),
            grid_half_second: learnt::grid(simulation, flow, &events, &reference, HALF_SECOND),
            read: match learnt::measures(&events) {
                true => Read::of(&estimates, &[], &reference),
                false => Read::of(&[], &snapshots, &reference),
            },
            estimates,
            flagged: Flagged::of(&statistical),
            pauses: match measures {
                true => Pauses::of(&events, &reference, round_trips(pair), Heard::Anything),
                false => None,
            },
            results: match measures {
                true => Pauses::of(&events, &reference, round_trips(pair), Heard::Results),
                false => None,
            },
            highest_said_bps: learnt::highest_said(&events),
            share_of_left: usage::share_of_left(simulation, flow, reference.life),
            measuring: Measuring::of(&events),
            promise: PromiseResult::of(simulation, flow, &events),
            observed: observed::of(simulation.record().observed(flow.0), &events, &reference),
            told: match settings.controller.stack() {
                Stack::Quiche => Vec::new(),
                Stack::Quinn | Stack::Noq => observed::told(&snapshots),
            },
            acknowledgement_datagrams: pair.delivery().acknowledgements,
            completed_s: pair
                .delivery()
                .completed
                .map(|at| rounded(at.as_secs_f64())),
            burst_delay_p95_ms: quantile_of_sorted(&pair.burst_delays(), 0.95)
                .map(|delay| rounded(delay * 1e3)),
            ended: ended(pair, settings.stop),
            reference,
            snapshots,
            events,
        }
    }
}

impl FlowResult {
    /// The lower end of the interval over time. A lower bound counts, and it is zero where nothing
    /// is said.
    pub(super) fn floors(&self) -> Vec<Floor> {
        let floor = |said: &Said| match said.event {
            Event::EstimateUpdated {
                estimator: EstimatorKind::Statistical,
                estimate,
            } => Some((said.now, estimate.low.as_bps_f64())),
            Event::EstimateWithdrawn { .. } => Some((said.now, 0.0)),
            _ => None,
        };
        self.events.iter().filter_map(floor).collect()
    }
}

fn reference(simulation: &Simulation<'_>, flow: FlowId) -> Reference {
    let nominal = Nominal::new(simulation.scenario(), flow);
    let (nominally, end) = nominal.life();
    let begun = |flow: FlowId| simulation.pairs()[flow.0].started();
    let life = (begun(flow).unwrap_or(nominally), end);
    let (tight, _) = nominal.available(life.0);
    Reference {
        truth: truth::available(simulation, flow),
        life,
        steps: nominal.steps_begun(begun),
        seen_after: simulation.network().delay_since_crossing(flow, tight),
        least_truth_bps: nominal.capacity(life.0).as_bps_f64() * LEAST_SHARE,
    }
}

fn goodput(pair: &Pair, reference: &Reference) -> u64 {
    let (start, stop) = reference.life;
    let end = pair.delivery().completed.unwrap_or(stop);
    let life = end.saturating_since(start).as_nanos().max(1);
    let bits = u128::from(pair.delivery().bytes) * 8 * 1_000_000_000;
    u64::try_from(bits / life).unwrap_or(u64::MAX)
}

fn round_trips(pair: &Pair) -> Option<RoundTrips> {
    let quantiles = pair.delivery().round_trip_quantiles([0.0, 0.5, 0.95])?;
    let [min_ms, p50_ms, p95_ms] = quantiles.map(|q: Duration| rounded(q.as_secs_f64() * 1e3));
    Some(RoundTrips {
        min_ms,
        p50_ms,
        p95_ms,
    })
}

/// A server that is to stop ends its connection by design, unless that has timed out before.
fn ended(pair: &Pair, stop: Option<Timestamp>) -> Option<String> {
    let ended = pair.ended()?;
    (stop.is_none() || ended == TIMED_OUT).then_some(ended)
}

/// An estimate with its time in virtual time.
pub(super) type Timed = (Timestamp, imtcp_cc::Estimate);

fn series(events: &[Said], wanted: EstimatorKind) -> Vec<Timed> {
    let estimate = |said: &Said| match said.event {
        Event::EstimateUpdated {
            estimator,
            estimate,
        } if estimator == wanted && !estimate.flags.lower_bound => {
            Some((said.virtual_time(estimate.at), estimate))
        }
        _ => None,
    };
    events.iter().filter_map(estimate).collect()
}

fn samples(series: &[Timed]) -> Vec<Sample> {
    let sample = |(at, estimate): &Timed| Sample {
        at: *at,
        available_bps: estimate.available.as_bps_f64(),
        low_bps: estimate.low.as_bps_f64(),
        high_bps: estimate.high.as_bps_f64(),
        window: estimate.window,
    };
    series.iter().map(sample).collect()
}

fn point((at, estimate): &Timed) -> EstimatePoint {
    EstimatePoint {
        t_s: at.as_secs_f64(),
        available_bps: estimate.available.as_bps(),
        low_bps: estimate.low.as_bps(),
        high_bps: estimate.high.as_bps(),
        window_s: estimate.window.as_secs_f64(),
        flags: estimate.flags.names().collect(),
    }
}
