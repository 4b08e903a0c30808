//! A peer that breaks the rules, or follows them in bad faith.

use quiche::ack_frequency::Request;
use quiche::{Config, Error, Type};

use super::{datagrams, following, request, send_packet, MS};
use crate::controller::{factory, Policy, Script, Scripted};
use crate::world::{base_config, payload, Side, World, DELAY};

const PROTOCOL_VIOLATION: u64 = 0x0a;
const FRAME_ENCODING_ERROR: u64 = 0x07;
const LARGEST: u64 = (1 << 62) - 1;

fn frequency(sequence: u64, threshold: u64, max_ack_delay: u64, reordering: u64) -> Request {
    Request::Frequency {
        sequence,
        ack_eliciting_threshold: threshold,
        max_ack_delay,
        reordering_threshold: reordering,
    }
}

fn paced() -> Script {
    Script::new(Policy::Paced(MS))
}

/// The error with which the client closes when the server sends these requests in a 1-RTT packet.
fn closed_with(client: Config, requests: &[Request]) -> Option<u64> {
    let mut world = super::world(paced(), client);
    world.expects_errors = true;
    for request in requests {
        world.server.inject_ack_request(Type::Short, *request);
    }
    send_packet(&mut world);
    world.run_for(10 * DELAY);
    let error = world.client.local_error().map(|error| error.error_code);
    let seen = world.server.peer_error().map(|error| error.error_code);
    assert_eq!(seen, error, "the server is told");
    error
}

#[test]
fn a_delay_out_of_range_closes_with_a_protocol_violation() {
    let limit = (1 << 14) * 1_000;
    for delay in [0, 999, limit, LARGEST] {
        let error = closed_with(following(), &[frequency(0, 1, delay, 1)]);
        assert_eq!(error, Some(PROTOCOL_VIOLATION), "{delay} us");
    }
    for delay in [1_000, limit - 1] {
        assert_eq!(closed_with(following(), &[frequency(0, 1, delay, 1)]), None);
    }
}

#[test]
fn a_request_that_nothing_was_advertised_for_is_an_unknown_frame() {
    for request in [Request::Immediate, frequency(0, 1, 25_000, 1)] {
        assert_eq!(
            closed_with(base_config(), &[request]),
            Some(FRAME_ENCODING_ERROR),
            "{request:?}"
        );
    }
}

#[test]
fn obsolete_requests_do_not_close() {
    let requests = [
        frequency(LARGEST, 0, 1_000, 1),
        frequency(0, LARGEST, 1_000_000, 0),
        frequency(LARGEST, 7, 1_000_000, 0),
    ];
    assert_eq!(closed_with(following(), &requests), None);
}

/// The error with which a side closes when the other sends a request in a packet of this type
/// during the handshake.
fn closed_in_handshake(ty: Type, to: Side, config: fn() -> Config) -> Option<u64> {
    let mut server = config();
    server.set_congestion_controller(factory(paced()));
    let mut world = World::of_both(server, config(), 1);
    world.expects_errors = true;
    let from = match to {
        Side::Client => &mut world.server,
        Side::Server => &mut world.client,
    };
    from.inject_ack_request(ty, Request::Immediate);
    world.run_for(10 * DELAY);
    let connection = match to {
        Side::Client => &world.client,
        Side::Server => &world.server,
    };
    connection.local_error().map(|error| error.error_code)
}

#[test]
fn handshake_packets_may_not_carry_requests() {
    for to in [Side::Client, Side::Server] {
        for ty in [Type::Initial, Type::Handshake] {
            assert_eq!(
                closed_in_handshake(ty, to, following),
                Some(PROTOCOL_VIOLATION),
                "{ty:?} to {to:?}"
            );
            assert_eq!(
                closed_in_handshake(ty, to, base_config),
                Some(FRAME_ENCODING_ERROR),
                "{ty:?} to {to:?}, which advertised nothing"
            );
        }
    }
}

