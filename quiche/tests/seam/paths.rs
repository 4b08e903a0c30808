//! Rebinding and migration while data is held, with the gate in between.

use std::net::SocketAddr;
use std::time::Duration;

use quiche::{ConnectionId, PathEvent};

use crate::controller::{factory, Policy, Script, Scripted};
use crate::world::{
    address, base_config, payload, server_config, Fate, Sending, Side, World, DELAY, STREAM,
};

fn world(script: Script) -> World {
    let mut server = server_config(factory(script));
    server.set_active_connection_id_limit(8);
    let mut client = base_config();
    client.set_active_connection_id_limit(8);
    let mut world = World::between(server, client, 1);
    for number in 0..6u8 {
        let id = [0x60 + number; 16];
        let token = u128::from(number);
        world
            .server
            .new_scid(&ConnectionId::from_ref(&id), token, false)
            .expect("the client takes more");
        let id = [0x70 + number; 16];
        world
            .client
            .new_scid(&ConnectionId::from_ref(&id), token, false)
            .expect("the server takes more");
    }
    world.run_for(DELAY * 4);
    world
}

fn validated(world: &mut World) -> Vec<SocketAddr> {
    let mut events = Vec::new();
    while let Some(event) = world.server.path_event_next() {
        if let PathEvent::Validated(_, peer) = event {
            events.push(peer);
        }
    }
    events
}

#[test]
fn a_path_is_validated_while_data_is_held() {
    let mut world = world(Script::new(Policy::HoldAfter(0)));
    world.write(&payload(10_000));
    world.run_for(DELAY);
    world.rebind(9);
    world.client.send_ack_eliciting().expect("it is connected");
    world.run_for(DELAY * 6);
    let seen = SocketAddr::new(address(Side::Client).ip(), 9);
    assert_eq!(validated(&mut world), [seen], "within three round trips");
}

/// How many challenges the client has sent, and how many answers it has received.
#[cfg(feature = "qlog")]
fn challenges_and_answers(log: &crate::qlog::Memory) -> [usize; 2] {
    let text = log.text();
    let count = |event: &str, frame: &str| {
        let lines = text.lines().filter(|line| line.contains(event));
        lines.map(|line| line.matches(frame).count()).sum()
    };
    [
        count("packet_sent", "path_challenge"),
        count("packet_received", "path_response"),
    ]
}

/// The client challenges the path that is in use.
#[cfg(feature = "qlog")]
fn challenge(world: &mut World) -> crate::qlog::Memory {
    let log = crate::qlog::Memory::default();
    let writer = Box::new(log.clone());
    world.client.set_qlog(writer, "seam".into(), "test".into());
    let (local, peer) = (address(Side::Client), address(Side::Server));
    world.client.probe_path(local, peer).expect("it may probe");
    log
}

#[test]
#[cfg(feature = "qlog")]
fn a_challenge_is_answered_while_data_is_held() {
    let mut world = world(Script::new(Policy::HoldAfter(0)));
    world.write(&payload(10_000));
    world.run_for(DELAY);
    let log = challenge(&mut world);
    world.run_for(DELAY * 3);
    assert_eq!(challenges_and_answers(&log), [1, 1]);
}

#[test]
#[cfg(feature = "qlog")]
fn a_challenge_that_finds_no_room_is_answered_later() {
    let mut world = world(Script::new(Policy::Free).window(2_400));
    // The challenge arrives while the server's window is full, before the acknowledgement.
    let log = challenge(&mut world);
    world.run_for(DELAY - Duration::from_micros(10));
    world.write(&payload(10_000));
    world.flush();
    let last = world.controller().sent.last().expect("packets left");
    assert_eq!(last.bytes_in_flight, 2_400, "the window is full");
    world.run_for(DELAY * 8);
    // The first was acknowledged before it was answered, so the client has asked again.
    assert_eq!(challenges_and_answers(&log), [2, 2]);
}

/// A transfer of 400 kB, with the client's port changing three times; how long it takes.
fn rebound(upload: bool, mut world: World) -> Duration {
    world.sending = Sending {
        batches: true,
        takes: Duration::from_micros(5),
        largest: 0,
    };
    let data = payload(400_000);
    let (mut written, mut received) = (0, Vec::new());
    let mut ports = [10, 11, 12].into_iter();
    let mut next_change = 100_000;
    let start = world.now;
    world.run_until("the transfer is complete", |world| {
        if received.len() > next_change {
            next_change += 100_000;
            world.rebind(ports.next().expect("three changes"));
        }
        let (from, to, id) = match upload {
            true => (&mut world.client, &mut world.server, 0),
            false => (&mut world.server, &mut world.client, STREAM),
        };
        written += from.stream_send(id, &data[written..], false).unwrap_or(0);
        let mut buffer = [0; 65_536];
        while let Ok((size, _)) = to.stream_recv(id, &mut buffer) {
            received.extend_from_slice(&buffer[..size]);
        }
        received.len() == data.len()
    });
    assert_eq!(received, data);
    assert_eq!(ports.next(), None, "three changes");
    world.now - start
}

