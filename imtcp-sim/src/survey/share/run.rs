//! A path, what several readers say of a bulk transfer on it, and what one gets.

use super::super::compare::Failure;
use super::super::path::{Facts, Path};
use crate::endpoint::Said;
use crate::network::FlowId;
use crate::record::{Record, Snapshot};
use crate::simulation::Simulation;
use imtcp_cc::EstimatorKind;
use imtcp_cc::event::Event;
use imtcp_cc::units::Timestamp;
use serde::{Serialize, Serializer};
use std::time::Duration;

/// The flow that is looked at: the path's first.
const MAIN: FlowId = FlowId(0);
/// What a bulk transfer gets is its mean from this long before an instant to this long after it.
/// A chunk of video takes about as long, and so does a swing of CUBIC.
const AROUND: Duration = Duration::from_secs(2);
/// The connection's first second does not count.
const BEGINNING: Duration = Duration::from_secs(1);

/// Who says what a bulk transfer would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// This project's controller ([`imtcp_cc::promise::Promise::share`]).
    Share,
    /// What is available, as this project's estimator says it.
    Available,
    /// Congestion window over smoothed round trip.
    Window,
    /// The flow's delivery rate, as quiche measures it.
    Delivery,
    /// The bandwidth that quiche's BBRv2 takes the path for, in the place of the flow.
    Bbr2,
}

impl Reader {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Share,
        Self::Available,
        Self::Window,
        Self::Delivery,
        Self::Bbr2,
    ];

    /// Its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Available => "available",
            Self::Window => "cwnd/srtt",
            Self::Delivery => "delivery",
            Self::Bbr2 => "bbr2",
        }
    }
}

impl Serialize for Reader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A path, and what was read on it.
#[derive(Clone, Debug, Serialize)]
pub struct Shared {
    /// The seed that drew it, and with which it was run.
    pub seed: u64,
    /// What was drawn.
    pub facts: Facts,
    /// What was read, in order of time.
    pub instants: Vec<Instant>,
}

/// One instant of a path. Rates are in bit/s of IP packets.
#[derive(Clone, Debug, Serialize)]
pub struct Instant {
    /// When, in seconds.
    pub at_s: f64,
    /// What a bulk transfer gets around it.
    pub truth_bps: f64,
    /// What each reader of [`Reader::ALL`] says; none while it says nothing.
    pub values_bps: [Option<f64>; Reader::ALL.len()],
    /// The interval of [`Reader::Share`].
    pub interval_bps: Option<[f64; 2]>,
    /// What [`Reader::Share`] rests on.
    pub basis: Option<&'static str>,
}

/// Runs a path with its seed, with the source that was drawn and with bulk.
///
/// # Errors
/// A flow cannot be set up.
pub fn run(path: &Path, seed: u64) -> Result<Shared, Failure> {
    let bulk = [("flow.main.application", "{ kind = \"bulk\" }")];
    let bbr2 = [("flow.main.controller", "bbr2")];
    let (own, bulk, bbr2) = (
        observe(path, seed, &[])?,
        observe(path, seed, &bulk)?,
        observe(path, seed, &bbr2)?,
    );
    Ok(Shared {
        seed,
        facts: path.facts.clone(),
        instants: own.against(&bulk, &bbr2),
    })
}

/// A run that is over.
struct Observed {
    said: Vec<Said>,
    record: Record,
    /// IP packets in UDP payload, and in what the client reads.
    in_payload: f64,
    in_read: f64,
    end: Timestamp,
}

fn observe(path: &Path, seed: u64, overrides: &[(&str, &str)]) -> Result<Observed, Failure> {
    let scenario = path.scenario(overrides)?;
    let mut simulation = Simulation::new(&scenario, seed)?;
    simulation.advance(scenario.end());
    let flow = &scenario.flows[MAIN.0];
    let (packet, headers) = (flow.packet.as_f64(), flow.imtcp.header_overhead().as_f64());
    let quic = flow.imtcp.packet_overhead().as_f64();
    let pair = &simulation.pairs()[MAIN.0];
    Ok(Observed {
        said: pair.tap().take(),
        record: simulation.record().clone(),
        in_payload: (packet + headers) / packet,
        in_read: (packet + headers) / (packet - quic),
        end: pair.delivery().completed.unwrap_or(scenario.end()),
    })
}

impl Observed {
    fn snapshots(&self) -> &[Snapshot] {
        self.record.of(MAIN.0)
    }

    /// What is read in this run, against what a bulk transfer gets in that one.
    fn against(&self, bulk: &Self, bbr2: &Self) -> Vec<Instant> {
        let Some(start) = self.snapshots().first().map(|snapshot| snapshot.at) else {
            return Vec::new();
        };
        let (first, end) = (
            (start + BEGINNING).max(start + AROUND),
            self.end.min(bulk.end),
        );
        let counts = |snapshot: &&Snapshot| snapshot.at >= first && snapshot.at + AROUND <= end;
        let snapshots = self.snapshots().iter().filter(counts);
        snapshots
            .map(|snapshot| self.instant(snapshot, bulk, bbr2))
            .collect()
    }

    fn instant(&self, snapshot: &Snapshot, bulk: &Self, bbr2: &Self) -> Instant {
        let at = snapshot.at;
        let window_s = (snapshot.smoothed_rtt_ms / 1e3).max(1e-9);
        let share = snapshot.share;
        let told = |run: &Self, told: Option<u64>| told.map(|bps| bps as f64 * run.in_payload);
        Instant {
            at_s: at.as_secs_f64(),
            truth_bps: bulk.got(at),
            values_bps: Reader::ALL.map(|reader| match reader {
                Reader::Share => share.map(|share| share.rate.as_bps_f64()),
                Reader::Available => self.available(at),
                Reader::Window => Some(snapshot.window as f64 * 8.0 / window_s * self.in_payload),
                Reader::Delivery => told(self, snapshot.told_bps),
                Reader::Bbr2 => told(bbr2, bbr2.at(at)?.told_bps),
            }),
            interval_bps: share.map(|share| [share.low, share.high].map(|it| it.as_bps_f64())),
            basis: share.map(|share| share.basis.name()),
        }
    }

    /// The newest sample of an instant.
    fn at(&self, at: Timestamp) -> Option<&Snapshot> {
        let later = self
            .snapshots()
            .partition_point(|snapshot| snapshot.at <= at);
        self.snapshots().get(later.checked_sub(1)?)
    }

    /// What the flow got around an instant.
    fn got(&self, at: Timestamp) -> f64 {
        let bytes = |when| self.record.delivered_at(MAIN.0, when);
        let bits = (bytes(at + AROUND) - bytes(at - AROUND)) * 8.0;
        bits / (2.0 * AROUND.as_secs_f64()) * self.in_read
    }

    /// The estimate or lower bound of an instant.
    fn available(&self, at: Timestamp) -> Option<f64> {
        let told = self.said.iter().filter(|said| said.now <= at);
        let newest = told.rev().find_map(|said| match said.event {
            Event::EstimateUpdated {
                estimator: EstimatorKind::Statistical,
                estimate,
            } => Some(Some(estimate.available.as_bps_f64())),
            Event::EstimateWithdrawn {
                estimator: EstimatorKind::Statistical,
            } => Some(None),
            _ => None,
        });
        newest.flatten()
    }
}
