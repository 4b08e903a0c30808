//! Packets without data, of any size, that the peer acknowledges.

use std::time::Duration;

use quiche::{Config, Connection, Error, RecvInfo};

use crate::controller::{factory, Policy, Script};
use crate::world::{base_config, server_config, World};

/// A client that acknowledges every tenth packet, unless it is asked for more.
fn patient() -> Config {
    let mut config = base_config();
    config.enable_ack_frequency(Duration::from_millis(1));
    config.set_delayed_acks(9);
    config
}

fn world(client: Config) -> World {
    World::between(server_config(factory(Script::new(Policy::Free))), client, 1)
}

/// Sends a packet into a buffer of this size and hands it to the other side.
fn pass(from: &mut Connection, to: &mut Connection, size: usize) -> usize {
    let mut buffer = vec![0; size];
    let (written, info) = from.send(&mut buffer).expect("a packet");
    let way = RecvInfo {
        from: info.from,
        to: info.to,
    };
    to.recv(&mut buffer[..written], way).expect("a good packet");
    written
}

#[test]
fn a_padded_ping_fills_the_buffer_once_and_is_acknowledged() {
    let mut world = world(base_config());
    for size in [64, 500, 972, 1200] {
        let World { server, client, .. } = &mut world;
        server.send_padded_ping().expect("it is established");
        assert_eq!(pass(server, client, size), size);
        assert_eq!(server.send(&mut [0; 1200]), Err(Error::Done), "{size}");
        assert!(pass(client, server, 1200) < 64, "an acknowledgement alone");
    }
}

#[test]
fn a_peer_that_takes_requests_acknowledges_it_at_once() {
    let mut world = world(patient());
    let World { server, client, .. } = &mut world;
    server.send_ack_eliciting().expect("it is established");
    pass(server, client, 1200);
    assert_eq!(client.send(&mut [0; 1200]), Err(Error::Done), "it waits");
    server.send_padded_ping().expect("it is established");
    pass(server, client, 1000);
    assert!(pass(client, server, 1200) < 64, "an acknowledgement alone");
}

#[test]
fn without_a_connection_there_is_no_padded_ping() {
    let mut world = World::before_handshake(base_config(), 1);
    assert_eq!(world.client.send_padded_ping(), Err(Error::InvalidState));
    world.shake_hands();
    assert_eq!(world.client.send_padded_ping(), Ok(()));
    world.client.close(true, 0, b"").expect("it is open");
    world.run_for(Duration::from_millis(100));
    assert_eq!(world.client.send_padded_ping(), Err(Error::InvalidState));
}

#[test]
fn a_padded_ping_that_the_window_has_no_room_for_is_still_due() {
    let script = Script::new(Policy::Free).window(2_400);
    let mut world = World::between(server_config(factory(script)), base_config(), 1);
    let World { server, client, .. } = &mut world;
    let most = server
        .dgram_max_writable_len()
        .expect("the client takes them");
    for _ in 0..2 {
        server.dgram_send(&vec![7; most]).expect("it fits");
        pass(server, client, 1200);
    }
    server.send_padded_ping().expect("it is established");
    assert_eq!(server.send(&mut [0; 1200]), Err(Error::Done));
    pass(client, server, 1200);
    assert_eq!(pass(server, client, 1000), 1000);
}