/// A configuration for 0-RTT, on both sides alike.
fn early() -> Config {
    let mut config = following();
    config.enable_early_data();
    config
        .set_ticket_key(&[7; 48])
        .expect("a key of the right length");
    config
}

/// Connects, and connects again with the session. The second client has sent its Initial packet.
fn resumed(client: Config) -> World {
    let mut first = World::of_both(early(), early(), 1);
    first.shake_hands();
    let session = first.client.session().expect("a ticket came").to_vec();
    drop(first);
    let mut second = World::of_both(early(), client, 2);
    second
        .client
        .set_session(&session)
        .expect("the session fits");
    second.flush();
    assert!(second.client.is_in_early_data());
    second
}

fn send_early_data(world: &mut World) {
    world
        .client
        .stream_send(2, &payload(3_000), false)
        .expect("early data");
}

#[test]
fn early_data_may_not_carry_requests() {
    let mut world = resumed(early());
    world.expects_errors = true;
    world
        .client
        .inject_ack_request(Type::ZeroRTT, Request::Immediate);
    send_early_data(&mut world);
    world.run_for(10 * DELAY);
    let error = world.server.local_error().map(|error| error.error_code);
    assert_eq!(error, Some(PROTOCOL_VIOLATION));
}

#[test]
fn the_peers_parameter_is_not_remembered_for_early_data() {
    let mut client = early();
    let script = paced().immediate_every(1).frequency(request(9, 50 * MS, 3));
    client.set_congestion_controller(factory(script));
    let mut world = resumed(client);
    send_early_data(&mut world);
    world.run_for(DELAY);
    let controller = world
        .client
        .congestion_controller::<Scripted>()
        .expect("a script");
    assert!(controller.released().count() > 0, "early data left");
    assert_eq!(controller.immediate_asked + controller.frequency_asked, 0);
    assert_eq!(controller.peer_acks, []);
}

#[test]
fn a_flood_of_requests_costs_an_acknowledgement_a_batch_at_most() {
    let mut world = super::world(Script::new(Policy::Free), following());
    let from = world.trace.len();
    let mut sequence = 0;
    let mut sent = 0;
    for _ in 0..200 {
        for _ in 0..100 {
            world
                .server
                .inject_ack_request(Type::Short, Request::Immediate);
            let extreme = [LARGEST, 0, 1][sequence as usize % 3];
            world
                .server
                .inject_ack_request(Type::Short, frequency(sequence, extreme, 1_000, extreme));
            sequence += 1;
        }
        send_packet(&mut world);
        sent += 1;
        world.run_for(5 * MS);
        world.read(&mut Vec::new());
    }
    world.run_for(10 * DELAY);
    let acks = datagrams(&world, from, Side::Client);
    assert!(acks <= sent + 20, "{acks} for {sent} packets");
    assert!(world.client.local_error().is_none());
}

#[test]
fn a_peer_that_never_wants_an_acknowledgement_gets_one_by_the_timer() {
    let mut world = super::world(Script::new(Policy::Free), following());
    let never = frequency(0, LARGEST, 16_000_000, 0);
    world.server.inject_ack_request(Type::Short, never);
    send_packet(&mut world);
    world.run_for(2 * DELAY);
    send_packet(&mut world);
    world.run_for(DELAY);
    let timer = world.client.timeout_instant().expect("a timer runs");
    assert!(timer <= world.now + 16_000 * MS);
    world.read(&mut Vec::new());
    world.transfer(100_000);
}

#[test]
fn errors_of_a_closed_connection_stay_quiet() {
    let mut world = super::world(paced(), following());
    world.expects_errors = true;
    for sequence in 0..50 {
        world
            .server
            .inject_ack_request(Type::Short, frequency(sequence, 0, 0, 0));
        send_packet(&mut world);
    }
    world.run_for(20 * DELAY);
    assert_eq!(world.errors, [(Side::Client, Error::InvalidPacket)]);
}
