//! The class `mixed`: one link with one or two of the troubles that the other classes leave out.

use super::draw::Draw;
use super::elastic;
use super::ground::{Client, Ground, beside};
use super::path::{Facts, Path};
use super::source::{Source, source, whole};
use crate::scenario::{Scenario, ScenarioError};
use std::fmt::Write;

/// The most of the capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.7;
/// The most flows beside, on a quarter of the paths.
const MOST_RIVALS: f64 = 4.0;
/// With rivals they share what is left.
const WITH_RIVALS: f64 = 0.25;
/// Aggregates have room for packets of this size at the rate of the link, so that the link is what
/// limits.
const SMALL_PACKET_BYTES: f64 = 200.0;
/// The shortest and the longest round trip after a change of the route.
const ROUND_TRIPS_MS: [f64; 2] = [2.0, 600.0];

/// What can be wrong.
const TROUBLES: [&str; 10] = [
    "jitter",
    "aggregates",
    "losses",
    "lost acknowledgements",
    "overtaking",
    "other routes",
    "outages",
    "a closed loop",
    "rare acknowledgements",
    "an odd queue",
];

/// What is written into the scenario for the troubles of a path.
#[derive(Default)]
struct Trouble {
    /// Keys of the link, each with a line of its own.
    link: String,
    /// Keys of the way back.
    back: Vec<String>,
    /// Keys of the flow.
    flow: String,
}

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "mixed");
    let mut ground = Ground::draw(&mut draw, CROSS_SHARE);
    let troubles = pick(&mut draw);
    if troubles.contains(&"an odd queue") {
        ground.queue_bdp = match draw.chance(0.5) {
            true => 0.0, // four packets
            false => draw.between(8.0, 50.0),
        };
    }
    let rivals = match draw.chance(WITH_RIVALS) {
        true => elastic::kinds(&mut draw, MOST_RIVALS.min(elastic::room(&ground))),
        false => Vec::new(),
    };
    let share_mbps = ground.left_mbps() / (rivals.len() + 1) as f64;
    let mut source = source(&mut draw, share_mbps);
    let mut client = Client::draw(&mut draw);
    let duration_s = ground.duration_s(&source, !rivals.is_empty());
    let mut trouble = Trouble::default();
    for kind in &troubles {
        trouble.add(
            &mut draw,
            kind,
            &ground,
            duration_s,
            (&mut source, &mut client),
        );
    }
    let text = format!(
        "name = \"mixed-{seed}\"\ntitle = \"drawn\"\nduration = \"{duration_s:.3} s\"\n\
         {}{}{}{}{}{}",
        ground.link(
            ground.rtt_ms,
            &format!("\"{} B\"", whole(ground.queue_bytes()))
        ),
        trouble.link,
        trouble.back(),
        ground.cross.text(),
        client.main(&source, &trouble.flow),
        beside(&rivals)
    );
    Scenario::parse(&format!("mixed-{seed}.toml"), &text, &[])?;
    let mut facts = Facts::of(&ground, &source, &client, duration_s);
    facts.sends = format!("{}, {}", facts.sends, troubles.join(" and "));
    Ok(Path {
        text,
        steps: Vec::new(),
        facts: Facts { rivals, ..facts },
    })
}

/// One or two of them.
fn pick(draw: &mut Draw) -> Vec<&'static str> {
    let first = draw.one_of(&TROUBLES);
    let second = draw.one_of(&TROUBLES);
    match draw.chance(0.5) && second != first {
        true => vec![first, second],
        false => vec![first],
    }
}

