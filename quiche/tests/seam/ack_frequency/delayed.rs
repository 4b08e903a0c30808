//! Acknowledgements that wait by the receiver's own choice, and how they leave.

use quiche::Config;

use super::{datagrams, send_packet, world, MS};
use crate::controller::{Policy, Script};
use crate::world::{base_config, Side, World, DELAY};

fn delayed(threshold: u64) -> Config {
    let mut config = base_config();
    config.set_delayed_acks(threshold);
    config
}

fn paced() -> Script {
    Script::new(Policy::Paced(MS))
}

/// Datagrams of the client during a transfer that is paced by the millisecond.
fn acks_of_a_transfer(client: Config) -> usize {
    let mut world = world(paced(), client);
    let from = world.trace.len();
    world.transfer(200_000);
    datagrams(&world, from, Side::Client)
}

/// One packet, with everything before it acknowledged. Leaves the world when it has arrived.
fn lone_packet(client: Config) -> World {
    let mut world = world(Script::new(Policy::Free), client);
    send_packet(&mut world);
    world.run_for(DELAY);
    world
}

#[test]
fn without_it_every_packet_is_acknowledged_and_advertising_changes_nothing() {
    let plain = acks_of_a_transfer(base_config());
    assert!(
        plain >= 170,
        "one for each of about 175 packets, not {plain}"
    );
    assert_eq!(acks_of_a_transfer(super::following()), plain);
}

#[test]
fn every_so_many_packets_are_acknowledged() {
    let plain = acks_of_a_transfer(base_config());
    for (threshold, divisor) in [(1, 2), (3, 4), (9, 10)] {
        let acks = acks_of_a_transfer(delayed(threshold));
        let expected = plain / divisor;
        assert!(
            acks.abs_diff(expected) <= expected / 5 + 3,
            "threshold {threshold}: {acks} of {plain}"
        );
    }
}

#[test]
fn a_lone_packet_is_acknowledged_after_max_ack_delay() {
    let mut world = lone_packet(delayed(1));
    let arrived = world.now;
    assert_eq!(world.client.timeout_instant(), Some(arrived + 25 * MS));
    let from = world.trace.len();
    world.run_for(25 * MS - MS / 1_000);
    assert_eq!(datagrams(&world, from, Side::Client), 0);
    world.run_for(MS);
    assert_eq!(datagrams(&world, from, Side::Client), 1);
    let next = world.client.timeout_instant();
    assert!(
        next > Some(arrived + 1_000 * MS),
        "only the idle timer is left: {next:?}"
    );
    world.run_for(DELAY);
    let ack = world.controller().acks.last().expect("it was acknowledged");
    assert_eq!(ack.now, arrived + 25 * MS + DELAY);
    assert!(
        ack.ack_delay.abs_diff(25 * MS) < MS / 100,
        "{:?}",
        ack.ack_delay
    );
}

#[test]
fn the_configured_max_ack_delay_is_the_timer() {
    let mut config = delayed(1);
    config.set_max_ack_delay(60);
    let world = lone_packet(config);
    assert_eq!(world.client.timeout_instant(), Some(world.now + 60 * MS));
}

#[test]
fn a_pending_acknowledgement_leaves_with_other_frames() {
    let mut world = lone_packet(delayed(1));
    let arrived = world.now;
    world.run_for(5 * MS);
    let from = world.trace.len();
    world
        .client
        .stream_send(2, b"hello", true)
        .expect("the stream is open");
    world.run_for(DELAY);
    assert_eq!(datagrams(&world, from, Side::Client), 1);
    let ack = world.controller().acks.last().expect("it was acknowledged");
    assert_eq!(ack.now, arrived + 5 * MS + DELAY);
    assert!(
        ack.ack_delay.abs_diff(5 * MS) < MS / 100,
        "{:?}",
        ack.ack_delay
    );

    world.run_for(50 * MS);
    assert_eq!(
        datagrams(&world, from, Side::Client),
        1,
        "it does not leave once more when its timer would have expired"
    );
}

