//! What the requests of a connection require together.
//!
//! A promise belongs to a connection. A player fetches video and audio side by side and in turn
//! over one, and needs both rates all the time. So a player's rates stay for a while after a
//! request, and are added up. If they were withdrawn after each segment, no slot would ever end.

use super::{Ahead, ObjectKind, RequiredRate};
use imtcp_cc::promise::{Demand, Requirement};
use imtcp_cc::units::Bandwidth;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a rate is required after the last request that needed it. Players with full buffers
/// pause for the length of some segments.
const LINGER: Duration = Duration::from_secs(20);

/// Whose a rate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The operator's, for every connection. It never ends.
    Server,
    /// One request's; it ends with the request.
    Stream(u64),
    /// A player's, for objects of a kind.
    Player(ObjectKind),
    /// Of the paths under a rule.
    Rule(usize),
}

impl Key {
    fn lingers(self) -> bool {
        matches!(self, Self::Player(_) | Self::Rule(_))
    }
}

/// The rates of one connection. There are never more than its open streams, the kinds of objects
/// and the rules.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    by_key: BTreeMap<Key, Claim>,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    requirement: Requirement,
    ahead: Option<Ahead>,
    /// Requests that are being answered.
    active: u32,
    /// When there was last one.
    last: Instant,
}

/// What takes all players of a connection to the next higher quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Climbing {
    /// By this one climb is told from another: the bit rates there, added up.
    pub rungs: u64,
    /// With less there is no climbing.
    pub least: Bandwidth,
    /// What takes them there soon.
    pub requirement: Requirement,
}

impl Claims {
    /// A request that needs this rate begins.
    pub fn begin(&mut self, rate: RequiredRate, now: Instant) {
        let claim = self.by_key.entry(rate.key).or_insert(Claim {
            requirement: rate.requirement,
            ahead: rate.ahead,
            active: 0,
            last: now,
        });
        claim.requirement = rate.requirement;
        claim.ahead = rate.ahead;
        claim.active += 1;
        claim.last = now;
    }

    /// It ends. Each beginning has one end.
    pub fn end(&mut self, key: Key, now: Instant) {
        if let Some(claim) = self.by_key.get_mut(&key) {
            claim.active = claim.active.saturating_sub(1);
            claim.last = now;
            if claim.active == 0 && !key.lingers() {
                self.by_key.remove(&key);
            }
        }
    }

    /// Drops what nobody has needed for a while. Returns when to look again.
    pub fn expire(&mut self, now: Instant) -> Option<Instant> {
        self.by_key
            .retain(|_, claim| claim.active > 0 || now < claim.last + LINGER);
        let idle = self.by_key.values().filter(|claim| claim.active == 0);
        idle.map(|claim| claim.last + LINGER).min()
    }

    /// All of them as one: the sum of the rates over the shortest period. More than that is welcome
    /// if it is to one of them.
    pub fn total(&self) -> Option<Requirement> {
        self.sum(|claim| claim.requirement.rate())
    }

    /// The same with the rates that take players to the next higher quality. `None` if there is
    /// none.
    pub fn ahead(&self) -> Option<Climbing> {
        let rungs = self.by_key.values().filter_map(|claim| claim.ahead);
        let rungs: u64 = rungs.map(|ahead| ahead.bitrate_kbps).sum();
        let least = |claim: &Claim| {
            let ahead = claim.ahead.map(|ahead| ahead.least);
            ahead.unwrap_or(claim.requirement.rate())
        };
        let rate = |claim: &Claim| {
            let ahead = claim.ahead.map(|ahead| ahead.rate);
            ahead.unwrap_or(claim.requirement.rate())
        };
        let climbing = Climbing {
            rungs,
            least: self.sum(least)?.rate(),
            requirement: self.sum(rate)?,
        };
        (rungs > 0).then_some(climbing)
    }

    fn sum(&self, rate: fn(&Claim) -> Bandwidth) -> Option<Requirement> {
        let all = || self.by_key.values().map(|claim| claim.requirement);
        let rates = self.by_key.values().map(rate);
        let rate = rates.fold(Bandwidth::ZERO, Bandwidth::saturating_add);
        let period = all().map(|one| one.per()).min()?;
        let all_exactly = all().all(|one| one.wanted() == Demand::Exactly);
        let demand = match all_exactly {
            true => Demand::Exactly,
            false => Demand::AtLeast,
        };
        Some(Requirement::new(rate, period).ok()?.demand(demand))
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "an arbitrary origin; no test waits")]
mod tests {
    use super::*;
    use imtcp_examples::requirement;

