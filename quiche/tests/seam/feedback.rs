//! What the controller is told about acknowledgements, losses and the path.

use std::time::Duration;

use quiche::cc::PacketSpace;

use crate::controller::{Policy, Script};
use crate::world::{payload, Fate, Side, World, DELAY};

/// Large enough to be a full data packet of the server.
const FULL: usize = 1_000;

#[test]
fn every_packet_that_asks_for_it_is_acknowledged_once_in_order() {
    let mut world = World::new(Script::new(Policy::Free), 1);
    world.transfer(300_000);
    world.run_for(DELAY * 4);
    let controller = world.controller();
    let application: Vec<_> = controller
        .acks
        .iter()
        .filter(|ack| ack.space == PacketSpace::Application)
        .collect();
    assert!(application
        .iter()
        .all(|ack| ack.packet_numbers.is_sorted() && !ack.packet_numbers.is_empty()));
    let mut acked: Vec<u64> = application
        .iter()
        .flat_map(|ack| ack.packet_numbers.clone())
        .collect();
    acked.sort_unstable();
    let count = acked.len();
    acked.dedup();
    assert_eq!(acked.len(), count, "no packet is acknowledged twice");
    let is_data = |packet: &&quiche::cc::PacketSent| packet.app_data;
    for packet in controller.sent.iter().filter(is_data) {
        assert!(
            acked.binary_search(&packet.packet_number).is_ok(),
            "{packet:?} was not acknowledged"
        );
    }
}

#[test]
fn the_round_trip_is_the_links_and_the_times_are_the_clocks() {
    let mut world = World::new(Script::new(Policy::Paced(Duration::from_millis(5))), 1);
    world.transfer(30_000);
    let ack = world.controller().acks.last().expect("acknowledgements");
    assert_eq!(ack.smoothed_rtt, DELAY * 2);
    assert!(ack.now <= world.now && ack.now > world.start);
}

#[test]
fn the_acknowledgement_delay_is_not_clamped() {
    let mut world = World::new(Script::new(Policy::Free), 1);
    world.client_is_mute = true;
    world.write(&payload(1_000));
    // Beyond the peer's max_ack_delay of 25 ms, to which quiche clamps, and before a probe arrives.
    let held = Duration::from_millis(60);
    world.run_for(DELAY + held);
    world.client_is_mute = false;
    world.run_for(DELAY * 2);
    let controller = world.controller();
    let number = controller
        .released()
        .last()
        .expect("a packet")
        .packet_number;
    let ack = controller
        .acks
        .iter()
        .find(|ack| ack.packet_numbers.contains(&number))
        .expect("its acknowledgement");
    // The frame counts in units of 8 us.
    let error = held.abs_diff(ack.ack_delay);
    assert!(
        error <= Duration::from_micros(8),
        "{:?} instead of {held:?}",
        ack.ack_delay
    );
}

#[test]
fn lost_packets_are_reported_and_sent_again() {
    let mut world = World::new(Script::new(Policy::Free), 1);
    let mut full_packets = 0;
    world.link = Box::new(move |passage| {
        if passage.from == Side::Server && passage.size > FULL {
            full_packets += 1;
            if full_packets == 10 || full_packets == 11 {
                return Fate::Drop;
            }
        }
        Fate::Deliver
    });
    assert_eq!(world.transfer(60_000), payload(60_000));
    let controller = world.controller();
    let full: Vec<_> = controller
        .sent
        .iter()
        .filter(|packet| packet.app_data && packet.size > FULL)
        .collect();
    let dropped = vec![full[9].packet_number, full[10].packet_number];
    assert_eq!(controller.lost_numbers(), dropped);
    for loss in &controller.losses {
        assert!(
            !loss.persistent,
            "two packets in a millisecond are no persistent congestion"
        );
        assert!(loss.packets.iter().all(|packet| packet.size > FULL));
    }
    let repeats = controller
        .asked
        .iter()
        .filter(|(context, _)| context.retransmission)
        .count();
    assert_eq!(repeats, 2, "the data of two packets fits two packets");
    assert!(controller.spurious.is_empty());
}

#[test]
fn a_late_packet_is_a_spurious_loss() {
    let mut world = World::new(Script::new(Policy::Paced(Duration::from_millis(1))), 1);
    let mut full_packets = 0;
    world.link = Box::new(move |passage| {
        if passage.from == Side::Server && passage.size > FULL {
            full_packets += 1;
            if full_packets == 10 {
                return Fate::Delay(Duration::from_millis(8));
            }
        }
        Fate::Deliver
    });
    world.transfer(60_000);
    world.run_for(DELAY * 4);
    let controller = world.controller();
    assert_eq!(controller.spurious.len(), 1);
    assert_eq!(controller.lost_numbers(), controller.spurious);
}

