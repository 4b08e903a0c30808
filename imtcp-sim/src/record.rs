//! The state of the flows, sampled at even intervals and at the end of the run.

use crate::endpoint::Pair;
use baselines::estimators::Kind;
use baselines::observe::Watched;
use imtcp_cc::BulkShare;
use imtcp_cc::units::{Bandwidth, Timestamp};

/// All samples, by flow.
#[derive(Clone, Debug)]
pub struct Record {
    flows: Vec<Vec<Snapshot>>,
    observed: Vec<Vec<Observation>>,
}

/// What the estimators that watch a flow say at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// When.
    pub at: Timestamp,
    /// Their estimates in bit/s of IP packets.
    pub estimates: Vec<(Kind, Option<Bandwidth>)>,
}

/// The state of a flow at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snapshot {
    /// When it was taken.
    pub at: Timestamp,
    /// Congestion window in bytes of UDP payload.
    pub window: u64,
    /// The server's smoothed round-trip time in milliseconds.
    pub smoothed_rtt_ms: f64,
    /// Application bytes that the client has read.
    pub delivered: u64,
    /// Packets that the server has declared lost.
    pub lost: u64,
    /// What the server's stack tells of the path's bandwidth in bit/s, if anything. quiche tells
    /// the most of its model (BBRv2), or else its latest delivery rate.
    pub told_bps: Option<u64>,
    /// What this project's controller says that a bulk transfer would get.
    pub share: Option<BulkShare>,
}

impl Record {
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            flows: vec![Vec::new(); flows],
            observed: vec![Vec::new(); flows],
        }
    }

    /// Samples a flow whose server has a connection.
    pub(crate) fn sample(&mut self, flow: usize, at: Timestamp, pair: &Pair) {
        let snapshot = pair.account().map(|account| Snapshot {
            at,
            window: account.window,
            smoothed_rtt_ms: account.smoothed_rtt.as_secs_f64() * 1e3,
            delivered: pair.delivery().bytes,
            lost: account.lost_packets,
            told_bps: account.told_bps,
            share: pair.promise().and_then(|promise| promise.share()),
        });
        self.flows[flow].extend(snapshot);
        let watched = pair
            .server()
            .and_then(|server| server.congestion_controller::<Watched>());
        self.observed[flow].extend(watched.map(|watched| Observation {
            at,
            estimates: watched.estimates().collect(),
        }));
    }

    /// What was observed of a flow, in order of time; nothing where nobody watched.
    pub fn observed(&self, flow: usize) -> &[Observation] {
        &self.observed[flow]
    }

    /// What a flow's client had read at an instant, in bytes, interpolated between samples.
    pub fn delivered_at(&self, flow: usize, when: Timestamp) -> f64 {
        let samples = self.of(flow);
        let later = samples.partition_point(|sample| sample.at <= when);
        let before = later.checked_sub(1).map(|index| &samples[index]);
        match (before, samples.get(later)) {
            (Some(a), Some(b)) => {
                let passed = when.saturating_since(a.at).as_secs_f64();
                let share = passed / b.at.saturating_since(a.at).as_secs_f64().max(1e-9);
                a.delivered as f64 + share * (b.delivered - a.delivered) as f64
            }
            (Some(last), None) => last.delivered as f64,
            (None, _) => 0.0,
        }
    }

    /// The samples of a flow, in order of time.
    pub fn of(&self, flow: usize) -> &[Snapshot] {
        &self.flows[flow]
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;
    use crate::simulation::Simulation;
    use imtcp_cc::units::Timestamp;

    /// Nothing was sampled at the end, so nobody had read anything in the last tenth of a second.
    #[test]
    fn what_was_read_until_the_end_is_recorded_once() {
        for duration in ["2 s", "2050 ms"] {
            let text = format!(
                "name = \"t\"\ntitle = \"t\"\nduration = \"{duration}\"\n[[link]]\nname = \"l\"\n\
                 rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"20 KB\"\n[[flow]]\n\
                 name = \"main\"\ncontroller = \"reno\"\napplication = {{ kind = \"bulk\" }}\n"
            );
            let scenario = Scenario::parse("t.toml", &text, &[]).expect("it is valid");
            let mut simulation = Simulation::new(&scenario, 1).expect("it can be set up");
            let end = scenario.end();
            assert!(!simulation.advance(end) && !simulation.advance(end));
            let all = simulation.pairs()[0].delivery().bytes as f64;
            let read = |when| simulation.record().delivered_at(0, when);
            assert_eq!(read(end), all);
            let before = Timestamp::from_nanos(end.as_nanos() - 20_000_000);
            assert!(read(before) < all, "{}", read(before));
            let samples = simulation.record().of(0);
            let times = samples.iter().filter(|sample| sample.at == end);
            assert_eq!(times.count(), 1);
        }
    }
}
