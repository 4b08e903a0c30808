//! ECN from one end to the other: what packets say, what routers make of it, what comes back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use quiche::cc::PacketSpace;
use quiche::ecn::Mark;

use crate::controller::{factory, Policy, Script, Scripted};
use crate::world::{base_config, payload, server_config, Fate, Passage, Side, World, DELAY};

fn script() -> Script {
    Script::new(Policy::Free).takes_marks()
}

/// The handshake with a router from the first packet on, and a transfer.
fn world(script: Script, router: fn(Side, usize, Mark) -> Mark) -> World {
    let mut world = World::before_handshake(server_config(factory(script)), 1);
    world.router = router;
    world.shake_hands();
    world.transfer(300_000);
    world.run_for(DELAY * 4);
    world
}

/// What the datagrams of a side said.
fn said(world: &World, side: Side) -> Vec<Mark> {
    said_in(&world.trace, side)
}

fn said_in(trace: &[Passage], side: Side) -> Vec<Mark> {
    let of_side = trace.iter().filter(|passage| passage.from == side);
    of_side.map(|passage| passage.mark).collect()
}

/// The peer's counts of CE, as the controller was told them.
fn told(world: &World) -> Vec<Option<u64>> {
    let acks = world.controller().acks.iter();
    let application = acks.filter(|ack| ack.space == PacketSpace::Application);
    application.map(|ack| ack.ecn_ce).collect()
}

#[test]
fn nothing_is_said_where_nobody_asks() {
    let world = world(Script::new(Policy::Free), |_, _, mark| mark);
    assert!(world
        .trace
        .iter()
        .all(|passage| passage.mark == Mark::NotEct));
    assert!(told(&world).iter().all(Option::is_none));
}

#[test]
fn a_path_that_keeps_marks_carries_them_on_every_packet() {
    let world = world(script(), |_, _, mark| mark);
    let said = said(&world, Side::Server);
    assert!(said.len() > 250, "{} datagrams", said.len());
    assert!(said.iter().all(|mark| *mark == Mark::Ect0));
    // The client has no controller that takes marks.
    let client = self::said(&world, Side::Client);
    assert!(client.iter().all(|mark| *mark == Mark::NotEct));
    assert!(told(&world).iter().all(|ce| *ce == Some(0)));
    assert_eq!(world.controller().marks_asked.load(Ordering::Relaxed), 1);
}

#[test]
fn marks_of_congestion_are_counted_and_told() {
    let every_tenth = |side, count: usize, mark| match (side, count % 10) {
        (Side::Server, 0) if mark == Mark::Ect0 => Mark::Ce,
        _ => mark,
    };
    let world = world(script(), every_tenth);
    let of_server = world
        .trace
        .iter()
        .zip(1..)
        .filter(|(passage, count)| passage.from == Side::Server && count % 10 == 0);
    let marked = of_server.count() as u64;
    let told: Vec<u64> = told(&world).into_iter().flatten().collect();
    assert!(told.is_sorted(), "{told:?}");
    // One or two packets of the handshake are counted in spaces of their own.
    let last = told.last().copied().expect("counts");
    assert!((marked - 2..=marked).contains(&last), "{last} of {marked}");
    let said = said(&world, Side::Server);
    assert!(said.iter().all(|mark| *mark == Mark::Ect0));
}

#[test]
fn a_path_that_takes_marks_off_gets_none_after_its_first_acknowledgement() {
    let bleached = |_, _, _| Mark::NotEct;
    let world = world(script(), bleached);
    let said = said(&world, Side::Server);
    let count = said.iter().filter(|mark| **mark == Mark::Ect0).count();
    assert!((1..=10).contains(&count), "{count}");
    assert!(said[count..].iter().all(|mark| *mark == Mark::NotEct));
    assert!(told(&world).iter().all(Option::is_none));
}