#[test]
fn a_long_outage_is_persistent_congestion() {
    let mut world = World::new(Script::new(Policy::Paced(Duration::from_millis(10))), 1);
    world.transfer(10_000);
    let outage = world.elapsed();
    world.link = Box::new(move |passage| match passage.from {
        Side::Server if passage.at < outage + Duration::from_secs(2) => Fate::Drop,
        _ => Fate::Deliver,
    });
    let data = payload(40_000);
    let mut written = 0;
    world.run_until("the losses are known", |world| {
        written += world.write(&data[written..]);
        !world.controller().losses.is_empty()
    });
    let controller = world.controller();
    assert!(
        controller.losses.iter().any(|loss| loss.persistent),
        "{:?}",
        controller.losses
    );
    assert_eq!(controller.timeouts[..2], [1, 2], "the timeouts are counted");
}

#[test]
fn a_short_outage_is_not_persistent_congestion() {
    let mut world = World::new(Script::new(Policy::Paced(Duration::from_millis(1))), 1);
    world.transfer(10_000);
    let outage = world.elapsed();
    world.link = Box::new(move |passage| match passage.from {
        Side::Server if passage.at < outage + Duration::from_millis(30) => Fate::Drop,
        _ => Fate::Deliver,
    });
    world.transfer(100_000 - 10_000);
    let controller = world.controller();
    assert!(!controller.losses.is_empty());
    assert!(
        controller.losses.iter().all(|loss| !loss.persistent),
        "{:?}",
        controller.losses
    );
}

#[test]
fn discarded_spaces_are_reported() {
    let world = World::new(Script::new(Policy::Free), 1);
    let spaces: Vec<_> = world
        .controller()
        .discarded
        .iter()
        .map(|(space, _)| *space)
        .collect();
    assert!(
        spaces.contains(&PacketSpace::Initial) && spaces.contains(&PacketSpace::Handshake),
        "{spaces:?}"
    );
}

#[test]
fn an_idle_application_is_reported_and_a_busy_one_is_not() {
    let mut world = World::new(Script::new(Policy::Free).window(12_000), 1);
    let idle = world.controller().app_limited;
    assert!(idle > 0, "nothing was to be sent after the handshake");
    world.write(&payload(50_000));
    world.flush();
    assert_eq!(
        world.controller().app_limited,
        idle,
        "the window was the limit"
    );
    world.run_for(DELAY * 4);
    assert!(world.controller().app_limited > idle, "the data is gone");
}

#[test]
fn the_window_never_falls_below_two_datagrams() {
    let mut world = World::new(Script::new(Policy::Free).window(0), 1);
    assert_eq!(world.transfer(20_000), payload(20_000));
    let stats = world.server.path_stats().next().expect("a path");
    assert_eq!(stats.cwnd, 2_400);
}

#[test]
fn a_full_window_is_not_an_idle_application() {
    let mut world = World::new(Script::new(Policy::Free).window(2_400), 1);
    let idle = world.controller().app_limited;
    for _ in 0..2 {
        world
            .server
            .dgram_send(&[1; 1_100])
            .expect("room in the queue");
    }
    world.flush();
    let last = world.controller().released().last().expect("both left");
    assert!(last.bytes_in_flight > 1_200, "no room for another packet");
    assert_eq!(
        world.controller().app_limited,
        idle,
        "nothing is queued, but nothing could be sent"
    );
}

#[test]
fn what_was_lost_is_counted_alike_by_controller_path_and_connection() {
    let mut world = World::new(Script::new(Policy::Free), 1);
    let mut count = 0;
    world.link = Box::new(move |passage| {
        count += u32::from(passage.from == Side::Server && passage.size > FULL);
        match count % 20 {
            7 => Fate::Drop,
            _ => Fate::Deliver,
        }
    });
    world.transfer(300_000);
    let losses = &world.controller().losses;
    let packets = || losses.iter().flat_map(|loss| &loss.packets);
    let bytes: usize = packets().map(|packet| packet.size).sum();
    assert!(bytes > FULL * 5, "{bytes} bytes were lost");
    let path = world.server.path_stats().next().expect("a path");
    assert_eq!(
        (path.lost, path.lost_bytes),
        (packets().count(), bytes as u64)
    );
    let all = world.server.stats();
    assert_eq!(
        (all.lost, all.lost_bytes),
        (packets().count(), bytes as u64)
    );
}
