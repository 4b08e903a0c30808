//! The class `managed`: a queue that is managed, by CoDel, FQ-CoDel, PIE, RED or `DualPI2`, with
//! rivals or without, and with a flow that takes marks or not.

use super::draw::Draw;
use super::elastic::{kinds, room};
use super::ground::{Client, Ground, beside};
use super::path::{Facts, Path};
use super::source::{source, whole};
use crate::scenario::{Scenario, ScenarioError};

/// The most of the capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.5;
/// A managed queue has room for at least so many packets of 1500 bytes.
const LEAST_LIMIT: f64 = 64.0;
/// How often a queue that is not fair is `DualPI2`: on a fifth of all paths.
const DUAL: f64 = 0.27;
/// How often there are rivals, where the queue is not fair.
const RIVALS: f64 = 0.7;

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "managed");
    let ground = Ground::draw(&mut draw, CROSS_SHARE);
    let discipline = draw.one_of(&["codel", "fq-codel", "pie", "red"]);
    let marking = Marking::draw(seed);
    let discipline = match discipline {
        "fq-codel" => discipline,
        other => marking.dual.unwrap_or(other),
    };
    let most = if discipline == "fq-codel" { 10.0 } else { 5.0 };
    let most = room(&ground).min(most);
    let kinds = match draw.chance(RIVALS) || discipline == "fq-codel" {
        true => kinds(&mut draw, most),
        false => Vec::new(),
    };
    let share = ground.left_mbps() / (kinds.len() + 1) as f64;
    let source = source(&mut draw, share);
    let client = Client::draw(&mut draw);
    let duration_s = ground.duration_s(&source, !kinds.is_empty());
    let text = format!(
        "name = \"managed-{seed}\"\ntitle = \"drawn\"\nduration = \"{duration_s:.3} s\"\n{}{}{}{}",
        ground.link(ground.rtt_ms, &queue(&mut draw, &ground, discipline)),
        marking.of_cross(&ground, discipline),
        client.main(&source, marking.of_main()),
        beside(&kinds)
    );
    Scenario::parse(&format!("managed-{seed}.toml"), &text, &[])?;
    let facts = Facts {
        rivals: kinds,
        queue_kind: discipline,
        ..Facts::of(&ground, &source, &client, duration_s)
    };
    Ok(Path {
        text,
        steps: Vec::new(),
        facts,
    })
}

/// What is drawn about marks, apart from the rest: so a path is the same as without marks.
struct Marking {
    /// In place of a queue that is not fair.
    dual: Option<&'static str>,
    /// Whether the flow takes marks.
    main: bool,
    /// Whether cross traffic is of the kind that has the short queue of `DualPI2`.
    cross: bool,
}

impl Marking {
    fn draw(seed: u64) -> Self {
        let mut draw = Draw::new(seed, "managed.marks");
        Self {
            dual: draw.chance(DUAL).then_some("dualpi2"),
            main: draw.chance(0.5),
            cross: draw.chance(0.5),
        }
    }

    fn of_main(&self) -> &'static str {
        match self.main {
            true => "imtcp = { takes_marks = true }\n",
            false => "",
        }
    }

    fn of_cross(&self, ground: &Ground, discipline: &str) -> String {
        let is_marked = self.cross && discipline == "dualpi2" && !ground.cross.text().is_empty();
        let ecn = if is_marked { "ecn = \"ect1\"\n" } else { "" };
        ground.cross.text().to_owned() + ecn
    }
}

/// The queue as scenarios write it. Targets are those of the RFCs, or up to four times as long.
fn queue(draw: &mut Draw, ground: &Ground, discipline: &str) -> String {
    let limit = ground.queue_bytes().max(LEAST_LIMIT * 1500.0);
    let longer = if draw.chance(0.5) {
        draw.between(1.0, 4.0)
    } else {
        1.0
    };
    let keys = match discipline {
        "pie" | "dualpi2" => format!("target = \"{:.0} us\"", 15_000.0 * longer),
        "red" => {
            // The upper threshold is three times the lower one and below the limit.
            let lower = draw.between(0.05, 0.25) * limit;
            format!(
                "lower = \"{} B\", upper = \"{} B\", most = \"10 %\"",
                whole(lower),
                whole(3.0 * lower)
            )
        }
        _ => format!(
            "target = \"{:.0} us\", interval = \"{:.0} us\"",
            5000.0 * longer,
            100_000.0 * longer
        ),
    };
    format!(
        "{{ kind = \"{discipline}\", limit = \"{} B\", {keys} }}",
        whole(limit)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Discipline;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let mut seen = Vec::new();
        let mut marked = 0;
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let scenario = path.scenario(&[]).expect("it was valid");
            let discipline = scenario.links[0].forward.discipline;
            assert_eq!(discipline.name(), path.facts.queue_kind, "seed {seed}");
            let rivals = scenario.flows.len() - 1;
            match discipline {
                Discipline::FqCoDel(_) => assert!((1..=11).contains(&rivals), "seed {seed}"),
                _ => assert!(rivals <= 6, "seed {seed}: {rivals}"),
            }
            seen.push(discipline.name());
            marked += u32::from(scenario.flows[0].imtcp.takes_marks());
        }
        for kind in ["codel", "fq-codel", "pie", "red", "dualpi2"] {
            let count = seen.iter().filter(|seen| **seen == kind).count();
            assert!((140..310).contains(&count), "{kind}: {count} of 1000");
        }
        assert!((430..570).contains(&marked), "{marked} of 1000");
    }
}
