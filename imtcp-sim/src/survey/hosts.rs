//! The class `hosts`: one link of constant rate between machines whose timers are late and whose
//! packets leave and come in batches.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::Path;
use super::source::{source, whole};
use crate::scenario::ScenarioError;

/// The most of the capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.8;

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "hosts");
    let ground = Ground::draw(&mut draw, CROSS_SHARE);
    let source = source(&mut draw, ground.left_mbps());
    let mut client = Client::draw(&mut draw);
    let sender = format!("host = {{ {} }}\n", sender(&mut draw));
    client.more = format!("host = {{ {} }}", receives(&mut draw));
    Path::alone(&format!("hosts-{seed}"), &ground, &source, &client, &sender)
}

/// A server: its timers, what a datagram takes, and how it gets what comes.
fn sender(draw: &mut Draw) -> String {
    let late_us = draw.between(10.0, 4000.0);
    let timers = match draw.chance(0.3) {
        true => "timer_tick = \"1 ms\"".to_owned(),
        false => format!("timer_late = \"10 us to {:.0} us\"", late_us.max(11.0)),
    };
    let takes_us = draw.between(1.0, 8.0);
    format!(
        "{timers}, send_takes = \"{} ns\", line_rate = \"10 Gbit/s\", {}",
        whole(takes_us * 1e3),
        receives(draw)
    )
}

/// Datagrams come by themselves or in batches, as interrupts are coalesced.
fn receives(draw: &mut Draw) -> String {
    let late_us = draw.between(20.0, 1000.0);
    let packets = draw.count(8, 64);
    match draw.chance(0.7) {
        true => format!("receive_late = \"10 us to {late_us:.0} us\", receive_packets = {packets}"),
        false => format!("receive_late = \"5 us to {:.0} us\"", late_us / 10.0 + 5.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let mut ticks = 0;
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let scenario = path.scenario(&[]).expect("it was valid");
            let host = &scenario.flows[0].host;
            match host.timer_late {
                Some(late) => assert!(late.to <= Duration::from_millis(4), "seed {seed}"),
                None => ticks += 1,
            }
            assert!(host.receive_late.is_some(), "seed {seed}");
        }
        assert!((230..370).contains(&ticks), "{ticks} of 1000");
    }
}
