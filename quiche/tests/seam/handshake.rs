//! Handshakes whose packets are lost.

use std::time::Duration;

use crate::controller::{factory, Policy, Script};
use crate::liveness::hash;
use crate::world::{server_config, Fate, Side, World, DELAY};

/// quic-go's client waits so long for a server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Of so many handshakes, with three of ten packets lost either way.
const HANDSHAKES: u64 = 200;

/// 8 are late. Where a timeout probes one packet number space alone, 15 are.
const MOST_LATE: u64 = 11;

#[test]
fn handshakes_with_losses_seldom_take_longer_than_a_client_waits() {
    let mut late = 0;
    for seed in 0..HANDSHAKES {
        let config = server_config(factory(Script::new(Policy::Free)));
        let mut world = World::before_handshake(config, seed);
        let mut count = 0;
        world.link = Box::new(move |_| {
            count += 1;
            match hash(seed, count) % 10 {
                0..3 => Fate::Drop,
                _ => Fate::Deliver,
            }
        });
        world.run_until("the handshake is done", |world| {
            world.client.is_established() && world.server.is_established()
        });
        late += u64::from(world.elapsed() > PATIENCE);
    }
    assert!(late <= MOST_LATE, "{late} of {HANDSHAKES}");
}

#[test]
fn what_stands_behind_a_packet_without_keys_is_read() {
    let config = server_config(factory(Script::new(Policy::Free)));
    let mut world = World::before_handshake(config, 1);
    // The client has no Initial keys any more, and the server does not hear of it.
    world.run_until("the client is done", |world| world.client.is_established());
    let done = world.elapsed();
    world.link = Box::new(|passage| match passage.from {
        Side::Client => Fate::Drop,
        Side::Server => Fate::Deliver,
    });
    world.run_for(Duration::from_secs(1));
    let of = |side| {
        world
            .trace
            .iter()
            .filter(move |passage| passage.from == side)
    };
    let again = of(Side::Server)
        .find(|passage| passage.at > done)
        .expect("the server repeats its flight, Initial and Handshake packets together");
    let answers = of(Side::Client).filter(|passage| passage.at == again.at + DELAY);
    assert_eq!(answers.count(), 1);
}
