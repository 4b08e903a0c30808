//! One required rate, in every dialect: what a request says of the rate that it needs becomes a
//! [`RequiredRate`], and all of a connection's together become its promise ([`Claims`]).
//!
//! | Dialect | Said by | Becomes |
//! |---|---|---|
//! | `imtcp-required-rate: 8 Mbit/s per 2 s` | whoever writes the client | the same |
//! | `priority: u=3, r=4500` | a client that knows the draft | exactly 4.5 Mbit/s |
//! | CMCD | a player | see [`Policy::of_player`] |
//! | a rule by path | the operator | the same |
//!
//! The first in this order that says something counts: the closer to the request, the more it
//! knows of what the request is for.

mod claims;
mod cmcd;
mod ladder;
mod priority;
mod setting;

pub use claims::{Claims, Climbing, Key};
pub use cmcd::{Cmcd, Malformed, ObjectKind};
pub use ladder::{LONGEST_MANIFEST, Ladder, may_be_manifest};
pub use setting::{FIELD as REQUIRED_RATE_FIELD, Rules};

use http::HeaderMap;
use imtcp_cc::promise::{Demand, Requirement};
use imtcp_cc::units::Bandwidth;
use std::time::Duration;
use tokio_quiche::quiche::h3::Priority;

/// What a segment has beyond its declared bit rate: containers, HTTP, and segments that are larger
/// than the mean. Manifests declare peaks (CTA-5004), so this need not cover those.
pub(crate) const HEADROOM: f64 = 1.1;

/// The share of the throughput that they see by which players choose their bit rate. FESTIVE takes
/// this one, and so does shaka-player to climb (`bandwidthUpgradeTarget`); dash.js takes 0.9.
const USED: f64 = 0.85;

/// What a player has to see, in bit rates. Of the time of a segment that it sees, the headroom has
/// the round trip of the request, too.
const SEEN: f64 = HEADROOM / USED;

/// How much faster than it plays an object is required at most, for a player that waits for it. A
/// segment of 4 s is there after 2 s then.
const FASTEST: f64 = 2.0;

/// How many objects lie in a comfortable buffer.
const COMFORTABLE: u32 = 2;

/// A rate that one request, or one kind of a player's requests, needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequiredRate {
    /// What is required.
    pub requirement: Requirement,
    /// Whose it is. A later one with the same key takes its place.
    pub key: Key,
    /// What takes a player to the next higher quality, if it can use one.
    pub ahead: Option<Ahead>,
}

/// What takes a player to the next higher quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The bit rate there, in kbit/s.
    pub bitrate_kbps: u64,
    /// What it has to see there.
    pub least: Bandwidth,
    /// What takes it there soon. Players go by a mean of what they have seen, so this is as far
    /// above the least as their mean (`mtp`) is below it.
    pub rate: Bandwidth,
}

/// What the operator allows and prefers.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The period over which rates of clients are means, where the dialect has none.
    pub period: Duration,
    /// The highest rate that a request may require, whoever says so. It gets this one if more is
    /// asked for.
    pub most: Bandwidth,
    /// Whether a player with a comfortable buffer gets no more than it needs. Its choice of quality
    /// has to go by CMSD then, because what it measures itself is what it asked for.
    pub steady: bool,
    /// Rates by path.
    pub rules: Rules,
}

/// What a request said, understood or not.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// The rate, if it said one.
    pub rate: Option<RequiredRate>,
    /// In which order its answer goes, beside others of its connection, if it said so.
    pub order: Option<Priority>,
    /// Whether it is a background task: nobody waits for it, and it names no rate.
    pub is_background: bool,
    /// CMCD, if there was any.
    pub cmcd: Option<Cmcd>,
    /// What could not be understood, for the log.
    pub complaints: Vec<String>,
}

/// The parts of a request that may name a rate.
#[derive(Clone, Copy, Debug)]
pub struct Said<'r> {
    /// The request's stream.
    pub stream: u64,
    /// Its path as it came, without the query.
    pub path: &'r str,
    /// Its query.
    pub query: Option<&'r str>,
    /// Its header fields.
    pub fields: &'r HeaderMap,
    /// What a PRIORITY_UPDATE frame said, which overrules the field.
    pub priority_update: Option<&'r [u8]>,
    /// What is known of the bit rates of the title.
    pub ladder: &'r Ladder,
}

impl<'r> Said<'r> {
    /// The priority, from the frame or else from the field.
    fn priority(&self) -> Option<&'r [u8]> {
        let field = self.fields.get("priority").map(|value| value.as_bytes());
        self.priority_update.or(field)
    }
}

impl Policy {
    /// Listens to all dialects.
    pub fn hear(&self, said: &Said<'_>) -> Heard {
        let mut heard = Heard::default();
        match Cmcd::of_request(said.fields, said.query) {
            Ok(cmcd) => heard.cmcd = cmcd,
            Err(malformed) => heard.complaints.push(malformed.to_string()),
        }
        let by_field = setting::of_request(said.fields).unwrap_or_else(|error| {
            heard.complaints.push(error);
            None
        });
        let of_stream = |requirement| self.bounded(requirement, Key::Stream(said.stream));
        let by_path = || {
            let (number, requirement) = self.rules.find(said.path)?;
            self.bounded(requirement, Key::Rule(number))
        };
        heard.rate = by_field
            .and_then(of_stream)
            .or_else(|| of_stream(self.by_priority(said)?))
            .or_else(|| self.of_player(heard.cmcd.as_ref()?, said.ladder))
            .or_else(by_path);
        let priority = said.priority();
        heard.order = priority.and_then(priority::order);
        heard.is_background = heard.rate.is_none() && priority.is_some_and(priority::is_background);
        heard
    }