    const VIDEO: Key = Key::Player(ObjectKind::Video);
    const AUDIO: Key = Key::Player(ObjectKind::Audio);

    fn words(text: &str) -> Requirement {
        requirement::parse(text).expect("a requirement")
    }

    fn rate(text: &str, key: Key) -> RequiredRate {
        let requirement = words(text);
        RequiredRate::new(requirement, key)
    }

    #[test]
    fn video_and_audio_are_added_and_stay_between_segments() {
        let (mut claims, now) = (Claims::default(), Instant::now());
        assert_eq!(claims.total(), None);
        claims.begin(rate("exactly 3 Mbit/s per 4 s", VIDEO), now);
        assert_eq!(claims.total(), Some(words("exactly 3 Mbit/s per 4 s")));
        claims.end(VIDEO, now);
        claims.begin(rate("1 Mbit/s per 2 s", AUDIO), now);
        assert_eq!(claims.total(), Some(words("4 Mbit/s per 2 s")));
        claims.end(AUDIO, now + Duration::from_secs(1));
        assert_eq!(
            claims.expire(now + LINGER),
            Some(now + LINGER + Duration::from_secs(1))
        );
        assert_eq!(claims.total(), Some(words("1 Mbit/s per 2 s")));
        assert_eq!(claims.expire(now + LINGER + Duration::from_secs(1)), None);
        assert_eq!(claims.total(), None);
    }

    #[test]
    fn a_player_that_switches_replaces_its_rate() {
        let (mut claims, now) = (Claims::default(), Instant::now());
        claims.begin(rate("3 Mbit/s per 4 s", VIDEO), now);
        claims.begin(rate("1 Mbit/s per 4 s", VIDEO), now);
        claims.end(VIDEO, now);
        assert_eq!(claims.total(), Some(words("1 Mbit/s per 4 s")));
        assert_eq!(
            claims.expire(now + LINGER * 2),
            None,
            "one is still being answered"
        );
        assert_eq!(claims.total(), Some(words("1 Mbit/s per 4 s")));
    }

    #[test]
    fn what_is_ahead_is_added_to_what_the_others_need() {
        let (mut claims, now) = (Claims::default(), Instant::now());
        claims.begin(rate("1 Mbit/s per 2 s", AUDIO), now);
        assert_eq!(claims.ahead(), None);
        let ahead = Ahead {
            bitrate_kbps: 4000,
            least: Bandwidth::from_mbps(5),
            rate: Bandwidth::from_mbps(6),
        };
        let video = rate("3 Mbit/s per 4 s", VIDEO);
        let ahead = Some(ahead);
        claims.begin(RequiredRate { ahead, ..video }, now);
        assert_eq!(claims.total(), Some(words("4 Mbit/s per 2 s")));
        let expected = Climbing {
            rungs: 4000,
            least: Bandwidth::from_mbps(6),
            requirement: words("7 Mbit/s per 2 s"),
        };
        assert_eq!(claims.ahead(), Some(expected));
        claims.begin(rate("3 Mbit/s per 4 s", VIDEO), now);
        assert_eq!(claims.ahead(), None, "the next request says the latest");
    }

    #[test]
    fn the_rate_of_one_request_ends_with_it_and_the_operators_never() {
        let (mut claims, now) = (Claims::default(), Instant::now());
        claims.begin(rate("1 Mbit/s per 1 s", Key::Server), now);
        claims.begin(rate("5 Mbit/s per 1 s", Key::Stream(0)), now);
        claims.begin(rate("5 Mbit/s per 1 s", Key::Stream(4)), now);
        assert_eq!(claims.total(), Some(words("11 Mbit/s per 1 s")));
        claims.end(Key::Stream(0), now);
        claims.end(Key::Stream(4), now);
        claims.end(Key::Stream(4), now);
        assert_eq!(claims.expire(now + LINGER * 9), None);
        assert_eq!(claims.total(), Some(words("1 Mbit/s per 1 s")));
    }
}