impl Trouble {
    fn add(
        &mut self,
        draw: &mut Draw,
        kind: &str,
        ground: &Ground,
        duration_s: f64,
        (source, client): (&mut Source, &mut Client),
    ) {
        let one_way_ms = ground.rtt_ms / 2.0;
        match kind {
            "jitter" => {
                let most = draw.between(0.1, 10.0).min(one_way_ms * 0.9);
                let key = format!("jitter = \"{} us\"", whole(most * 1e3));
                self.put(draw.count(1, 3), &key);
            }
            "aggregates" => {
                let every_ms = draw.between(0.5, 10.0);
                let bytes = ground.capacity_mbps * 125.0 * every_ms;
                let packets = libm::ceil(bytes / SMALL_PACKET_BYTES).clamp(8.0, 10_000.0);
                let _ = writeln!(
                    self.link,
                    "release = {{ every = \"{} us\", packets = {} }}",
                    whole(every_ms * 1e3),
                    whole(packets)
                );
            }
            "losses" | "lost acknowledgements" => {
                let back = kind != "losses";
                let percent = draw.between(0.01, if back { 30.0 } else { 5.0 });
                let burst = draw.between(1.0, 8.0);
                let key =
                    format!("loss = {{ rate = \"{percent:.3} %\", burst_packets = {burst:.2} }}");
                self.put(if back { 2 } else { 1 }, &key);
            }
            "overtaking" => {
                let later_ms = draw.between(0.1, 20.0);
                let percent = draw.between(0.1, 20.0);
                let key = format!(
                    "reorder = {{ rate = \"{percent:.3} %\", later = \"{} us\" }}",
                    whole(later_ms * 1e3)
                );
                self.put(draw.count(1, 2), &key);
            }
            "other routes" => {
                let key = routes(draw, ground.rtt_ms, duration_s);
                self.put(draw.count(1, 2), &key);
            }
            "outages" => {
                let _ = writeln!(self.link, "{}", outages(draw, duration_s));
            }
            "a closed loop" => {
                let kilobytes = draw.between(16.0, 500.0);
                *source = Source {
                    words: format!("bulk within {kilobytes:.0} KB"),
                    text: "{ kind = \"bulk\" }".to_owned(),
                    mbps: None,
                };
                match draw.chance(0.5) {
                    true => {
                        source.text =
                            format!("{{ kind = \"bulk\", send_buffer = \"{kilobytes:.0} KB\" }}");
                    }
                    false => {
                        let _ = writeln!(self.flow, "flow_control = \"{kilobytes:.0} KB\"");
                    }
                }
            }
            "rare acknowledgements" => client.more = format!("acknowledge = {}", draw.count(4, 20)),
            _ => {}
        }
    }

    /// On the way forward, on the way back, or on both.
    fn put(&mut self, ways: u32, key: &str) {
        if ways != 2 {
            let _ = writeln!(self.link, "{key}");
        }
        if ways != 1 {
            self.back.push(key.to_owned());
        }
    }

    fn back(&self) -> String {
        match self.back.is_empty() {
            true => String::new(),
            false => format!("reverse = {{ {} }}\n", self.back.join(", ")),
        }
    }
}

/// One to three changes by factors of 1.2 to 6, up or down.
fn routes(draw: &mut Draw, rtt_ms: f64, duration_s: f64) -> String {
    let count = draw.count(1, 3);
    let mut now_ms = rtt_ms;
    let steps = (0..count).map(|index| {
        let factor = draw.between(1.2, 6.0);
        let factor = if draw.chance(0.5) {
            factor
        } else {
            1.0 / factor
        };
        let [low, high] = ROUND_TRIPS_MS;
        now_ms = (now_ms * factor).clamp(low, high);
        let at_s = duration_s * (f64::from(index) + draw.evenly(0.2, 0.8)) / f64::from(count);
        format!(
            "{{ at = \"{at_s:.3} s\", delay = \"{} us\" }}",
            whole(now_ms * 500.0)
        )
    });
    format!("delay_steps = [{}]", steps.collect::<Vec<_>>().join(", "))
}

/// One to three of 50 ms to 3 s. The last of them leaves time to come back.
fn outages(draw: &mut Draw, duration_s: f64) -> String {
    let count = draw.count(1, 3);
    let each_s = (duration_s - 3.0) / f64::from(count);
    let outages = (0..count).map(|index| {
        let lasts_s = draw.between(0.05, 3.0).min(each_s * 0.6);
        let from_s = 1.0 + each_s * f64::from(index) + draw.evenly(0.0, 1.0) * (each_s - lasts_s);
        format!(
            "{{ from = \"{from_s:.3} s\", to = \"{:.3} s\" }}",
            from_s + lasts_s
        )
    });
    format!("outages = [{}]", outages.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let mut counts = [0; TROUBLES.len()];
        let mut with_rivals = 0;
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            path.scenario(&[]).expect("it was valid");
            for (count, kind) in counts.iter_mut().zip(TROUBLES) {
                *count += u32::from(path.facts.sends.contains(kind));
            }
            with_rivals += u32::from(!path.facts.rivals.is_empty());
        }
        for (kind, count) in TROUBLES.iter().zip(counts) {
            assert!((110..190).contains(&count), "{kind}: {count} of 1000");
        }
        assert!((200..300).contains(&with_rivals), "{with_rivals} of 1000");
    }
}
