//! Which side sends timestamps to the other.

use super::{config, read, told, write};
use crate::world::{payload, Passage, Side, World, DELAY};

/// Data both ways. Whether client and server are told times, and their datagrams after the
/// handshake.
fn exchange(client: (u64, bool), server: (u64, bool)) -> ([bool; 2], Vec<Passage>) {
    let mut world = World::between(config(server.0, server.1), config(client.0, client.1), 1);
    world.trace.clear();
    for _ in 0..10 {
        write(&mut world.server, 3, &payload(5_000));
        write(&mut world.client, 2, &payload(5_000));
        world.run_for(DELAY);
        read(&mut world.client, 3);
        read(&mut world.server, 2);
    }
    world.run_for(DELAY * 4);
    let agreed = |connection: &quiche::Connection| connection.receive_timestamps_sent().is_some();
    let sends = [agreed(&world.client), agreed(&world.server)];
    let is_told = [Side::Client, Side::Server].map(|side| !told(&mut world, side).is_empty());
    assert_eq!([sends[1], sends[0]], is_told, "what is sent is told");
    (is_told, std::mem::take(&mut world.trace))
}

#[test]
fn times_flow_where_one_asked_and_the_other_answers() {
    let (nobody, plain) = exchange((0, false), (0, false));
    assert_eq!(nobody, [false, false]);
    for bits in 1..16u32 {
        let bit = |index: u32| bits >> index & 1 == 1;
        let client = (if bit(0) { 50 } else { 0 }, bit(1));
        let server = (if bit(2) { 50 } else { 0 }, bit(3));
        let (is_told, trace) = exchange(client, server);
        let expected = [client.0 > 0 && server.1, server.0 > 0 && client.1];
        assert_eq!(is_told, expected, "client {client:?}, server {server:?}");
        let changed: Vec<bool> = [Side::Client, Side::Server]
            .map(|side| sizes(&trace, side) != sizes(&plain, side))
            .into();
        // If one side is told times, the other side's packets are larger by these.
        assert_eq!(
            changed,
            [expected[1], expected[0]],
            "client {client:?}, server {server:?}"
        );
    }
}

fn sizes(trace: &[Passage], from: Side) -> Vec<usize> {
    let of_side = trace.iter().filter(|passage| passage.from == from);
    of_side.map(|passage| passage.size).collect()
}
