//! What the classes with one narrow link of constant rate have in common.

use super::draw::Draw;
use super::source::{Source, whole};
use std::fmt::Write;

/// A run lasts until it has carried this much, within the two limits below. That bounds the cost of
/// a simulation: a path that carries much is run for a shorter time.
const CARRIED_MEGABITS: f64 = 600.0;
const SHORTEST_S: f64 = 10.0;
const LONGEST_S: f64 = 40.0;
/// The most bytes that the empty path holds. What quiche does per loss grows with what is in
/// flight, and one such path would cost as much as fifty others.
const MOST_IN_FLIGHT_BYTES: f64 = 4e6;
/// The shortest queue: four packets of 1500 bytes.
const LEAST_QUEUE_BYTES: f64 = 6000.0;

/// The narrow link and the traffic on it.
pub(super) struct Ground {
    pub(super) capacity_mbps: f64,
    /// There and back, of the flow that is looked at.
    pub(super) rtt_ms: f64,
    pub(super) queue_bdp: f64,
    pub(super) cross: Cross,
}

/// Inelastic traffic.
pub(super) struct Cross {
    pub(super) kind: &'static str,
    pub(super) mbps: f64,
    text: String,
}

/// How the client acknowledges.
pub(super) struct Client {
    pub(super) acknowledge: u32,
    pub(super) ack_frequency: bool,
    pub(super) receive_timestamps: bool,
    /// Further keys of the receiver. If they say when it acknowledges, they say it alone.
    pub(super) more: String,
}

/// Bulk transfers beside the flow that is looked at, from the beginning on.
pub(super) fn beside(rivals: &[&str]) -> String {
    let mut text = String::new();
    for (index, controller) in (1..).zip(rivals) {
        let _ = write!(
            text,
            "\n[[flow]]\nname = \"rival-{index}\"\ncontroller = \"{controller}\"\n\
             application = {{ kind = \"bulk\" }}\nstart_within = \"1 s\"\n"
        );
    }
    text
}

/// How long a run lasts that carries so much.
pub(super) fn duration_s(carried_mbps: f64) -> f64 {
    (CARRIED_MEGABITS / carried_mbps).clamp(SHORTEST_S, LONGEST_S)
}

impl Ground {
    /// `cross_share` is the most of the capacity that inelastic traffic takes.
    pub(super) fn draw(draw: &mut Draw, cross_share: f64) -> Self {
        Self::draw_up_to(draw, 1000.0, cross_share)
    }

    /// A path that is no faster than this.
    pub(super) fn draw_up_to(draw: &mut Draw, most_mbps: f64, cross_share: f64) -> Self {
        let capacity_mbps = draw.rather_low(1.0, most_mbps);
        Self::draw_at(draw, capacity_mbps, cross_share)
    }

    /// A path of this capacity.
    pub(super) fn draw_at(draw: &mut Draw, capacity_mbps: f64, cross_share: f64) -> Self {
        Self {
            capacity_mbps,
            rtt_ms: draw.between(
                2.0,
                (MOST_IN_FLIGHT_BYTES / capacity_mbps / 125.0).min(300.0),
            ),
            queue_bdp: draw.between(0.1, 8.0),
            cross: Cross::draw(draw, capacity_mbps, cross_share),
        }
    }

    pub(super) fn leave_out_cross(&mut self) {
        self.cross = Cross::none();
    }

    pub(super) fn left_mbps(&self) -> f64 {
        self.capacity_mbps - self.cross.mbps
    }

    pub(super) fn queue_bytes(&self) -> f64 {
        (self.queue_bdp * self.capacity_mbps * self.rtt_ms * 125.0).max(LEAST_QUEUE_BYTES)
    }

    /// Rivals take what the flow does not.
    pub(super) fn duration_s(&self, source: &Source, has_rivals: bool) -> f64 {
        let carried = match source.mbps {
            Some(mbps) if !has_rivals => mbps,
            _ => self.left_mbps(),
        };
        duration_s(carried)
    }

