//! Which packets wait for their release, and which do not.

use std::time::Duration;

use quiche::cc::Release;

use crate::controller::{Policy, Script};
use crate::world::{payload, Fate, Side, World, DELAY};

#[test]
fn every_packet_leaves_exactly_when_it_was_released() {
    let gap = Duration::from_micros(1_500);
    let mut world = World::new(Script::new(Policy::Paced(gap)), 1);
    world.transfer(200_000);
    let times: Vec<_> = world
        .controller()
        .released()
        .map(|packet| packet.now)
        .collect();
    assert!(
        times.len() > 150,
        "200 kB are more than 150 packets, not {}",
        times.len()
    );
    for pair in times.windows(2) {
        assert_eq!(pair[1] - pair[0], gap, "packets are released one gap apart");
    }
}

#[test]
fn an_event_loop_learns_that_packets_leave_singly() {
    let paced = Script::new(Policy::Paced(Duration::from_millis(1)));
    for (script, expected) in [(paced, 1), (Script::new(Policy::Free), 10)] {
        let world = World::new(script, 1);
        let path = world.server.path_stats().next().expect("there is a path");
        let datagrams = world.server.send_quantum() / path.pmtu;
        assert_eq!(datagrams, expected);
    }
}

#[test]
fn all_application_data_was_released() {
    let mut world = World::new(Script::new(Policy::Paced(Duration::from_millis(1))), 1);
    world.transfer(50_000);
    for packet in world
        .controller()
        .sent
        .iter()
        .filter(|packet| packet.app_data)
    {
        assert!(
            packet.released,
            "{packet:?} carries data and was not released"
        );
    }
}

#[test]
fn acknowledgements_leave_while_data_is_held() {
    let mut world = World::new(Script::new(Policy::HoldAfter(0)), 1);
    world.write(&payload(10_000));
    let before = world.controller().sent.len();
    world
        .client
        .stream_send(0, &payload(5_000), false)
        .expect("the client writes");
    let written_at = world.now;
    world.run_for(DELAY * 3);
    let sent = &world.controller().sent[before..];
    assert!(!sent.is_empty(), "the server acknowledges");
    for packet in sent {
        assert!(!packet.in_flight, "{packet:?}: only acknowledgements leave");
        assert_eq!(packet.now, written_at + DELAY, "they leave at once");
    }
    assert!(matches!(
        world.controller().asked.last(),
        Some((_, Release::Hold))
    ));
}

#[test]
fn the_close_leaves_while_data_is_held() {
    let mut world = World::new(Script::new(Policy::HoldAfter(0)), 1);
    world.write(&payload(10_000));
    world.flush();
    world
        .server
        .close(true, 7, b"enough")
        .expect("the first close");
    let closed_at = world.now;
    world.run_until("the client has heard", |world| {
        world.client.peer_error().is_some()
    });
    assert_eq!(world.now, closed_at + DELAY, "the close left at once");
    assert_eq!(world.client.peer_error().expect("an error").error_code, 7);
}

#[test]
fn the_close_leaves_while_the_window_is_full() {
    let mut world = World::new(Script::new(Policy::Free).window(2_400), 1);
    world.write(&payload(10_000));
    world.flush();
    world
        .server
        .close(true, 7, b"enough")
        .expect("the first close");
    let closed_at = world.now;
    world.run_until("the client has heard", |world| {
        world.client.peer_error().is_some()
    });
    assert_eq!(world.now, closed_at + DELAY, "the close left at once");
}

#[test]
fn probes_after_a_timeout_leave_while_data_is_held() {
    let mut world = World::new(Script::new(Policy::HoldAfter(1)), 1);
    let outage = world.elapsed();
    world.link = Box::new(move |passage| match passage.from {
        Side::Server if passage.at < outage + Duration::from_millis(50) => Fate::Drop,
        _ => Fate::Deliver,
    });
    world.write(&payload(10_000));
    world.run_until("a timeout", |world| !world.controller().timeouts.is_empty());
    let before = world.controller().sent.len();
    world.flush();
    let probes = &world.controller().sent[before..];
    assert!(!probes.is_empty(), "a probe leaves");
    for probe in probes {
        assert!(
            probe.ack_eliciting && !probe.released,
            "{probe:?} is a probe"
        );
    }
    let first = world
        .controller()
        .sent
        .iter()
        .find(|packet| packet.released)
        .expect("one release")
        .packet_number;
    world.run_until("the probe told that the first packet was lost", |world| {
        world.controller().lost_numbers().contains(&first)
    });
}

#[test]
fn hold_across_acknowledgements_does_not_stall() {
    let mut world = World::new(Script::new(Policy::StopAndWait), 1);
    assert_eq!(world.transfer(60_000), payload(60_000));
    let most = world
        .controller()
        .released()
        .map(|packet| packet.bytes_in_flight)
        .max();
    assert!(
        most <= Some(1_200),
        "one packet at a time, not {most:?} bytes"
    );
}

#[test]
fn hold_with_nothing_in_flight_is_asked_again() {
    let mut world = World::new(Script::new(Policy::HoldFirst(5)), 1);
    assert_eq!(world.transfer(10_000), payload(10_000));
}

