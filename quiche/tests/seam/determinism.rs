//! The same seed replays the same run.

use std::time::Duration;

use crate::controller::{Policy, Script};
use crate::world::{Fate, Passage, Side, World};

/// Datagrams and the server's packet numbers of a lossy transfer.
fn run(seed: u64) -> (Vec<Passage>, Vec<u64>) {
    let mut world = World::new(Script::new(Policy::Paced(Duration::from_micros(700))), seed);
    let mut count = 0;
    world.link = Box::new(move |passage| {
        count += 1;
        match passage.from {
            Side::Server if count % 37 == 0 => Fate::Drop,
            _ => Fate::Deliver,
        }
    });
    world.transfer(400_000);
    let numbers = world
        .controller()
        .sent
        .iter()
        .map(|packet| packet.packet_number)
        .collect();
    (std::mem::take(&mut world.trace), numbers)
}

#[test]
fn one_seed_gives_one_run() {
    let here = run(7);
    let there = std::thread::spawn(|| run(7))
        .join()
        .expect("the other thread");
    assert_eq!(here, there, "sizes and times of all datagrams are the same");
}

#[test]
fn another_seed_gives_other_gaps_in_the_packet_numbers() {
    assert_ne!(run(7).1, run(8).1);
}

#[test]
fn the_clock_is_put_back_when_a_closure_panics() {
    let other = std::time::Instant::now() - Duration::from_secs(5);
    let before = quiche::clock::now();
    let panicked = std::panic::catch_unwind(|| quiche::clock::with(other, || panic!("on purpose")));
    assert!(panicked.is_err());
    assert!(quiche::clock::now() >= before, "the real clock is back");
}
