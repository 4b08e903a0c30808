//! Paths and wishes that nobody chose.

use super::survey::{Case, Plan};
use crate::random::Random;
use crate::scenario::{Scenario, ScenarioError};
use imtcp_cc::promise::Demand;
use imtcp_cc::units::Bandwidth;
use std::time::Duration;

const DURATION_S: f64 = 40.0;

/// The case with this number. Its link has 5 to 50 Mbit/s and 10 to 120 ms. There may be random
/// losses, inelastic traffic, a capacity that falls, and rivals, which are few and greedy or many
/// and capped. The application wants 5 to 95 % of the link, and another rate every one to eight
/// slots.
///
/// # Errors
/// None is known: what is drawn is a valid scenario.
pub fn drawn(number: u64) -> Result<Case, ScenarioError> {
    let mut draw = Draw(Random::for_component(number, "calibration"));
    let mbps = draw.between(5.0, 50.0);
    let delay_ms = draw.between(5.0, 60.0);
    let text = draw.scenario(number, mbps, delay_ms);
    let scenario = Scenario::parse(&format!("drawn-{number}"), &text, &[])?;
    let round_trip_s = 2.0 * delay_ms / 1e3;
    let slot_s = draw.between(16.0, 64.0) * round_trip_s;
    Ok(Case {
        scenario,
        plan: Some(Plan {
            lowest: Bandwidth::from_bps_f64(0.05 * mbps * 1e6),
            highest: Bandwidth::from_bps_f64(0.95 * mbps * 1e6),
            per: Duration::from_secs_f64(slot_s.clamp(0.5, 4.0)),
            demand: if draw.0.chance(0.3) {
                Demand::Exactly
            } else {
                Demand::AtLeast
            },
        }),
    })
}

struct Draw(Random);

impl Draw {
    /// Draws between two values, with equal chances for equal ratios.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.0.uniform())
    }

    fn instant_s(&mut self) -> f64 {
        DURATION_S * (0.1 + 0.8 * self.0.uniform())
    }

    fn scenario(&mut self, number: u64, mbps: f64, delay_ms: f64) -> String {
        let mut text = format!(
            "name = \"drawn-{number}\"\ntitle = \"drawn\"\nduration = \"{DURATION_S} s\"\n{}",
            self.link(mbps, delay_ms)
        );
        if self.0.chance(0.6) {
            text += &self.traffic(mbps);
        }
        text += "[[flow]]\nname = \"main\"\ncontroller = \"imtcp\"\n\
                 application = { kind = \"bulk\" }\n";
        if self.0.chance(0.6) {
            text += &self.rivals(mbps);
        }
        text
    }

    fn link(&mut self, mbps: f64, delay_ms: f64) -> String {
        let queue_bytes = self.between(0.5, 4.0) * mbps * 1e6 / 8.0 * 2.0 * delay_ms / 1e3;
        let loss = if self.0.chance(0.3) {
            let percent = self.between(0.01, 0.5);
            let burst = if self.0.chance(0.3) {
                ", burst_packets = 4"
            } else {
                ""
            };
            format!("loss = {{ rate = \"{percent:.3} %\"{burst} }}\n")
        } else {
            String::new()
        };
        let fall = if self.0.chance(0.3) {
            let (at_s, to_mbps) = (self.instant_s(), mbps * self.between(0.3, 0.8));
            format!("steps = [{{ at = \"{at_s:.1} s\", rate = \"{to_mbps:.3} Mbit/s\" }}]\n")
        } else {
            String::new()
        };
        format!(
            "[[link]]\nname = \"link\"\nrate = \"{mbps:.3} Mbit/s\"\ndelay = \"{delay_ms:.3} ms\"\n\
             queue = \"{:.0} B\"\n{loss}{fall}",
            queue_bytes.max(15_000.0)
        )
    }

    fn traffic(&mut self, mbps: f64) -> String {
        let kinds = [
            "\"poisson\"",
            "\"onoff\"\non = \"300 ms\"\noff = \"500 ms\"\nperiods = \"exponential\"",
            "\"web\"",
        ];
        let pick = self.0.uniform() * kinds.len() as f64;
        let (_, kind) = (1..)
            .zip(kinds)
            .find(|(i, _)| pick < f64::from(*i))
            .unwrap_or((1, kinds[0]));
        let (first, then) = (
            mbps * self.between(0.05, 0.4),
            mbps * self.between(0.05, 0.6),
        );
        let at_s = self.instant_s();
        format!(
            "[[traffic]]\nname = \"cross\"\nlink = \"link\"\nkind = {kind}\nsizes = \"mix\"\n\
             rate = \"{first:.3} Mbit/s\"\nsteps = [{{ at = \"{at_s:.1} s\", rate = \"{then:.3} \
             Mbit/s\" }}]\n"
        )
    }

    /// One to three rivals that take what they can get, or up to twenty that want a bounded rate,
    /// as in the paper's evaluation.
    fn rivals(&mut self, mbps: f64) -> String {
        let greedy = self.0.chance(0.4);
        let count = self.between(1.0, if greedy { 4.0 } else { 21.0 });
        let cap = mbps * self.between(0.02, 0.2);
        let controller = if self.0.chance(0.7) { "reno" } else { "cubic" };
        let (start, stop) = (self.between(0.1, 0.7 * DURATION_S), self.instant_s());
        let stop = if stop > start + 2.0 {
            format!("stop = \"{stop:.1} s\"\n")
        } else {
            String::new()
        };
        let application = if greedy {
            "{ kind = \"bulk\" }".to_owned()
        } else {
            format!("{{ kind = \"frames\", rate = \"{cap:.3} Mbit/s\", per_second = 50 }}")
        };
        let mut text = String::new();
        let mut begins = start;
        let mut index = 1.0;
        while index <= count {
            text += &format!(
                "[[flow]]\nname = \"rival-{index}\"\ncontroller = \"{controller}\"\n\
                 application = {application}\nstart = \"{begins:.2} s\"\n{stop}"
            );
            begins += 0.07;
            index += 1.0;
        }
        text
    }
}