#[test]
fn a_download_goes_on_behind_a_new_port() {
    let spent = rebound(
        false,
        world(Script::new(Policy::Paced(Duration::from_millis(1)))),
    );
    assert!(spent < Duration::from_secs(5), "it took {spent:?}");
}

#[test]
fn an_upload_goes_on_behind_a_new_port_while_the_server_holds_its_own_data() {
    let spent = rebound(true, {
        let mut world = world(Script::new(Policy::HoldAfter(0)));
        world.write(&payload(10_000));
        world
    });
    assert!(spent < Duration::from_secs(5), "it took {spent:?}");
}

#[test]
fn a_client_that_migrates_leaves_no_held_data_behind() {
    // The client holds data on a path of its own controller, and changes the path.
    let gap = Duration::from_millis(30);
    let mut client = server_config(factory(Script::new(Policy::Paced(gap))));
    client.set_active_connection_id_limit(4);
    let mut server = base_config();
    server.set_active_connection_id_limit(4);
    let mut world = World::between(server, client, 1);
    world
        .server
        .new_scid(&ConnectionId::from_ref(&[0x60; 16]), 1, false)
        .expect("the client takes more");
    world
        .client
        .new_scid(&ConnectionId::from_ref(&[0x70; 16]), 2, false)
        .expect("the server takes more");
    world.run_for(DELAY * 4);
    let data = payload(20_000);
    let mut written = 0;
    let elsewhere = SocketAddr::from(([10, 0, 0, 1], 33));
    world
        .client
        .probe_path(elsewhere, address(Side::Server))
        .expect("it may probe");
    let (mut received, mut moved) = (0, false);
    world.run_until("the upload is complete", |world| {
        written += world
            .client
            .stream_send(0, &data[written..], false)
            .unwrap_or(0);
        if received > 3_000 && !moved {
            world
                .client
                .migrate(elsewhere, address(Side::Server))
                .expect("it is validated");
            moved = true;
        }
        while let Ok((size, _)) = world.server.stream_recv(0, &mut [0; 65_536]) {
            received += size;
        }
        received == data.len()
    });
    let controller = world.client.congestion_controller::<Scripted>();
    let released = controller.expect("the new path's").released().count();
    assert!(released > 5, "{released} packets on the new path");
}

#[test]
fn an_outage_longer_than_a_path_validation_is_survived() {
    let mut world = world(Script::new(Policy::Paced(Duration::from_millis(2))));
    let outage = world.elapsed() + Duration::from_millis(200);
    world.link = Box::new(move |passage| {
        let end = outage + Duration::from_secs(2);
        match passage.at > outage && passage.at < end {
            true => Fate::Drop,
            false => Fate::Deliver,
        }
    });
    assert_eq!(world.transfer(300_000), payload(300_000));
}

#[test]
fn a_path_that_comes_later_keeps_to_what_the_peer_takes_as_well() {
    let mut server = server_config(factory(Script::new(Policy::Free)));
    server.set_max_send_udp_payload_size(1_400);
    server.set_active_connection_id_limit(8);
    let mut client = base_config();
    client.set_max_recv_udp_payload_size(1_300);
    client.set_active_connection_id_limit(8);
    let mut world = World::between(server, client, 1);
    let id = ConnectionId::from_ref(&[0x70; 16]);
    let told = world.client.new_scid(&id, 2, false);
    told.expect("the server takes more");
    world.run_for(DELAY * 4);
    let largest = |world: &World| {
        let sent = world.trace.iter().filter(|it| it.from == Side::Server);
        sent.map(|passage| passage.size).max()
    };
    world.transfer(30_000);
    assert_eq!(largest(&world), Some(1_300));
    world.rebind(9);
    world.client.send_ack_eliciting().expect("it is connected");
    world.run_for(DELAY * 8);
    world.write(&payload(30_000));
    world.run_for(DELAY * 20);
    let ports = world.server.paths_iter(address(Side::Server)).count();
    assert_eq!(ports, 2, "the client is on another path");
    assert_eq!(largest(&world), Some(1_300));
}
