//! Delayed acknowledgements and requests about them (draft-ietf-quic-ack-frequency-14).

mod answering;
mod codec;
mod delayed;
mod following;
mod hostile;
#[cfg(feature = "qlog")]
mod logged;
mod receiver;
mod requesting;

use std::time::Duration;

use quiche::cc::AckFrequency;
use quiche::Config;

use crate::controller::{factory, Script};
use crate::world::{base_config, payload, server_config, Side, World};

const MS: Duration = Duration::from_millis(1);

/// A client that follows requests down to a millisecond.
fn following() -> Config {
    let mut config = base_config();
    config.enable_ack_frequency(MS);
    config
}

fn request(threshold: u64, max_ack_delay: Duration, reordering: u64) -> AckFrequency {
    AckFrequency {
        ack_eliciting_threshold: threshold,
        max_ack_delay,
        reordering_threshold: reordering,
    }
}

/// A server of this script and this client, with the handshake done.
fn world(script: Script, client: Config) -> World {
    let mut world = World::of_both(server_config(factory(script)), client, 1);
    world.shake_hands();
    world
}

/// Makes the server's controller ask for something else from now on.
fn ask(world: &mut World, request: AckFrequency) {
    let scripted = world
        .server
        .congestion_controller_mut::<crate::controller::Scripted>();
    scripted.expect("a script").script.frequency = Some(request);
}

/// One packet of the server with a little data.
fn send_packet(world: &mut World) {
    let data = payload(500);
    assert_eq!(world.write(&data), data.len());
    world.flush();
}

/// Datagrams that a side sent since the trace was `from` long.
fn datagrams(world: &World, from: usize, side: Side) -> usize {
    world.trace[from..]
        .iter()
        .filter(|passage| passage.from == side)
        .count()
}
