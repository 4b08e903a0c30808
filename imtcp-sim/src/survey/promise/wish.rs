//! What an application requires of a drawn path.

use super::super::draw::Draw;
use super::super::ground;
use super::super::path::{FAIR, Path};
use super::fair::{self, Shares};
use crate::scenario::{Scenario, ScenarioError};
use imtcp_cc::units::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// The shortest and the longest period.
const PERIODS_S: (f64, f64) = (0.5, 10.0);
/// A period has at least so many round trips of the empty path, and so many with a full queue.
const ROUND_TRIPS: f64 = 16.0;
const FULL_ROUND_TRIPS: f64 = 4.0;
/// At least so many slots are counted.
const SLOTS: f64 = 4.0;
/// Slots are counted from this time on, and so many round trips.
const SETTLING_S: f64 = 2.0;
const SETTLING_ROUND_TRIPS: f64 = 8.0;
/// The share of the capacity up to which a promise takes from others, less the headers.
const CEILING: f64 = 0.5 * 0.94;
/// Beside rivals a promise takes at most this share of what inelastic traffic leaves.
const MOST_OF_LEFT: f64 = 0.9;
/// Where less than this share of the capacity is there in all periods, nothing is promised.
const LEAST_OF_CAPACITY: f64 = 0.01;
/// How often a promise is above the fair share, where it may be.
const BEYOND: f64 = 0.4;
/// A slot has at least so many packets, and a promise this rate.
const LEAST_PACKETS: f64 = 6.0;
const LEAST_BPS: f64 = 16e3;

/// How much is required, against the max-min fair share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Up to half of it.
    Half,
    /// More than half of it, and no more than it.
    Most,
    /// More than it.
    Beyond,
}

impl Share {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Half, Self::Most, Self::Beyond];

    /// In words, for tables.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Half => "5..50 %",
            Self::Most => "50..95 %",
            Self::Beyond => "100..200 %",
        }
    }

    fn of(ratio: f64) -> Self {
        match ratio {
            r if r <= 0.5 => Self::Half,
            r if r <= 1.0 => Self::Most,
            _ => Self::Beyond,
        }
    }
}

/// A requirement and what it is measured against. Rates are goodput.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wish {
    /// The rate.
    pub required_bps: f64,
    /// The period.
    pub per_s: f64,
    /// More is not welcome.
    pub exactly: bool,
    /// The least max-min fair share of the time that counts.
    pub fair_bps: f64,
    /// Required / fair share.
    pub of_fair: f64,
    /// The same as a range.
    pub share: Share,
    /// The most flows beside it at a time.
    pub rivals: usize,
    /// Slots that begin earlier are not counted.
    pub slots_from_s: f64,
    /// How long the run lasts.
    pub duration_s: f64,
}

/// What a seed draws for its path. None where inelastic traffic leaves nothing in some periods.
///
/// # Errors
/// None is known: what is drawn is a valid scenario.
pub fn wish(path: &Path, class: &str, seed: u64) -> Result<Option<Wish>, ScenarioError> {
    let mut draw = Draw::new(seed, &format!("{class}.promise"));
    let rtt_s = path.facts.rtt_ms / 1e3;
    let full_s = rtt_s * (1.0 + path.facts.queue_bdp);
    let least_s = (ROUND_TRIPS * rtt_s)
        .max(FULL_ROUND_TRIPS * full_s)
        .clamp(PERIODS_S.0, PERIODS_S.1);
    let slots_from_s = SETTLING_S + SETTLING_ROUND_TRIPS * rtt_s;
    let usual_s = usual_duration(path);
    // A longer period would make the run longer than that.
    let most_s = ((usual_s - slots_from_s) / SLOTS).clamp(least_s, PERIODS_S.1);
    let per_s = draw.between(least_s, most_s);
    // The controller's slots begin when it likes: one more of them.
    let duration_s = (slots_from_s + (SLOTS + 1.0) * per_s).max(usual_s);
    let scenario = bulk(path)?;
    let instant = |seconds: f64| Timestamp::from_origin(Duration::from_secs_f64(seconds));
    let span = (instant(slots_from_s), instant(duration_s));
    let shares = fair::shares(&scenario, span, Duration::from_secs_f64(per_s));
    let exactly = draw.chance(0.5);
    let is_fair = path.facts.queue_kind == FAIR;
    let drawn = required(&mut draw, &shares, is_fair);
    if shares.fair_bps < LEAST_OF_CAPACITY * shares.capacity_bps {
        return Ok(None);
    }
    let packet_bits = 8.0 * 1200.0;
    let required_bps = drawn
        .max(LEAST_BPS)
        .max(LEAST_PACKETS * packet_bits / per_s);
    let of_fair = required_bps / shares.fair_bps;
    Ok(Some(Wish {
        required_bps,
        per_s,
        exactly,
        fair_bps: shares.fair_bps,
        of_fair,
        share: Share::of(of_fair),
        rivals: shares.rivals,
        slots_from_s,
        duration_s,
    }))
}

/// As long as the class makes it. A source that was drawn slower than its path is replaced by one
/// that fills it, and then a shorter run carries as much. All steps have to happen, though.
fn usual_duration(path: &Path) -> f64 {
    let drawn_s = path.facts.duration_s;
    match path.steps.is_empty() {
        true => drawn_s.min(ground::duration_s(path.facts.left_mbps[0])),
        false => drawn_s,
    }
}

