//! A server whose controllers ask advertises to clients that do, because a peer may close the
//! connection for requests of a side that advertises nothing.

use std::time::Duration;

use boring::ssl::SslRef;
use foreign_types_shared::ForeignTypeRef;
use quiche::ack_frequency::Request;
use quiche::cc::PeerAcks;
use quiche::Config;

use super::requesting::reconfigured_in_handshake;
use super::{datagrams, following, request, MS};
use crate::controller::{factory, Policy, Script, Scripted};
use crate::world::{base_config, server_config, Side, World, DELAY};

const MIN_ACK_DELAY: u64 = 0xff04_de1b;

fn asking() -> Script {
    Script::new(Policy::Paced(MS))
        .immediate_every(5)
        .frequency(request(9, 100 * MS, 3))
}

/// The value of the parameter that the client was sent.
fn advertised(world: &World) -> Option<Vec<u8>> {
    let params = world.client.peer_transport_params();
    let unknown = params.and_then(|params| params.unknown_params.as_ref())?;
    let found = unknown.into_iter().find(|param| param.id == MIN_ACK_DELAY);
    found.map(|param| param.value.to_vec())
}

/// A handshake between these two, and a transfer.
fn world(server: Config, mut client: Config) -> World {
    client.enable_track_unknown_transport_parameters(256);
    let mut world = World::of_both(server, client, 1);
    world.shake_hands();
    world.transfer(50_000);
    assert!(world.client.local_error().is_none() && world.server.local_error().is_none());
    world
}

fn asked(world: &World) -> (u32, u32) {
    let controller = world.controller();
    (controller.immediate_asked, controller.frequency_asked)
}

#[test]
fn a_client_that_advertises_is_answered_and_asked() {
    let world = world(server_config(factory(asking())), following());
    let millisecond = [0x43, 0xe8];
    assert_eq!(advertised(&world).as_deref(), Some(&millisecond[..]));
    let (immediate, frequency) = asked(&world);
    assert!(immediate > 0 && frequency > 0);
}

#[test]
fn a_client_without_the_parameter_is_sent_none() {
    let mut world = world(server_config(factory(asking())), base_config());
    assert_eq!(advertised(&world), None);
    assert_eq!(asked(&world), (0, 0));
    // The frames of an extension that was not agreed upon are unknown ones.
    world.expects_errors = true;
    world
        .client
        .inject_ack_request(quiche::Type::Short, Request::Immediate);
    world.run_for(10 * DELAY);
    assert!(world.server.local_error().is_some());
}

#[test]
fn controllers_that_do_not_ask_change_nothing_on_the_wire() {
    let mut script = asking();
    script.requests_acks = false;
    let world = world(server_config(factory(script)), following());
    assert_eq!(advertised(&world), None);
    assert_eq!(asked(&world), (0, 0));
}

/// How many of ten packets are acknowledged at once after a request of the client, and whether the
/// last one is within 25 ms.
fn acknowledged(server: Config, ack_eliciting_threshold: u64, delay: Duration) -> (usize, bool) {
    let mut world = world(server, following());
    let request = Request::Frequency {
        sequence: 0,
        ack_eliciting_threshold,
        max_ack_delay: delay.as_micros() as u64,
        reordering_threshold: 1,
    };
    for request in [request, Request::Immediate] {
        world
            .client
            .inject_ack_request(quiche::Type::Short, request);
        world
            .client
            .stream_send(2, b"hello", false)
            .expect("the stream is open");
        world.run_for(10 * DELAY);
    }
    let mut at_once = 0;
    let mut from = 0;
    for _ in 0..10 {
        from = world.trace.len();
        world
            .client
            .stream_send(2, b"hello", false)
            .expect("the stream is open");
        world.run_for(DELAY + MS);
        at_once += usize::from(datagrams(&world, from, Side::Server) > 0);
    }
    world.run_for(25 * MS);
    let is_last_acknowledged = datagrams(&world, from, Side::Server) > 0;
    assert!(world.server.local_error().is_none());
    (at_once, is_last_acknowledged)
}

#[test]
fn a_server_that_answers_acknowledges_no_later_than_without() {
    let server = || server_config(factory(asking()));
    assert_eq!(acknowledged(server(), 99, 200 * MS).0, 10);
    let mut offering = server();
    offering.enable_ack_frequency(MS);
    let (at_once, is_last_acknowledged) = acknowledged(offering, 99, 200 * MS);
    assert!(at_once < 10 && !is_last_acknowledged);
}