#[test]
fn the_window_bounds_the_bytes_in_flight_and_no_runts_fill_it() {
    // Not a multiple of the packet size: the last 600 bytes of the window stay empty.
    let window = 10_200;
    let mut world = World::new(Script::new(Policy::Free).window(window), 1);
    let sizes_from = world.controller().sent.len();
    world.transfer(100_000);
    let data: Vec<_> = world.controller().sent[sizes_from..]
        .iter()
        .filter(|packet| packet.app_data)
        .copied()
        .collect();
    for packet in &data {
        assert!(
            packet.bytes_in_flight <= window,
            "{packet:?} is beyond the window of {window}"
        );
    }
    let runts = data.iter().filter(|packet| packet.size < 1_200).count();
    // The stream ends somewhere, and the writer is cut short when the window is.
    assert!(
        runts * 20 <= data.len(),
        "{runts} of {} packets are not full",
        data.len()
    );
}

#[test]
fn packets_have_the_size_that_was_asked_for() {
    let mut world = World::new(Script::new(Policy::Free).packet_size(700), 1);
    world.transfer(50_000);
    let sizes: Vec<_> = world
        .controller()
        .released()
        .map(|packet| packet.size)
        .collect();
    assert!(
        sizes.iter().all(|size| *size <= 700),
        "the size is a limit: {sizes:?}"
    );
    let full = sizes.iter().filter(|size| **size == 700).count();
    assert!(
        full * 10 >= sizes.len() * 9,
        "bulk data fills it: {sizes:?}"
    );
}

#[test]
fn a_datagram_leaves_whole_whatever_size_was_asked_for() {
    let mut world = World::new(Script::new(Policy::Free).packet_size(700), 1);
    for _ in 0..10 {
        world
            .server
            .dgram_send(&[1; 1_000])
            .expect("room in the queue");
    }
    world.run_for(Duration::from_millis(100));
    let sizes: Vec<_> = world
        .controller()
        .released()
        .map(|packet| packet.size)
        .collect();
    assert_eq!(sizes.len(), 10, "one packet a datagram");
    assert!(sizes.iter().all(|size| *size > 1_000), "{sizes:?}");
}

#[test]
fn datagrams_wait_for_their_release_too() {
    let gap = Duration::from_millis(2);
    let mut world = World::new(Script::new(Policy::Paced(gap)), 1);
    for _ in 0..10 {
        world
            .server
            .dgram_send(&[1; 1_000])
            .expect("room in the queue");
    }
    world.flush();
    assert!(world
        .controller()
        .asked
        .iter()
        .any(|(context, _)| context.queued_bytes == 10_000));
    world.run_for(Duration::from_millis(100));
    let times: Vec<_> = world
        .controller()
        .released()
        .map(|packet| packet.now)
        .collect();
    assert_eq!(times.len(), 10, "one packet a datagram");
    for pair in times.windows(2) {
        assert_eq!(pair[1] - pair[0], gap);
    }
}

#[test]
fn held_data_does_not_pile_up_beyond_the_window() {
    let window = 30_000;
    let mut world = World::new(Script::new(Policy::HoldAfter(0)).window(window), 1);
    let data = payload(100_000);
    let mut taken = 0;
    for _ in 0..20 {
        taken += world.write(&data);
        // Each packet received refreshes the send capacity.
        world
            .client
            .stream_send(0, &[1; 100], false)
            .expect("the client writes");
        world.run_for(DELAY * 3);
    }
    assert!(
        taken <= window,
        "{taken} bytes were taken with a window of {window}"
    );
}

#[test]
fn probes_of_the_path_mtu_wait_with_the_data_and_only_validated_sizes_are_reported() {
    let (link_mtu, ours) = (1_300, 1_400);
    let gap = Duration::from_millis(500);
    let mut config =
        crate::world::server_config(crate::controller::factory(Script::new(Policy::Paced(gap))));
    config.discover_pmtu(true);
    config.set_max_send_udp_payload_size(ours);
    let mut world = World::before_handshake(config, 1);
    world.link = Box::new(move |passage| match passage.size > link_mtu {
        true => Fate::Drop,
        false => Fate::Deliver,
    });
    world.shake_hands();
    world.transfer(60_000);
    let controller = world.controller();
    assert!(
        controller.sent.iter().any(|packet| packet.size > link_mtu),
        "probes were sent"
    );
    // The first is the configured one, before the path is known to be probed.
    let sizes = &controller.datagram_sizes[1..];
    assert_eq!(sizes.first(), Some(&1_200), "what every path carries");
    assert!(
        sizes.len() > 1 && sizes.iter().all(|size| *size <= link_mtu),
        "{sizes:?}"
    );
    for packet in &controller.sent {
        let is_probe = packet.size > link_mtu;
        assert!(!(is_probe && packet.released), "{packet:?} is a probe");
    }
    let released: Vec<_> = controller.released().map(|packet| packet.now).collect();
    for pair in released.windows(2) {
        assert_eq!(
            pair[1] - pair[0],
            gap,
            "a probe takes the place of a released packet"
        );
    }
}

#[test]
fn no_probe_of_the_path_mtu_leaves_while_data_is_held() {
    let mut config = crate::world::server_config(crate::controller::factory(Script::new(
        Policy::HoldAfter(0),
    )));
    config.discover_pmtu(true);
    config.set_max_send_udp_payload_size(1_400);
    let mut world = World::before_handshake(config, 1);
    world.run_until("the server may send data", |world| {
        world.server.is_established()
    });
    world.write(&payload(5_000));
    world.run_for(Duration::from_secs(1));
    let largest = world
        .controller()
        .sent
        .iter()
        .map(|packet| packet.size)
        .max();
    assert!(largest <= Some(1_200), "a packet of {largest:?} bytes left");
}