#[test]
fn a_loss_that_leaves_nothing_to_send_again_does_not_let_it_out_early() {
    let mut world = world(Script::new(Policy::Free), delayed(10));
    let mut first = true;
    world.link = Box::new(move |_| match std::mem::take(&mut first) {
        true => crate::world::Fate::Drop,
        false => crate::world::Fate::Deliver,
    });
    // Each in a packet of its own; the first is lost.
    for _ in 0..5 {
        world
            .client
            .dgram_send(&[0; 1_000])
            .expect("room in the queue");
        world.flush();
    }
    // The packet that tells of the loss has to be acknowledged itself, later.
    world.run_for(DELAY - MS);
    assert_eq!(world.write(&[0; 500]), 500);
    quiche::clock::set(Some(world.now));
    let from = world.trace.len();
    world.run_for(MS + DELAY + MS);
    let lost = world.client.path_stats().next().expect("a path").lost;
    assert_eq!(lost, 1);
    assert_eq!(datagrams(&world, from, Side::Client), 0);
    assert!(world.client.timeout_instant() < Some(world.now + 25 * MS));
}

#[test]
fn asking_to_send_does_not_let_it_out_early() {
    let mut world = lone_packet(delayed(1));
    let timer = world.client.timeout_instant();
    let mut buffer = [0; 1_500];
    for _ in 0..10 {
        assert_eq!(world.client.send(&mut buffer), Err(quiche::Error::Done));
    }
    assert_eq!(world.client.timeout_instant(), timer);
}

#[test]
fn a_packet_out_of_order_is_acknowledged_at_once() {
    let mut world = world(Script::new(Policy::Free), delayed(10));
    send_packet(&mut world);
    world.link = Box::new(|_| crate::world::Fate::Drop);
    send_packet(&mut world);
    world.link = Box::new(|_| crate::world::Fate::Deliver);
    let from = world.trace.len();
    send_packet(&mut world);
    world.run_for(DELAY);
    assert_eq!(datagrams(&world, from, Side::Client), 1);
}

/// The delay as the server's controller sees it, which is in wrong units if the exponent is lost.
fn reported_delay(exponent: u64) -> std::time::Duration {
    let mut config = delayed(1);
    config.set_ack_delay_exponent(exponent);
    let mut world = lone_packet(config);
    world.run_for(25 * MS + DELAY);
    let ack = world.controller().acks.last().expect("it was acknowledged");
    ack.ack_delay
}

#[test]
fn the_exponent_reaches_the_peer_whatever_it_is() {
    for exponent in [0, 1, 3, 10] {
        let reported = reported_delay(exponent);
        let unit = MS / 1_000 * (1 << exponent);
        assert!(
            reported.abs_diff(25 * MS) < unit,
            "exponent {exponent}: {reported:?}"
        );
    }
}

#[test]
fn a_max_ack_delay_of_0_reaches_the_peer_and_delays_nothing() {
    let mut config = delayed(10);
    config.set_max_ack_delay(0);
    let mut world = world(Script::new(Policy::Free), config);
    let params = world.server.peer_transport_params();
    assert_eq!(params.expect("they are known").max_ack_delay, 0);
    let from = world.trace.len();
    send_packet(&mut world);
    world.run_for(DELAY);
    assert_eq!(datagrams(&world, from, Side::Client), 1);
}

#[test]
fn two_sides_that_both_delay_do_not_stall() {
    let mut server = crate::world::server_config(crate::controller::factory(paced()));
    server.set_delayed_acks(20);
    let mut world = World::of_both(server, delayed(20), 1);
    world.shake_hands();
    world.transfer(300_000);
    assert!(world.controller().losses.is_empty());
    assert!(world.controller().timeouts.is_empty(), "no probe timeout");
}
