//! A path that was drawn.

use super::ground::{Client, Ground};
use super::source::{Source, whole};
use crate::scenario::{Scenario, ScenarioError};
use imtcp_cc::units::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// The kind of a queue that nobody manages.
pub(super) const DROP_TAIL: &str = "drop-tail";
/// That of one in which each flow has its share.
pub(super) const FAIR: &str = "fq-codel";

/// A scenario as a seed drew it. Its first flow, `main`, is the one that is looked at.
#[derive(Clone, Debug)]
pub struct Path {
    /// The scenario file, to be run by itself.
    pub text: String,
    /// When the path changes.
    pub steps: Vec<Timestamp>,
    /// What was drawn, for lists.
    pub facts: Facts,
}

/// A token bucket as it was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tokens {
    /// As scenarios name it.
    pub kind: &'static str,
    /// The rate of bursts.
    pub line_mbps: f64,
    /// The size of the bucket.
    pub bucket_bytes: f64,
}

/// What was drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// The link's rate from the start and from each step on. With a token bucket it is the rate
    /// after the bucket.
    pub capacity_mbps: Vec<f64>,
    /// What is left beside inelastic cross traffic, likewise.
    pub left_mbps: Vec<f64>,
    /// Propagation there and back.
    pub rtt_ms: f64,
    /// The bound of the queue.
    pub queue_bytes: f64,
    /// The same in bandwidth-delay products of the beginning.
    pub queue_bdp: f64,
    /// How the queue is managed.
    pub queue_kind: &'static str,
    /// The token bucket, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What the capacity follows, where it varies all the time: its numbers are then the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// What the flow sends, in words.
    pub sends: String,
    /// What the flow sends, as scenarios write it.
    pub application: String,
    /// The application has always more to send.
    pub bulk: bool,
    /// Cross traffic.
    pub cross: &'static str,
    /// The other flows' controllers.
    pub rivals: Vec<&'static str>,
    /// Whether the client offers the acknowledgement-frequency extension.
    pub ack_frequency: bool,
    /// Whether the client tells when packets arrived.
    pub receive_timestamps: bool,
    /// The client acknowledges every so many packets.
    pub acknowledge: u32,
    /// How long the run lasts.
    pub duration_s: f64,
}

impl Path {
    /// One link of constant rate, with nobody beside. `sender` holds further lines of the flow.
    pub(super) fn alone(
        name: &str,
        ground: &Ground,
        source: &Source,
        client: &Client,
        sender: &str,
    ) -> Result<Self, ScenarioError> {
        let queue = format!("\"{} B\"", whole(ground.queue_bytes()));
        let link = ground.link(ground.rtt_ms, &queue);
        Self::over(name, &link, ground, (source, client, sender))
    }

    /// The same over `links`, of which one is the ground's.
    pub(super) fn over(
        name: &str,
        links: &str,
        ground: &Ground,
        (source, client, sender): (&Source, &Client, &str),
    ) -> Result<Self, ScenarioError> {
        let duration_s = ground.duration_s(source, false);
        let text = format!(
            "name = \"{name}\"\ntitle = \"drawn\"\nduration = \"{duration_s:.3} s\"\n\
             {links}{}{}",
            ground.cross.text(),
            client.main(source, sender),
        );
        Scenario::parse(&format!("{name}.toml"), &text, &[])?;
        Ok(Self {
            text,
            steps: Vec::new(),
            facts: Facts::of(ground, source, client, duration_s),
        })
    }
}

impl Facts {
    /// Of a path with a link of constant rate and nobody beside.
    pub(super) fn of(ground: &Ground, source: &Source, client: &Client, duration_s: f64) -> Self {
        Self {
            capacity_mbps: vec![ground.capacity_mbps],
            left_mbps: vec![ground.left_mbps()],
            rtt_ms: ground.rtt_ms,
            queue_bytes: ground.queue_bytes(),
            queue_bdp: ground.queue_bdp,
            queue_kind: DROP_TAIL,
            tokens: None,
            follows: None,
            sends: source.words.clone(),
            application: source.text.clone(),
            bulk: source.mbps.is_none(),
            cross: ground.cross.kind,
            rivals: Vec::new(),
            ack_frequency: client.ack_frequency,
            receive_timestamps: client.receive_timestamps,
            acknowledge: client.acknowledge,
            duration_s,
        }
    }

    /// About how much data of flows the link carries, in megabits.
    pub(super) fn carried_megabits(&self) -> f64 {
        let mean = self.left_mbps.iter().sum::<f64>() / self.left_mbps.len() as f64;
        mean * self.duration_s
    }

    /// Each kind of rival with its number.
    pub fn rivals_in_words(&self) -> String {
        let mut kinds: Vec<(&str, u32)> = Vec::new();
        for rival in &self.rivals {
            match kinds.iter_mut().find(|(kind, _)| kind == rival) {
                Some((_, count)) => *count += 1,
                None => kinds.push((rival, 1)),
            }
        }
        let words = kinds.iter().map(|(kind, count)| match count {
            1 => (*kind).to_owned(),
            count => format!("{count} {kind}"),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// The path, and what the flow sends beside whom, for tables.
    pub fn in_words(&self) -> [String; 2] {
        let capacities = self.capacity_mbps.iter().zip(&self.left_mbps);
        let phases = capacities.map(|(capacity, left)| match self.cross {
            "none" => format!("{capacity:.1}"),
            _ => format!("{left:.1}/{capacity:.1}"),
        });
        let phases = phases.collect::<Vec<_>>().join(" > ");
        let queue = match self.queue_kind {
            DROP_TAIL => String::new(),
            managed => format!(" of {managed}"),
        };
        let tokens = self.tokens.map_or(String::new(), |tokens| {
            let (kind, line) = (tokens.kind, tokens.line_mbps);
            let kilobytes = tokens.bucket_bytes / 1e3;
            format!(", {kind} of {kilobytes:.0} KB at {line:.1} Mbit/s")
        });
        let follows = self.follows.as_ref();
        let follows = follows.map_or(String::new(), |what| format!(", {what}"));
        let path = format!(
            "{phases} Mbit/s, {}, {:.0} ms, {:.1} BDP{queue}{tokens}{follows}",
            self.cross, self.rtt_ms, self.queue_bdp
        );
        let beside = match &self.rivals[..] {
            [] => String::new(),
            _ => format!(" beside {}", self.rivals_in_words()),
        };
        let extensions = match (self.ack_frequency, self.receive_timestamps) {
            (false, false) => "",
            (true, false) => ", ack frequency",
            (false, true) => ", receive times",
            (true, true) => ", both extensions",
        };
        [path, format!("{}{beside}{extensions}", self.sends)]
    }
}

impl Path {
    /// The scenario with some keys changed.
    ///
    /// # Errors
    /// A key or value is wrong.
    pub fn scenario(&self, overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let overrides: Vec<_> = overrides.iter().map(owned).collect();
        Scenario::parse("drawn.toml", &self.text, &overrides)
    }

    /// Propagation there and back.
    pub fn round_trip(&self) -> Duration {
        Duration::from_secs_f64(self.facts.rtt_ms / 1e3)
    }
}
