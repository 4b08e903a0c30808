//! What a controller's requests do to its own side.

use std::time::Duration;

use boring::ssl::{SelectCertError, SslContextBuilder, SslMethod};
use quiche::cc::PeerAcks;

use super::{ask, datagrams, following, request, send_packet, world, MS};
use crate::controller::{factory, Policy, Script, Scripted};
use crate::world::{
    address, base_config, complete, payload, server_config, Fate, Side, World, DELAY,
};

fn asking() -> Script {
    Script::new(Policy::Paced(MS)).frequency(request(9, 100 * MS, 3))
}

#[test]
fn a_controller_is_told_once_how_the_peer_acknowledges() {
    let mut world = world(asking(), following());
    world.transfer(50_000);
    let expected = PeerAcks {
        min_ack_delay: Some(MS),
        max_ack_delay: 25 * MS,
    };
    assert_eq!(world.controller().peer_acks, [expected]);
}

#[test]
fn a_peer_that_does_not_understand_is_asked_nothing() {
    let mut world = world(asking().immediate_every(1), base_config());
    world.transfer(50_000);
    let controller = world.controller();
    assert_eq!(controller.peer_acks.len(), 1);
    assert_eq!(controller.peer_acks[0].min_ack_delay, None);
    assert_eq!(controller.immediate_asked + controller.frequency_asked, 0);
}

#[test]
fn the_questions_are_asked_once_for_each_packet_with_data() {
    let mut world = world(asking().immediate_every(3), following());
    world.transfer(50_000);
    let controller = world.controller();
    let with_data = controller
        .sent
        .iter()
        .filter(|packet| packet.app_data)
        .count();
    assert_eq!(controller.frequency_asked as usize, with_data);
    assert_eq!(
        controller.immediate_asked as usize,
        controller.released().count()
    );
}

/// The part that the server's probe timeout adds to its round trip estimate, right after a packet
/// left.
fn delay_in_probe_timeout(world: &mut World) -> Duration {
    send_packet(world);
    let mut paths = world.server.path_stats();
    let stats = paths.find(|path| path.active).expect("an active path");
    drop(paths);
    let estimate = stats.rtt + (4 * stats.rttvar).max(MS);
    let timer = world.server.timeout_instant().expect("the loss timer runs");
    timer - world.now - estimate
}

#[test]
fn the_probe_timeout_counts_with_the_greatest_delay_until_the_request_is_acknowledged() {
    let mut world = world(Script::new(Policy::Free), following());
    send_packet(&mut world);
    world.run_for(4 * DELAY);
    assert_eq!(delay_in_probe_timeout(&mut world), 25 * MS);
    world.run_for(4 * DELAY);

    // A longer delay counts as soon as the request is in flight, and after that.
    ask(&mut world, request(0, 80 * MS, 3));
    assert_eq!(delay_in_probe_timeout(&mut world), 80 * MS);
    world.run_for(4 * DELAY);
    assert_eq!(delay_in_probe_timeout(&mut world), 80 * MS);
    world.run_for(4 * DELAY);

    // A shorter delay counts only when the peer is known to have the request.
    ask(&mut world, request(0, 10 * MS, 3));
    assert_eq!(delay_in_probe_timeout(&mut world), 80 * MS);
    ask(&mut world, request(0, 5 * MS, 3));
    assert_eq!(
        delay_in_probe_timeout(&mut world),
        80 * MS,
        "the greatest of three"
    );
    world.run_for(4 * DELAY);
    assert_eq!(delay_in_probe_timeout(&mut world), 5 * MS);
}