    /// What a client has no use for more than, it wants exactly.
    fn by_priority(&self, said: &Said<'_>) -> Option<Requirement> {
        let rate = priority::required_rate(said.priority()?)?;
        let requirement = Requirement::new(rate.min(self.most), self.period).ok()?;
        Some(requirement.demand(Demand::Exactly))
    }

    /// What a player needs, by its CMCD:
    ///
    /// - `br`, a tenth for what `br` does not count, and of that by what share of what they see
    ///   players choose ([`USED`]): with less they do not stay;
    /// - up to twice that for a player that waits (`su`, `bs`), or whose buffer (`bl`) is shorter
    ///   than the object (`d`, or the period if it is not told);
    /// - never more than it calls sufficient (`rtp`). Without `br`, exactly `rtp`;
    /// - exactly `br` and the tenth, if the operator prefers so and the
    ///   buffer is comfortable;
    /// - ahead of that, what the next higher bit rate takes, if the buffer holds an object;
    /// - nothing for manifests, captions and keys.
    pub fn of_player(&self, cmcd: &Cmcd, ladder: &Ladder) -> Option<RequiredRate> {
        if cmcd.kind == ObjectKind::Other {
            return None;
        }
        let sufficient = cmcd.sufficient_kbps.map(Bandwidth::from_kbps);
        let (rate, demand) = match cmcd.bitrate_kbps {
            Some(bitrate) => {
                let demand = self.demand(cmcd);
                let factor = match demand {
                    Demand::Exactly => HEADROOM,
                    _ => (HEADROOM * self.hurry(cmcd)).max(SEEN),
                };
                let needed = Bandwidth::from_kbps(bitrate).scaled(factor);
                let rate = sufficient.map_or(needed, |most| most.min(needed));
                (rate, demand)
            }
            None => (sufficient?, Demand::Exactly),
        };
        let requirement = Requirement::new(rate, self.period).ok()?;
        let bounded = self.bounded(requirement.demand(demand), Key::Player(cmcd.kind))?;
        let most = sufficient.map_or(self.most, |most| most.min(self.most));
        let ahead = self
            .ahead(cmcd, ladder)
            .filter(|ahead| demand == Demand::AtLeast && ahead.least > rate && ahead.least <= most);
        let ahead = ahead.map(|ahead| Ahead {
            rate: ahead.rate.min(most),
            ..ahead
        });
        Some(RequiredRate { ahead, ..bounded })
    }

    /// What the player has to see to take the next higher bit rate. One that is in a hurry, because
    /// its buffer holds less than an object, has to stay first.
    fn ahead(&self, cmcd: &Cmcd, ladder: &Ladder) -> Option<Ahead> {
        let bitrate_kbps = ladder.above(cmcd)?;
        let has_an_object = cmcd.buffer.is_some_and(|level| level >= self.object(cmcd));
        let is_calm = has_an_object && !cmcd.startup && !cmcd.starved;
        let least = Bandwidth::from_kbps(bitrate_kbps).scaled(SEEN);
        let mean = cmcd.measured_kbps.map_or(least, Bandwidth::from_kbps);
        is_calm.then(|| Ahead {
            bitrate_kbps,
            least,
            rate: least.saturating_add(least.saturating_sub(mean)),
        })
    }

    fn object(&self, cmcd: &Cmcd) -> Duration {
        let told = cmcd.duration.filter(|duration| !duration.is_zero());
        told.unwrap_or(self.period)
    }

    fn hurry(&self, cmcd: &Cmcd) -> f64 {
        if cmcd.startup || cmcd.starved {
            return FASTEST;
        }
        match cmcd.buffer {
            Some(buffer) if !buffer.is_zero() => {
                let ratio = self.object(cmcd).as_secs_f64() / buffer.as_secs_f64();
                ratio.clamp(1.0, FASTEST)
            }
            Some(_) => FASTEST,
            None => 1.0,
        }
    }

    fn demand(&self, cmcd: &Cmcd) -> Demand {
        let enough = self.object(cmcd) * COMFORTABLE;
        let is_comfortable = cmcd.buffer.is_some_and(|buffer| buffer >= enough);
        match self.steady && is_comfortable && !cmcd.startup && !cmcd.starved {
            true => Demand::Exactly,
            false => Demand::AtLeast,
        }
    }

    fn bounded(&self, requirement: Requirement, key: Key) -> Option<RequiredRate> {
        let rate = requirement.rate().min(self.most);
        let bounded = Requirement::new(rate, requirement.per()).ok()?;
        let bounded = bounded.demand(requirement.wanted());
        Some(RequiredRate::new(bounded, key))
    }
}

impl RequiredRate {
    /// A rate with nothing ahead of it.
    pub fn new(requirement: Requirement, key: Key) -> Self {
        Self {
            requirement,
            key,
            ahead: None,
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
