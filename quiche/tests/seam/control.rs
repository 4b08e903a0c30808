//! Control frames do not wait for the release of data; the window binds them, as upstream.

use std::time::Duration;

use quiche::{ConnectionId, Error, Shutdown};

use crate::controller::{factory, Policy, Script};
use crate::world::{base_config, payload, server_config, World, DELAY, STREAM};

/// A server that holds ten kilobytes for ever.
fn holding() -> World {
    holding_with(|_| {})
}

/// The same, with a client's configuration of its own.
fn holding_with(adjust: impl Fn(&mut quiche::Config)) -> World {
    let server = server_config(factory(Script::new(Policy::HoldAfter(0))));
    let mut client = base_config();
    adjust(&mut client);
    let mut world = World::between(server, client, 1);
    world.write(&payload(10_000));
    world.run_for(DELAY * 3);
    world
}

/// The server's packets from here on: none carries data.
fn assert_no_data_left(world: &World) {
    let mut sent = world.controller().sent.iter();
    assert!(
        sent.all(|packet| !packet.app_data && !packet.released),
        "held data left"
    );
}

#[test]
fn the_handshake_is_confirmed_while_data_is_held() {
    let config = server_config(factory(Script::new(Policy::HoldAfter(0))));
    let mut world = World::before_handshake(config, 1);
    world.run_until("the server may send data", |world| {
        world.server.is_established()
    });
    world.write(&payload(10_000));
    let before = world.controller().sent.len();
    world.run_for(DELAY * 10);
    let eliciting = world.controller().sent[before..]
        .iter()
        .filter(|packet| packet.ack_eliciting && !packet.app_data)
        .count();
    assert!(eliciting > 0, "HANDSHAKE_DONE left");
    assert!(
        world.controller().timeouts.is_empty(),
        "and no probe timeout carried it"
    );
    assert_no_data_left(&world);
}

#[test]
fn a_reset_leaves_while_data_is_held() {
    let mut world = holding();
    world.server.stream_send(STREAM + 4, b"x", false).ok();
    world
        .server
        .stream_shutdown(STREAM + 4, Shutdown::Write, 7)
        .expect("the stream is open");
    world.run_for(DELAY);
    world.flush();
    assert_eq!(
        world.client.stream_recv(STREAM + 4, &mut [0; 10]),
        Err(Error::StreamReset(7))
    );
    assert_no_data_left(&world);
}

#[test]
fn stop_sending_leaves_while_data_is_held() {
    let mut world = holding();
    world.client.stream_send(0, b"x", false).expect("it writes");
    world.run_for(DELAY);
    world
        .server
        .stream_shutdown(0, Shutdown::Read, 9)
        .expect("the stream is open");
    world.run_for(DELAY);
    assert_eq!(
        world.client.stream_send(0, b"y", false),
        Err(Error::StreamStopped(9))
    );
    assert_no_data_left(&world);
}

#[test]
fn an_upload_needs_no_release() {
    let mut server = server_config(factory(Script::new(Policy::HoldAfter(0))));
    server.set_initial_max_data(20_000);
    server.set_initial_max_stream_data_bidi_remote(20_000);
    let mut world = World::with_config(server, 1);
    world.write(&payload(10_000));
    let (total, mut written, mut received) = (200_000, 0, 0);
    let data = payload(total);
    world.run_until("the upload is complete", |world| {
        written += world
            .client
            .stream_send(0, &data[written..], false)
            .unwrap_or(0);
        while let Ok((size, _)) = world.server.stream_recv(0, &mut [0; 65_536]) {
            received += size;
        }
        received == total
    });
    assert_no_data_left(&world);
}