/// The part of the delay in the probe timeout after one ran out, because nothing of this side
/// arrived for two round trips.
fn delay_after_a_timeout(silenced: Side) -> Duration {
    let mut world = world(Script::new(Policy::Free), following());
    ask(&mut world, request(0, 2 * MS, 3));
    send_packet(&mut world);
    world.run_for(4 * DELAY);
    let from = world.now - world.start;
    world.link = Box::new(move |passage| {
        let is_silent = passage.from == silenced && passage.at < from + 2 * DELAY;
        if is_silent {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    send_packet(&mut world);
    world.run_for(20 * DELAY);
    assert!(!world.controller().timeouts.is_empty());
    delay_in_probe_timeout(&mut world)
}

#[test]
fn a_probe_timeout_in_vain_is_the_last_that_is_shorter_than_without_requests() {
    // The packet had arrived, and only its acknowledgement was lost.
    assert_eq!(delay_after_a_timeout(Side::Client), 25 * MS);
    // It had not, and the timeout was right.
    assert_eq!(delay_after_a_timeout(Side::Server), 2 * MS);
}

#[test]
fn many_requests_in_flight_are_remembered_by_their_greatest() {
    let mut world = world(Script::new(Policy::Free), following());
    ask(&mut world, request(0, 90 * MS, 3));
    send_packet(&mut world);
    for delay in 1..=30 {
        ask(&mut world, request(0, delay * MS, 3));
        assert_eq!(delay_in_probe_timeout(&mut world), 90 * MS);
    }
    world.run_for(4 * DELAY);
    assert_eq!(delay_in_probe_timeout(&mut world), 30 * MS);
}

#[test]
fn a_request_is_brought_into_the_peers_range() {
    let mut world = world(Script::new(Policy::Free), following());
    ask(&mut world, request(u64::MAX, Duration::ZERO, u64::MAX));
    send_packet(&mut world);
    world.run_for(4 * DELAY + 10 * MS);
    assert_eq!(delay_in_probe_timeout(&mut world), MS);
    world.run_for(4 * DELAY);
    ask(&mut world, request(0, Duration::MAX, 0));
    let longest = Duration::from_micros((1 << 14) * 1_000 - 1);
    assert_eq!(delay_in_probe_timeout(&mut world), longest);
    world.run_for(4 * DELAY);
    assert!(world.client.local_error().is_none() && !world.client.is_closed());
}

/// Server packets and client datagrams of a transfer.
fn ratio(world: &mut World) -> (usize, usize) {
    let from = world.trace.len();
    world.transfer(100_000);
    (
        datagrams(world, from, Side::Server),
        datagrams(world, from, Side::Client),
    )
}

#[test]
fn a_request_that_was_lost_is_sent_again() {
    let mut world = world(Script::new(Policy::Paced(MS)), following());
    world.transfer(20_000);
    ask(&mut world, request(19, 1_000 * MS, 3));
    let mut lose = 1;
    world.link = Box::new(move |passage| {
        if passage.from == Side::Server && lose > 0 {
            lose -= 1;
            return Fate::Drop;
        }
        Fate::Deliver
    });
    world.transfer(120_000);
    assert_eq!(
        world.controller().losses.len(),
        1,
        "the packet with the request"
    );
    let (packets, acks) = ratio(&mut world);
    assert!(acks * 8 < packets, "{acks} for {packets} packets");
}

#[test]
fn a_lost_request_is_sent_again_though_its_controller_asks_no_more() {
    let mut world = world(Script::new(Policy::Paced(MS)), following());
    world.transfer(20_000);
    world.run_for(4 * DELAY);
    world.link = Box::new(|_| Fate::Drop);
    ask(&mut world, request(19, 1_000 * MS, 3));
    send_packet(&mut world);
    world.link = Box::new(|_| Fate::Deliver);
    let scripted = world.server.congestion_controller_mut::<Scripted>();
    scripted.expect("a script").script.frequency = None;
    let mut received = Vec::new();
    for _ in 0..100 {
        world.run_for(MS);
        send_packet(&mut world);
    }
    world.run_for(10 * DELAY);
    world.read(&mut received);
    let (packets, acks) = ratio(&mut world);
    assert!(acks * 8 < packets, "{acks} for {packets} packets");
}

#[test]
fn of_two_requests_only_the_newest_is_sent_again() {
    let mut world = world(Script::new(Policy::Paced(MS)), following());
    world.transfer(20_000);
    world.run_for(4 * DELAY);
    // The first is lost, the second arrives before the loss is known.
    world.link = Box::new(|_| Fate::Drop);
    ask(&mut world, request(49, 1_000 * MS, 3));
    send_packet(&mut world);
    world.link = Box::new(|_| Fate::Deliver);
    world.run_for(2 * MS);
    ask(&mut world, request(0, 1_000 * MS, 3));
    send_packet(&mut world);
    let mut received = Vec::new();
    world.run_for(10 * DELAY);
    world.read(&mut received);
    assert_eq!(world.controller().losses.len(), 1);
    let from = world.trace.len();
    for _ in 0..100 {
        send_packet(&mut world);
        world.run_for(MS);
    }
    let (packets, acks) = (
        datagrams(&world, from, Side::Server),
        datagrams(&world, from, Side::Client),
    );
    // The last 20 ms of acknowledgements have not been sent yet.
    assert!(acks + 25 > packets, "{acks} for {packets} packets");
}

#[test]
fn a_path_that_is_migrated_to_asks_anew() {
    let mut server = server_config(factory(asking()));
    let mut client = following();
    for config in [&mut server, &mut client] {
        config.set_active_connection_id_limit(4);
        config.set_disable_active_migration(false);
    }
    let mut world = World::of_both(server, client, 1);
    world.shake_hands();
    world.transfer(50_000);
    let before = world.controller().frequency_asked;
    assert!(before > 0);
    for (connection, seed) in [(&mut world.client, 0x77), (&mut world.server, 0x88)] {
        let id = quiche::ConnectionId::from_ref(&[seed; 16]).into_owned();
        connection.new_scid(&id, seed.into(), false).expect("an ID");
    }
    world.run_for(4 * DELAY);
    let mut moved = address(Side::Client);
    moved.set_port(4_444);
    world.client.migrate_source(moved).expect("it may migrate");
    world.run_for(10 * DELAY);
    let old = world.controller().sent.len();
    world.transfer(50_000);
    let controller = world.controller();
    assert!(
        controller.sent.len() < old + 60,
        "another path's controller"
    );
    assert_eq!(controller.peer_acks.len(), 1, "told about the peer as well");
    assert!(controller.frequency_asked > 0);
    let (packets, acks) = ratio(&mut world);
    assert!(acks * 4 < packets, "{acks} for {packets} packets");
    world.run_for(10 * DELAY);
    assert_eq!(
        delay_in_probe_timeout(&mut world),
        100 * MS,
        "the request still in force counts for a path that was built after it"
    );
}

#[test]
fn recovery_without_a_plug_in_asks_nothing() {
    let acks = |client| {
        let mut world = World::of_both(base_config(), client, 1);
        world.shake_hands();
        assert!(world.server.congestion_controller::<Scripted>().is_none());
        ratio(&mut world)
    };
    assert_eq!(acks(following()), acks(base_config()));
}

#[test]
fn an_answer_that_found_no_packet_with_data_is_kept_for_the_next() {
    // The data is released, for a buffer into which the datagram does not fit.
    let script = Script::new(Policy::Free).immediate_every(1);
    let mut world = world(script, following());
    let before = world.controller().sent.len();
    world
        .server
        .dgram_send(&payload(1_000))
        .expect("room in the queue");
    for _ in 0..2 {
        let sent = world.server.send(&mut [0; 300]);
        assert!(matches!(sent, Err(quiche::Error::Done)), "{sent:?}");
    }
    assert_eq!(world.controller().sent.len(), before, "nothing left");
    assert_eq!(world.controller().immediate_asked, 1);
    let scripted = world.server.congestion_controller_mut::<Scripted>();
    let script = &mut scripted.expect("a script").script;
    script.immediate_every = None;
    let from = world.trace.len();
    world.flush();
    let left = &world.controller().sent[before..];
    assert_eq!((left.len(), world.controller().immediate_asked), (1, 1));
    // Header, tag, the datagram with its header of three bytes, and one byte more.
    let size = world.trace[from].size;
    world
        .server
        .dgram_send(&payload(1_000))
        .expect("room in the queue");
    world.flush();
    assert_eq!(world.trace[from + 1].size, size - 1, "without the frame");
}

/// Sends ten datagrams of `length` one after the other; returns the requests that left with them.
fn requests_beside(world: &mut World, length: usize) -> (usize, u32, u32) {
    let before = world.controller().released().count();
    for _ in 0..10 {
        let sent = world.server.dgram_send(&payload(length));
        sent.expect("room in the queue");
        world.flush();
        world.run_for(100 * MS);
    }
    let packets = world.controller().released().count() - before;
    let controller = world.controller();
    (
        packets,
        controller.immediate_asked,
        controller.frequency_asked,
    )
}

#[test]
fn datagrams_of_the_largest_size_leave_room_for_requests() {
    let mut world = world(asking().immediate_every(1), following());
    let length = world.server.dgram_max_writable_len().expect("datagrams");
    let (packets, immediate, frequency) = requests_beside(&mut world, length);
    assert_eq!(packets, 10);
    assert!(immediate >= 9 && frequency >= 1, "{immediate}, {frequency}");
}

/// A server that changes its transport parameters from within the handshake.
pub fn reconfigured_in_handshake() -> quiche::Config {
    let mut builder = SslContextBuilder::new(SslMethod::tls()).expect("a context");
    builder.set_select_certificate_callback(|mut hello| {
        <quiche::Connection>::set_max_idle_timeout_in_handshake(hello.ssl_mut(), 12_345)
            .map_err(|_| SelectCertError::ERROR)
    });
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, builder)
        .expect("a configuration");
    complete(&mut config);
    config
}

#[test]
fn a_change_of_parameters_within_the_handshake_keeps_this_one() {
    let mut client = following();
    client.set_congestion_controller(factory(Script::new(Policy::Free)));
    let mut server = reconfigured_in_handshake();
    server.enable_ack_frequency(2 * MS);
    let mut world = World::of_both(server, client, 1);
    world.shake_hands();
    let params = world
        .client
        .peer_transport_params()
        .expect("they are known");
    assert_eq!(params.max_idle_timeout, 12_345);
    world
        .client
        .stream_send(2, b"hello", true)
        .expect("the stream is open");
    world.flush();
    let controller = world.client.congestion_controller::<Scripted>();
    let told = &controller.expect("a script").peer_acks;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].min_ack_delay, Some(2 * MS));
}