#[test]
fn ten_packets_test_a_path_and_the_next_wait_for_the_answer() {
    // Early data is what leaves most of before anything is acknowledged.
    let mut world = World::resumed(script());
    world.run_until("an answer has come and data has followed it", |world| {
        let open = !world.client.is_established() || world.elapsed() < DELAY * 4;
        // The first packet opens the way for early data.
        let _ = world.client.stream_send(0, &payload(30_000), false);
        !open
    });
    let said = said(&world, Side::Client);
    let runs: Vec<&[Mark]> = said.chunk_by(|a, b| a == b).collect();
    let [tested, waiting, capable] = runs[..] else {
        panic!("{said:?}");
    };
    // Two packets share the second datagram: the rest of the hello and the first early data.
    let client = world.client.congestion_controller::<Scripted>();
    let sent = &client.expect("the client's").sent;
    let spaces: Vec<PacketSpace> = sent[..3].iter().map(|packet| packet.space).collect();
    let hello = PacketSpace::Initial;
    assert_eq!(spaces, [hello, hello, PacketSpace::Application]);
    assert_eq!((tested[0], tested.len()), (Mark::Ect0, 10 - 1));
    assert!(waiting.len() > 1, "{said:?}");
    assert!(capable.len() > 1, "{said:?}");
}

#[test]
fn a_path_that_turns_marks_into_others_is_not_believed() {
    let world = world(script(), |_, _, mark| match mark {
        Mark::Ect0 => Mark::Ect1,
        mark => mark,
    });
    assert!(told(&world).iter().all(Option::is_none));
    assert_eq!(said(&world, Side::Server).last(), Some(&Mark::NotEct));
}

#[test]
fn a_path_that_changes_later_loses_its_marks() {
    let mut world = World::new(script(), 1);
    world.transfer(100_000);
    world.router = |_, _, _| Mark::NotEct;
    world.transfer(100_000);
    assert_eq!(said(&world, Side::Server).last(), Some(&Mark::NotEct));
    assert_eq!(told(&world).last(), Some(&None));
}

#[test]
fn a_network_that_drops_what_is_marked_does_not_keep_a_connection_from_beginning() {
    let mut world = World::before_handshake(server_config(factory(script())), 1);
    world.link = Box::new(|passage| match passage.mark {
        Mark::NotEct => Fate::Deliver,
        _ => Fate::Drop,
    });
    world.shake_hands();
    world.transfer(100_000);
    let said = said(&world, Side::Server);
    let marked = said.iter().filter(|mark| **mark == Mark::Ect0).count();
    assert!((1..=10).contains(&marked), "{marked}");
    assert!(said[marked..].iter().all(|mark| *mark == Mark::NotEct));
}

#[test]
fn a_mark_of_congestion_is_acknowledged_at_once_where_acknowledgements_wait() {
    let mut client = base_config();
    client.set_delayed_acks(100);
    client.set_max_ack_delay(25);
    let mut world = World::between(server_config(factory(script())), client, 1);
    let mut hold = |router: fn(Side, usize, Mark) -> Mark| {
        world.run_for(Duration::from_secs(1));
        world.router = router;
        world.write(&payload(500));
        world.run_for(Duration::from_secs(1));
        world.controller().acks.last().expect("an ACK").ack_delay
    };
    assert_eq!(hold(|_, _, mark| mark), Duration::from_millis(25));
    let marked = |side, _, mark| match side {
        Side::Server => Mark::Ce,
        Side::Client => mark,
    };
    assert_eq!(hold(marked), Duration::ZERO);
    // The second in a row says nothing new.
    assert_eq!(hold(marked), Duration::from_millis(25));
}

#[test]
fn the_bits_of_an_ip_header_are_read_and_written() {
    for mark in [Mark::NotEct, Mark::Ect0, Mark::Ect1, Mark::Ce] {
        assert_eq!(Mark::from_bits(mark.bits()), mark);
        assert_eq!(Mark::from_bits(0b1011_1000 | mark.bits()), mark);
    }
    assert_eq!(Mark::from_bits(2), Mark::Ect0);
    assert_eq!(Mark::from_bits(1), Mark::Ect1);
}
