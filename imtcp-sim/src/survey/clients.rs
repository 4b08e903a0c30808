//! The class `clients`: whole clients, on networks of their own.
//!
//! The other classes have one trouble at a time, or two. A client has a cadence of
//! acknowledgements, a machine, a bound of flow control and a way back at once, and between it and
//! the tight link there may be another one that delays packets by chance.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::Path;
use super::source::{source, whole};
use crate::scenario::ScenarioError;

const MOST_MBPS: f64 = 200.0;
/// The most of the capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.8;
/// How many times faster than the tight link the other one is.
const FASTER: [f64; 2] = [1.2, 10.0];
/// The most that the other link delays a packet by chance.
const JITTER_MS: [f64; 2] = [0.05, 5.0];
/// The way back, as a share of the capacity: from one that acknowledgements fill on.
const WAY_BACK: [f64; 2] = [0.015, 0.5];
const WAY_BACK_QUEUE_BYTES: u32 = 100_000;
/// What the client lets be on its way.
const FLOW_CONTROL_KB: [f64; 2] = [20.0, 600.0];

/// Where the link is that delays packets by chance.
#[derive(Clone, Copy)]
enum Jitter {
    Nowhere,
    Ahead,
    Behind,
}

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "clients");
    let ground = Ground::draw_up_to(&mut draw, MOST_MBPS, CROSS_SHARE);
    let source = source(&mut draw, ground.left_mbps());
    let client = client(&mut draw);
    let flow = flow(&mut draw);
    let links = links(&mut draw, &ground);
    let name = format!("clients-{seed}");
    Path::over(&name, &links, &ground, (&source, &client, &flow))
}

/// The tight link and, on two paths of three, the one that delays by chance. The tight one has the
/// way back.
fn links(draw: &mut Draw, ground: &Ground) -> String {
    let jitter = draw.one_of(&[Jitter::Nowhere, Jitter::Ahead, Jitter::Behind]);
    let of_all = match jitter {
        Jitter::Nowhere => 1.0,
        _ => 0.5,
    };
    let queue = format!("\"{} B\"", whole(ground.queue_bytes()));
    let mut tight = ground.link(ground.rtt_ms * of_all, &queue);
    if draw.chance(0.3) {
        let mbps = ground.capacity_mbps * draw.between(WAY_BACK[0], WAY_BACK[1]);
        tight += &format!(
            "reverse = {{ rate = \"{} bit/s\", queue = \"{WAY_BACK_QUEUE_BYTES} B\" }}\n",
            whole((mbps * 1e6).max(100_000.0)),
        );
    }
    let delay_ms = ground.rtt_ms * 0.25;
    let jitter_ms = draw.between(JITTER_MS[0], JITTER_MS[1]).min(delay_ms * 0.9);
    let other = format!(
        "\n[[link]]\nname = \"by-chance\"\nrate = \"{} bit/s\"\ndelay = \"{} ns\"\n\
         queue = \"{} B\"\njitter = \"{} ns\"\n",
        whole(ground.capacity_mbps * 1e6 * draw.between(FASTER[0], FASTER[1])),
        whole(delay_ms * 1e6),
        whole(ground.queue_bytes().max(60_000.0)),
        whole(jitter_ms * 1e6),
    );
    match jitter {
        Jitter::Nowhere => tight,
        Jitter::Ahead => other + &tight,
        Jitter::Behind => tight + &other,
    }
}

/// What acknowledges, when, and on which machine.
fn client(draw: &mut Draw) -> Client {
    let cadence = draw.one_of(&["2", "2", "4", "10", "\"timer\"", "\"tcp\"", "\"every\""]);
    let delay_ms = draw.one_of(&[1, 5, 10, 25, 25, 40, 100]);
    let mut client = Client {
        acknowledge: cadence.parse().unwrap_or(1),
        ack_frequency: draw.chance(0.25),
        receive_timestamps: draw.chance(0.25),
        more: format!("acknowledge = {cadence}, delay = \"{delay_ms} ms\""),
    };
    if draw.chance(0.2) {
        client.receive_timestamps = false;
        client.more = format!("stack = \"{}\"", draw.one_of(&["quinn", "noq"]));
    }
    if draw.chance(0.5) {
        let batch = match draw.chance(0.5) {
            true => format!(", receive_packets = {}", draw.count(2, 40)),
            false => String::new(),
        };
        let late = late(draw, 0.005, 1.5);
        client.more += &format!(", host = {{ receive_late = {late}{batch} }}");
    }
    client
}

/// More keys of the flow: the server's timers, and the client's flow control.
fn flow(draw: &mut Draw) -> String {
    let mut keys = String::new();
    if draw.chance(0.5) {
        keys += &format!("host = {{ timer_late = {} }}\n", late(draw, 0.01, 3.0));
    }
    if draw.chance(0.2) {
        let kilobytes = draw.between(FLOW_CONTROL_KB[0], FLOW_CONTROL_KB[1]);
        keys += &format!("flow_control = \"{kilobytes:.0} KB\"\n");
    }
    keys
}

/// How late a machine is, from one time to another.
fn late(draw: &mut Draw, least_ms: f64, most_ms: f64) -> String {
    let low_us = draw.between(least_ms, most_ms / 3.0) * 1e3;
    let high_us = (low_us * draw.between(1.0, 20.0)).min(most_ms * 1e3);
    format!("\"{} us to {} us\"", whole(low_us), whole(high_us + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let (mut ahead, mut behind, mut controlled, mut others) = (0, 0, 0, 0);
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let scenario = path.scenario(&[]).expect("it was valid");
            let names: Vec<&str> = scenario.links.iter().map(|it| it.name.as_str()).collect();
            ahead += u32::from(names == ["by-chance", "link"]);
            behind += u32::from(names == ["link", "by-chance"]);
            controlled += u32::from(path.text.contains("flow_control"));
            others += u32::from(path.text.contains("stack"));
        }
        for third in [ahead, behind] {
            assert!((280..390).contains(&third), "{third} of 1000");
        }
        for fifth in [controlled, others] {
            assert!((150..250).contains(&fifth), "{fifth} of 1000");
        }
    }
}
