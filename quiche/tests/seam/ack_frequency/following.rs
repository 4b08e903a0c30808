//! A client that follows its server's requests.

use super::{ask, datagrams, following, request, send_packet, world, MS};
use crate::controller::{Policy, Script};
use crate::world::{base_config, Side, DELAY};

fn paced() -> Script {
    Script::new(Policy::Paced(MS))
}

#[test]
fn every_tenth_packet_is_acknowledged_when_that_is_asked_for() {
    let every = |threshold| {
        let script = paced().frequency(request(threshold, 1_000 * MS, 3));
        let mut world = world(script, following());
        world.transfer(20_000);
        let from = world.trace.len();
        world.transfer(400_000);
        (
            datagrams(&world, from, Side::Client),
            datagrams(&world, from, Side::Server),
        )
    };
    let (second, packets) = every(1);
    let (tenth, _) = every(9);
    assert!(
        second.abs_diff(packets / 2) < packets / 20,
        "{second} of {packets}"
    );
    // Each skipped packet number, and one in a round trip (section 6.1), add some.
    assert!(
        tenth * 4 < second && tenth >= packets / 10,
        "{tenth} of {packets}, and {second} at every second"
    );
}

#[test]
fn a_packet_waits_for_the_requested_delay_at_most() {
    let mut world = world(
        Script::new(Policy::Free).frequency(request(100, 60 * MS, 3)),
        following(),
    );
    // Numbers that the handshake used are missing here; later ones are not.
    world.transfer(10_000);
    world.run_for(10 * DELAY);
    // The first is acknowledged at once: the connection was idle for more than a round trip.
    send_packet(&mut world);
    world.run_for(DELAY + MS);
    let acked = world.client.timeout_instant();
    assert!(acked > Some(world.now + 1_000 * MS), "{acked:?}");
    world.now += 10 * MS;
    send_packet(&mut world);
    world.run_for(DELAY);
    assert_eq!(world.client.timeout_instant(), Some(world.now + 60 * MS));
    world.run_for(60 * MS + DELAY);
    let ack = world.controller().acks.last().expect("it was acknowledged");
    assert!(
        ack.ack_delay.abs_diff(60 * MS) < MS / 100,
        "{:?}",
        ack.ack_delay
    );
}

#[test]
fn a_packet_that_asks_is_the_largest_of_its_own_acknowledgement() {
    let script = paced()
        .packet_size(1_000)
        .immediate_every(7)
        .frequency(request(1_000, 1_000 * MS, 3));
    let mut world = world(script, following());
    world.transfer(200_000);
    world.run_for(2 * DELAY);
    let controller = world.controller();
    assert!(
        controller.immediate.len() >= 25,
        "{}",
        controller.immediate.len()
    );
    for number in &controller.immediate {
        let sent = controller
            .sent
            .iter()
            .find(|packet| packet.packet_number == *number);
        let sent = sent.expect("it was sent").now;
        let ack = controller
            .acks
            .iter()
            .find(|ack| ack.packet_numbers.contains(number))
            .expect("it was acknowledged");
        assert_eq!(ack.packet_numbers.last(), Some(number));
        assert_eq!(ack.now, sent + 2 * DELAY, "at once");
    }
}

#[test]
fn packets_that_ask_are_no_larger_than_the_others() {
    let script = paced().packet_size(1_000).immediate_every(2);
    let mut world = world(script, following());
    world.transfer(50_000);
    let controller = world.controller();
    assert!(controller.immediate.len() > 20);
    let mut sizes: Vec<_> = controller.released().map(|packet| packet.size).collect();
    sizes.pop();
    assert!(sizes.iter().all(|size| *size == 1_000), "{sizes:?}");
}

#[test]
fn a_new_request_takes_the_place_of_the_old_one() {
    let script = paced().frequency(request(49, 1_000 * MS, 3));
    let mut world = world(script, following());
    world.transfer(20_000);
    let count = |world: &mut crate::world::World| {
        let from = world.trace.len();
        world.transfer(100_000);
        datagrams(world, from, Side::Client)
    };
    let seldom = count(&mut world);
    ask(&mut world, request(0, 1_000 * MS, 3));
    world.transfer(5_000);
    let often = count(&mut world);
    ask(&mut world, request(49, 1_000 * MS, 3));
    world.transfer(5_000);
    let seldom_again = count(&mut world);
    assert!(
        often > 80 && seldom < 10 && seldom_again < 10,
        "{seldom} {often} {seldom_again}"
    );
}

#[test]
fn the_receivers_own_delay_holds_until_a_request_arrives() {
    let mut client = following();
    client.set_delayed_acks(9);
    let mut world = world(paced(), client);
    let from = world.trace.len();
    world.transfer(100_000);
    let delayed = datagrams(&world, from, Side::Client);
    ask(&mut world, request(0, 25 * MS, 1));
    world.transfer(5_000);
    let from = world.trace.len();
    world.transfer(100_000);
    let requested = datagrams(&world, from, Side::Client);
    assert!(
        delayed < 15 && requested > 80,
        "{delayed}, then {requested}"
    );
}

#[test]
fn min_ack_delay_is_lowered_to_max_ack_delay_in_any_order() {
    let advertised = |configure: fn(&mut quiche::Config)| {
        let mut client = base_config();
        configure(&mut client);
        let mut world = world(Script::new(Policy::Free), client);
        send_packet(&mut world);
        let peer = world.controller().peer_acks[0];
        (peer.min_ack_delay, peer.max_ack_delay)
    };
    let first = advertised(|config| {
        config.enable_ack_frequency(1_000 * MS);
        config.set_max_ack_delay(7);
    });
    let last = advertised(|config| {
        config.set_max_ack_delay(7);
        config.enable_ack_frequency(1_000 * MS);
    });
    assert_eq!(first, (Some(7 * MS), 7 * MS));
    assert_eq!(last, first);
    let fraction = advertised(|config| config.enable_ack_frequency(MS / 1_000 / 2));
    assert_eq!(fraction, (Some(MS / 1_000), 25 * MS), "whole microseconds");
}