#[test]
fn a_request_hastens_acknowledgements_that_the_application_delays() {
    let delaying = || {
        let mut server = server_config(factory(asking()));
        server.set_delayed_acks(9);
        server
    };
    let (at_once, is_last_acknowledged) = acknowledged(delaying(), 99, 200 * MS);
    assert!(at_once < 10 && is_last_acknowledged);
    assert_eq!(acknowledged(delaying(), 0, 200 * MS).0, 10);
}

#[test]
fn a_server_that_never_delays_does_not_answer() {
    let mut server = server_config(factory(asking()));
    server.set_max_ack_delay(0);
    let world = world(server, following());
    assert_eq!(advertised(&world), None);
    assert_eq!(asked(&world), (0, 0));
}

#[test]
fn what_the_application_advertises_is_left_alone() {
    let mut server = server_config(factory(asking()));
    server.enable_ack_frequency(2 * MS);
    let world = world(server, following());
    let two_milliseconds = [0x47, 0xd0];
    assert_eq!(advertised(&world).as_deref(), Some(&two_milliseconds[..]));
}

#[test]
fn an_answer_keeps_parameters_that_were_changed_within_the_handshake() {
    let mut server = reconfigured_in_handshake();
    server.set_congestion_controller(factory(asking()));
    let world = world(server, following());
    assert!(advertised(&world).is_some());
    let params = world.client.peer_transport_params();
    assert_eq!(params.map(|params| params.max_idle_timeout), Some(12_345));
    assert!(asked(&world).1 > 0);
}

#[test]
fn a_client_asks_only_if_it_has_advertised_too() {
    for advertises in [false, true] {
        let mut client = if advertises {
            following()
        } else {
            base_config()
        };
        client.set_congestion_controller(factory(asking()));
        let mut server = base_config();
        server.enable_ack_frequency(MS);
        let mut world = World::of_both(server, client, 1);
        world.shake_hands();
        world
            .client
            .stream_send(2, b"hello", true)
            .expect("the stream is open");
        world.run_for(10 * DELAY);
        let controller = world.client.congestion_controller::<Scripted>();
        let controller = controller.expect("a script");
        let expected = PeerAcks {
            min_ack_delay: advertises.then_some(MS),
            max_ack_delay: 25 * MS,
        };
        assert_eq!(controller.peer_acks, [expected]);
        assert_eq!(controller.frequency_asked > 0, advertises);
    }
}

/// Transport parameters of a client whose `min_ack_delay`, 10 ms, is above its `max_ack_delay`,
/// 5 ms. No client of quiche sends these.
fn contradictory() -> Vec<u8> {
    const TEN_MILLION: [u8; 4] = [0x80, 0x98, 0x96, 0x80];
    let mut raw = vec![0x0f, 16];
    raw.extend([0xc; 16]); // initial_source_connection_id
    for stream_or_connection_data in 0x04..=0x07 {
        raw.extend([stream_or_connection_data, 4]);
        raw.extend(TEN_MILLION);
    }
    raw.extend([0x08, 1, 10, 0x09, 1, 10]); // streams
    raw.extend([0x0b, 1, 5]); // max_ack_delay
    raw.extend((0xc000_0000_0000_0000 | MIN_ACK_DELAY).to_be_bytes());
    raw.extend([4, 0x80, 0x00, 0x27, 0x10]);
    raw
}

/// A server with this configuration, and a client that sends contradictory parameters.
fn contradicted(server: Config) -> World {
    let mut world = World::of_both(server, base_config(), 1);
    let raw = contradictory();
    let ssl: &mut SslRef = world.client.as_mut();
    // SAFETY: the object lives as long as the client, and BoringSSL copies the bytes.
    let set =
        unsafe { boring_sys::SSL_set_quic_transport_params(ssl.as_ptr(), raw.as_ptr(), raw.len()) };
    assert_eq!(set, 1);
    world
}

#[test]
fn a_client_that_contradicts_itself_is_not_asked_and_keeps_its_connection() {
    let mut world = contradicted(server_config(factory(asking())));
    world.shake_hands();
    world.transfer(50_000);
    assert_eq!(asked(&world), (0, 0));
    assert!(world.server.local_error().is_none());
}

#[test]
fn it_is_refused_by_an_application_that_takes_part() {
    const TRANSPORT_PARAMETER_ERROR: u64 = 0x08;
    let mut server = server_config(factory(asking()));
    server.enable_ack_frequency(MS);
    let mut world = contradicted(server);
    world.expects_errors = true;
    world.run_for(10 * DELAY);
    let error = world.server.local_error().map(|error| error.error_code);
    assert_eq!(error, Some(TRANSPORT_PARAMETER_ERROR));
}
