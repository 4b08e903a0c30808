//! The times that are told are those that happened, on links that lose and reorder.

use std::collections::BTreeMap;
use std::time::Duration;

use quiche::cc::PacketSpace;

use super::{acks, asking_server, config, read, receive, scripted, told, watch, write, Draw};
use crate::world::{payload, Fate, Side, World, DELAY};

/// Before the start of a connection lies the origin of its times.
const BEFORE_START: Duration = Duration::from_micros(1);

fn truncated(time: Duration, exponent: u32) -> Duration {
    Duration::from_micros((time.as_micros() as u64) >> exponent << exponent)
}

/// A transfer from `from` to the other side; when each packet of it arrived, in the peer's time.
struct Transfer {
    arrivals: BTreeMap<u64, Duration>,
    first_ack: usize,
}

fn transfer(
    world: &mut World,
    from: Side,
    total: usize,
    fate: impl FnMut(usize) -> Fate + 'static,
) -> Transfer {
    let to = match from {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    };
    let stream = if from == Side::Client { 2 } else { 3 };
    let (first_packet, first_ack) = {
        let controller = scripted(world.side(from));
        (controller.sent.len(), controller.acks.len())
    };
    let log = watch(world, from, fate);
    let data = payload(total);
    let (mut written, mut received) = (0, 0);
    world.run_until("the transfer is complete", |world| {
        written += write(world.side(from), stream, &data[written..]);
        received += read(world.side(to), stream);
        received == total
    });
    world.run_for(DELAY * 10);
    let log = log.borrow();
    let sent = &scripted(world.side(from)).sent[first_packet..];
    assert_eq!(sent.len(), log.len(), "a packet a datagram");
    let arrived = sent.iter().zip(log.iter()).filter_map(|(packet, arrival)| {
        let since_basis = (*arrival)? + BEFORE_START;
        Some((packet.packet_number, since_basis))
    });
    Transfer {
        arrivals: arrived.collect(),
        first_ack,
    }
}

/// A link that loses one in thirty and delays one in ten by up to 3 ms.
fn bad_link(seed: u64) -> impl FnMut(usize) -> Fate {
    let mut draw = Draw::new(seed);
    move |_| match draw.below(30) {
        0 => Fate::Drop,
        1..=3 => Fate::Delay(Duration::from_micros(draw.below(3_000))),
        // No two at once, so that a time tells its packet.
        _ => Fate::Delay(Duration::from_micros(draw.below(40))),
    }
}

#[test]
fn every_time_told_is_the_time_of_arrival() {
    for exponent in [0, 3, 10, 20] {
        for from in [Side::Server, Side::Client] {
            let side = |asks| {
                let mut config = config(if asks { 200 } else { 0 }, !asks);
                config
                    .set_receive_timestamps_exponent(exponent)
                    .expect("a valid exponent");
                config
            };
            let server = side(from == Side::Server);
            let client = side(from == Side::Client);
            let mut world = World::between(server, client, 1);
            let result = transfer(&mut world, from, 400_000, bad_link(exponent + 1));
            let (mut acked, mut told) = (0, 0);
            for ack in acks(&mut world, from, result.first_ack) {
                let times = &ack.receive_times;
                assert!(times.is_sorted_by(|a, b| a.packet_number < b.packet_number));
                // Not those from before the link was watched.
                let arrival = |number: &u64| result.arrivals.get(number);
                acked += ack.packet_numbers.iter().filter_map(arrival).count();
                for time in times {
                    assert_eq!(ack.space, PacketSpace::Application);
                    assert!(ack.packet_numbers.contains(&time.packet_number));
                    if let Some(arrival) = arrival(&time.packet_number) {
                        assert_eq!(time.since_basis, truncated(*arrival, exponent as u32));
                        told += 1;
                    }
                }
            }
            assert!(acked > 300, "{acked} packets");
            assert!(
                !result.arrivals.values().is_sorted(),
                "packets overtook each other"
            );
            assert_eq!(told, acked, "{from:?}, 2^{exponent} us");
        }
    }
}

#[test]
fn a_lost_acknowledgement_loses_no_time() {
    let mut world = asking_server(200, 0);
    let first_ack = world.controller().acks.len();
    // Two in a row never; each second one always.
    let log = watch(&mut world, Side::Client, |index| match index % 2 {
        0 => Fate::Drop,
        _ => Fate::Deliver,
    });
    for _ in 0..60 {
        world.write(&payload(1_000));
        world.run_for(Duration::from_millis(3));
        read(&mut world.client, 3);
    }
    world.run_for(DELAY * 4);
    assert!(log.borrow().iter().filter(|fate| fate.is_none()).count() > 25);
    let acks = acks(&mut world, Side::Server, first_ack);
    for ack in &acks {
        assert_eq!(ack.packet_numbers.len(), ack.receive_times.len(), "{ack:?}");
    }
    assert!(acks.iter().any(|ack| ack.receive_times.len() > 1));
}

#[test]
fn a_delayed_acknowledgement_tells_of_all_it_waited_for() {
    // A frame for every eighth packet.
    let mut client = config(0, true);
    client.set_delayed_acks(7);
    let mut world = World::between(config(100, false), client, 1);
    let first_ack = world.controller().acks.len();
    for _ in 0..64 {
        world.write(&payload(1_000));
        world.run_for(Duration::from_millis(1));
        read(&mut world.client, 3);
    }
    world.run_for(DELAY * 4);
    let acks = acks(&mut world, Side::Server, first_ack);
    assert!(acks.iter().any(|ack| ack.packet_numbers.len() == 8));
    for ack in &acks {
        assert_eq!(ack.packet_numbers.len(), ack.receive_times.len(), "{ack:?}");
    }
}

#[test]
fn one_a_frame_is_the_latest() {
    let mut world = asking_server(1, 0);
    let first_ack = world.controller().acks.len();
    for _ in 0..20 {
        world.write(&payload(10_000));
        world.run_for(DELAY * 2);
        read(&mut world.client, 3);
    }
    let acks = acks(&mut world, Side::Server, first_ack);
    assert!(acks.iter().any(|ack| ack.packet_numbers.len() > 5));
    for ack in &acks {
        let numbers: Vec<u64> = ack.receive_times.iter().map(|t| t.packet_number).collect();
        assert_eq!(numbers, ack.packet_numbers[ack.packet_numbers.len() - 1..]);
    }
}

#[test]
fn times_start_with_the_connection() {
    let mut world = asking_server(100, 0);
    world.write(&payload(1_000));
    world.run_for(DELAY * 4);
    let elapsed = world.elapsed();
    let told = told(&mut world, Side::Server);
    let within = |time: &quiche::cc::ReceiveTime| {
        time.since_basis > Duration::ZERO && time.since_basis < elapsed
    };
    assert!(!told.is_empty() && told.iter().all(within), "{told:?}");
}

#[test]
fn the_kernels_time_is_told_and_not_that_of_the_call() {
    let mut world = asking_server(100, 0);
    world.write(&payload(1_000));
    let mut datagram = vec![0; 2_000];
    let (size, _) = world.server.send(&mut datagram).expect("a packet");
    let arrival = world.now + Duration::from_micros(20_123);
    world.now += Duration::from_millis(35);
    quiche::clock::set(Some(world.now));
    let taken = quiche::clock::with(arrival, || {
        receive(&mut world, Side::Server, &mut datagram[..size])
    });
    assert_eq!(taken, Ok(size));
    world.run_for(DELAY * 4);
    let told = told(&mut world, Side::Server);
    let last = told.last().expect("a time");
    assert_eq!(last.since_basis, arrival - world.start + BEFORE_START);
}