    /// The narrow link, with a delay of its own and a queue as scenarios write it.
    pub(super) fn link(&self, rtt_ms: f64, queue: &str) -> String {
        self.link_of(self.capacity_mbps, rtt_ms, queue)
    }

    /// The same with a rate of its own.
    pub(super) fn link_of(&self, rate_mbps: f64, rtt_ms: f64, queue: &str) -> String {
        format!(
            "\n[[link]]\nname = \"link\"\nrate = \"{} bit/s\"\ndelay = \"{} ns\"\n\
             queue = {queue}\n",
            whole(rate_mbps * 1e6),
            whole(rtt_ms * 0.5e6)
        )
    }
}

impl Cross {
    fn none() -> Self {
        Self {
            kind: "none",
            mbps: 0.0,
            text: String::new(),
        }
    }

    fn draw(draw: &mut Draw, capacity_mbps: f64, most: f64) -> Self {
        Self::draw_on(draw, ["cross", "link"], capacity_mbps, most)
    }

    /// Traffic with a name of its own, on a link of several.
    pub(super) fn draw_on(
        draw: &mut Draw,
        [name, link]: [&str; 2],
        capacity_mbps: f64,
        most: f64,
    ) -> Self {
        let kind = draw.one_of(&["none", "cbr", "poisson", "onoff", "pareto", "web"]);
        let (on_ms, off_ms) = (draw.between(20.0, 2000.0), draw.between(20.0, 2000.0));
        // While it is on, on-off traffic leaves something, too.
        let most = match kind {
            "onoff" | "pareto" => most * on_ms / (on_ms + off_ms),
            _ => most,
        };
        let mbps = match kind {
            "none" => 0.0,
            _ => draw.evenly(0.02, 1.0) * most * capacity_mbps,
        };
        let peak_bps = draw.evenly(0.1, 1.0) * capacity_mbps * 1e6;
        let periods = match kind {
            "pareto" => "pareto",
            _ => draw.one_of(&["constant", "exponential"]),
        };
        let keys = match kind {
            "onoff" | "pareto" => format!(
                "kind = \"onoff\"\non = \"{on_ms:.3} ms\"\noff = \"{off_ms:.3} ms\"\n\
                 periods = \"{periods}\""
            ),
            "web" => format!("kind = \"web\"\npeak = \"{} bit/s\"", whole(peak_bps)),
            kind => format!("kind = \"{kind}\""),
        };
        let text = match kind {
            "none" => String::new(),
            _ => format!(
                "\n[[traffic]]\nname = \"{name}\"\nlink = \"{link}\"\n{keys}\nsizes = \"mix\"\n\
                 rate = \"{} bit/s\"\n",
                whole(mbps * 1e6)
            ),
        };
        Self { kind, mbps, text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl Client {
    pub(super) fn draw(draw: &mut Draw) -> Self {
        Self {
            acknowledge: draw.count(1, 2),
            ack_frequency: draw.chance(0.5),
            receive_timestamps: draw.chance(0.5),
            more: String::new(),
        }
    }

    /// As scenarios write it. Other stacks than quiche have a cadence of their own.
    fn receiver(&self) -> String {
        let has_own = ["acknowledge", "stack"];
        let mut keys = vec![format!("ack_frequency = {}", self.ack_frequency)];
        if !has_own.iter().any(|key| self.more.contains(key)) {
            keys.push(format!("acknowledge = {}", self.acknowledge));
        }
        if !self.more.contains("stack") {
            keys.push(format!("receive_timestamps = {}", self.receive_timestamps));
        }
        keys.extend((!self.more.is_empty()).then(|| self.more.clone()));
        keys.join(", ")
    }

    /// The flow that is looked at; `more` are further keys of it.
    pub(super) fn main(&self, source: &Source, more: &str) -> String {
        let mut text = String::new();
        let _ = write!(
            text,
            "\n[[flow]]\nname = \"main\"\ncontroller = \"imtcp\"\napplication = {}\n\
             receiver = {{ {} }}\n{more}",
            source.text,
            self.receiver()
        );
        text
    }
}