#[test]
fn more_streams_are_allowed_while_data_is_held() {
    let mut world = holding();
    for id in 0..10 {
        world
            .client
            .stream_send(id * 4, b"x", true)
            .expect("it writes");
    }
    world.run_for(DELAY * 2);
    assert_eq!(world.client.peer_streams_left_bidi(), 0);
    for id in 0..10 {
        world
            .server
            .stream_recv(id * 4, &mut [0; 10])
            .expect("it reads");
        world
            .server
            .stream_shutdown(id * 4, Shutdown::Write, 0)
            .expect("the stream is open");
    }
    world.run_for(DELAY * 3);
    assert!(
        world.client.peer_streams_left_bidi() > 0,
        "MAX_STREAMS left"
    );
    assert_no_data_left(&world);
}

#[test]
fn connection_ids_are_issued_and_retired_while_data_is_held() {
    let mut world = holding_with(|client| client.set_active_connection_id_limit(4));
    let id = ConnectionId::from_ref(&[0x77; 16]);
    world
        .server
        .new_scid(&id, 77, false)
        .expect("the client takes more");
    world.run_for(DELAY);
    assert_eq!(world.client.available_dcids(), 1, "NEW_CONNECTION_ID left");

    // The server replaces its first one by the second: the client has to answer, and be answered.
    let id = ConnectionId::from_ref(&[0x78; 16]);
    world
        .client
        .new_scid(&id, 78, false)
        .expect("the server takes more");
    world.run_for(DELAY);
    world.server.retire_dcid(0).expect("there is another");
    world.run_for(DELAY);
    assert_eq!(world.client.retired_scids(), 1, "RETIRE_CONNECTION_ID left");
    assert_no_data_left(&world);
}

#[test]
fn a_ping_leaves_while_data_is_held() {
    let mut world = holding();
    let before = world.controller().sent.len();
    world.server.send_ack_eliciting().expect("it is connected");
    world.flush();
    let sent = &world.controller().sent[before..];
    assert!(matches!(sent, [ping] if ping.ack_eliciting && !ping.released));
}

#[test]
fn a_peer_is_told_once_of_a_limit_that_blocks() {
    let mut world = holding_with(|client| client.set_initial_max_data(10_100));
    for _ in 0..20 {
        world.write(&payload(10_000));
        world.run_for(Duration::from_millis(5));
    }
    world.run_for(DELAY);
    assert_eq!(world.client.stats().data_blocked_recv_count, 1);
    assert_no_data_left(&world);
}

#[test]
fn control_frames_wait_for_the_window() {
    let script = Script::new(Policy::Free).window(2_400);
    let mut world = World::new(script, 1);
    world.client.stream_send(0, b"x", false).expect("it writes");
    world.run_for(DELAY * 3);
    world.write(&payload(10_000));
    world.flush();
    let in_flight = world.controller().sent.last().expect("packets left");
    assert_eq!(in_flight.bytes_in_flight, 2_400, "the window is full");
    let before = world.controller().sent.len();
    world
        .server
        .stream_shutdown(0, Shutdown::Read, 7)
        .expect("the stream is open");
    world.run_for(DELAY);
    assert_eq!(world.controller().sent.len(), before, "nothing fits");
    world.run_for(DELAY * 3);
    assert_eq!(
        world.client.stream_send(0, b"y", false),
        Err(Error::StreamStopped(7))
    );
}

#[test]
fn a_delayed_acknowledgement_still_waits_for_other_frames() {
    let mut server = server_config(factory(Script::new(Policy::HoldAfter(0))));
    server.set_delayed_acks(9);
    let mut world = World::with_config(server, 1);
    world.write(&payload(10_000));
    world.run_for(DELAY * 3);
    // quiche skips a packet number early on, and what is out of order is acknowledged at once.
    for _ in 0..20 {
        world.client.stream_send(0, b"x", false).expect("it writes");
        world.run_for(DELAY * 3);
    }
    let before = world.controller().sent.len();
    world.client.stream_send(0, b"x", false).expect("it writes");
    world.run_for(DELAY);
    world.flush();
    let sent = &world.controller().sent[before..];
    assert!(sent.is_empty(), "it waits for more: {sent:?}");
    world.run_for(Duration::from_millis(25));
    assert_eq!(
        world.controller().sent.len(),
        before + 1,
        "and not for ever"
    );
}