/// `is_fair` says that the queue gives each flow its share: nothing beyond it can be had.
fn required(draw: &mut Draw, shares: &Shares, is_fair: bool) -> f64 {
    let ceiling = (CEILING * shares.capacity_bps).min(MOST_OF_LEFT * shares.left_bps);
    let most = ceiling.min(2.0 * shares.fair_bps);
    let (beyond, within, above) = (
        draw.chance(BEYOND),
        draw.evenly(0.05, 0.95),
        draw.evenly(0.0, 1.0),
    );
    if beyond && !is_fair && shares.rivals > 0 && most > 1.05 * shares.fair_bps {
        return shares.fair_bps + above * (most - shares.fair_bps);
    }
    within * shares.fair_bps
}

/// The path with a source that has always more to send.
fn bulk(path: &Path) -> Result<Scenario, ScenarioError> {
    path.scenario(&[BULK])
}

/// What makes the flow that is looked at one that has always more to send.
pub(super) const BULK: (&str, &str) = ("flow.main.application", "{ kind = \"bulk\" }");

impl Wish {
    /// As a scenario's overrides.
    pub(super) fn overrides(&self) -> [(&'static str, String); 3] {
        let promise = format!(
            "{{ rate = \"{:.0} bit/s\", per = \"{:.0} ns\", demand = \"{}\" }}",
            self.required_bps,
            self.per_s * 1e9,
            self.demand()
        );
        [
            ("flow.main.imtcp.promise", promise),
            (
                "flow.main.slots_from",
                format!("{:.0} ns", self.slots_from_s * 1e9),
            ),
            ("duration", format!("{:.0} ns", self.duration_s * 1e9)),
        ]
    }

    /// The path's scenario file with the requirement in it, so that it can be run by itself.
    pub(super) fn written_into(&self, text: &str) -> String {
        let [(_, promise), (_, slots_from), (_, duration)] = self.overrides();
        let main = text.find("name = \"main\"").unwrap_or(text.len());
        let (before, own) = text.split_at(main);
        let line = |text: &str, key: &str, new: String| {
            let is_it = |line: &&str| line.starts_with(key);
            let old = text.lines().find(is_it).unwrap_or_default();
            text.replacen(old, &new, 1)
        };
        let before = line(before, "duration = ", format!("duration = \"{duration}\""));
        let (key, bulk) = ("application = ", BULK.1);
        // Other keys of the controller stay.
        let table = "imtcp = { ";
        let others = own.lines().find_map(|line| line.strip_prefix(table));
        let own = match others {
            Some(others) => own.replacen(&format!("{table}{others}\n"), "", 1),
            None => own.to_owned(),
        };
        let others = others.map_or("}".to_owned(), |others| format!(", {others}"));
        let imtcp = format!("{table}promise = {promise} {others}");
        let required = format!("{key}{bulk}\n{imtcp}\nslots_from = \"{slots_from}\"");
        before + &line(&own, key, required)
    }

    /// As scenarios write it.
    pub fn demand(&self) -> &'static str {
        if self.exactly { "exactly" } else { "at least" }
    }

    /// For tables.
    pub fn in_words(&self) -> String {
        format!(
            "{} {:.2} Mbit/s over {:.1} s, {:.0} % of the fair share",
            self.demand(),
            self.required_bps / 1e6,
            self.per_s,
            self.of_fair * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Class;
    use super::*;

    #[test]
    fn a_thousand_wishes_of_each_class_are_within_the_bounds() {
        for class in Class::PROMISED {
            let mut counts = [0; 4];
            for seed in 1..=1000 {
                let path = class.draw(seed).expect("what is drawn is valid");
                let wish = wish(&path, class.name(), seed).expect("it is valid");
                let Some(wish) = wish else {
                    counts[3] += 1;
                    continue;
                };
                counts[wish.share as usize] += 1;
                let name = format!("{} {seed}: {wish:?}", class.name());
                assert!((0.5..=10.0).contains(&wish.per_s), "{name}");
                let rtt_s = path.facts.rtt_ms / 1e3;
                assert!(wish.per_s >= (16.0 * rtt_s).min(10.0) - 1e-9, "{name}");
                if wish.share == Share::Beyond && wish.required_bps > 1.2e5 {
                    let capacity = path.facts.capacity_mbps.iter();
                    let least = capacity.copied().fold(f64::INFINITY, f64::min) * 1e6;
                    assert!(wish.required_bps <= 0.5 * least, "{name}");
                    assert!(wish.of_fair <= 2.001 && wish.rivals > 0, "{name}");
                }
                let overrides = wish.overrides();
                let overrides: Vec<_> = overrides.iter().map(|(k, v)| (*k, v.as_str())).collect();
                let scenario = path.scenario(&[&[BULK], &overrides[..]].concat());
                let scenario = scenario.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(scenario.flows[0].imtcp.promise().is_some(), "{name}");
                let written = Scenario::parse("written", &wish.written_into(&path.text), &[]);
                assert_eq!(written.expect("it is valid"), scenario, "{name}");
            }
            let [half, most, beyond, none] = counts;
            assert!(half > 200 && most > 200, "{}: {counts:?}", class.name());
            assert!(
                beyond > 100 || class.name() == "fixed",
                "{}: {counts:?}",
                class.name()
            );
            assert!(none < 200, "{}: {counts:?}", class.name());
        }
    }
}
