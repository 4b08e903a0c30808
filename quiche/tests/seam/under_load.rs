//! The rest of QUIC while data is held: 0-RTT, amplification, many streams, batches.

use std::time::Duration;

use quiche::cc::Release;

use crate::controller::{factory, Policy, Script, Scripted};
use crate::world::{base_config, payload, server_config, Fate, Sending, Side, World, DELAY};

#[test]
fn many_streams_share_the_releases() {
    let gap = Duration::from_millis(1);
    let mut client = base_config();
    client.set_initial_max_streams_uni(500);
    let mut world = World::between(
        server_config(factory(Script::new(Policy::Paced(gap)))),
        client,
        1,
    );
    world.sending = Sending {
        batches: true,
        takes: Duration::from_micros(5),
        largest: 0,
    };
    let ids: Vec<u64> = (0..300).map(|number| 3 + 4 * number).collect();
    let mut left: Vec<(u64, usize)> = ids.iter().map(|id| (*id, 700)).collect();
    let mut received = 0;
    world.run_until("every stream has arrived", |world| {
        left.retain_mut(|(id, size)| {
            *size -= world
                .server
                .stream_send(*id, &payload(*size), true)
                .unwrap_or(0);
            *size > 0
        });
        let readable: Vec<u64> = world.client.readable().collect();
        for id in readable {
            while let Ok((size, _)) = world.client.stream_recv(id, &mut [0; 65_536]) {
                received += size;
            }
        }
        received == 300 * 700
    });
    let mut times = world.controller().released().map(|packet| packet.now);
    let mut last = times.next().expect("packets left");
    for time in times {
        assert!(time - last >= gap, "no release comes early");
        last = time;
    }
}

#[test]
fn data_of_a_resumed_session_is_asked_about_and_released() {
    let mut config = base_config();
    config.enable_early_data();
    let mut first = World::between(config, base_config(), 1);
    first.run_for(DELAY * 2);
    let session = first.client.session().expect("a ticket came").to_vec();
    drop(first);

    let gap = Duration::from_millis(2);
    let mut client = server_config(factory(Script::new(Policy::Paced(gap))));
    client.enable_early_data();
    let mut server = base_config();
    server.enable_early_data();
    let mut world = World::of_both(server, client, 2);
    // Tickets are only understood by the process's own key, which another connection does not share.
    if world.client.set_session(&session).is_err() {
        panic!("the ticket is well-formed");
    }
    world.run_until("the server reads what came first", |world| {
        world.client.stream_send(0, &payload(2_000), false).ok();
        world.server.stream_recv(0, &mut [0; 65_536]).is_ok()
    });
    let controller = world.client.congestion_controller::<Scripted>();
    let controller = controller.expect("the client's");
    let data = controller.sent.iter().filter(|packet| packet.app_data);
    assert!(data.clone().count() > 0);
    for packet in data {
        assert!(packet.released, "{packet:?} was not released");
    }
}

#[test]
fn a_server_stays_within_three_times_what_an_unknown_client_sent() {
    let config = server_config(factory(Script::new(Policy::Paced(Duration::ZERO))));
    let mut world = World::before_handshake(config, 1);
    let mut from_client = 0;
    // Only the first datagram arrives.
    world.link = Box::new(move |passage| match passage.from {
        Side::Client => {
            from_client += 1;
            match from_client {
                1 => Fate::Deliver,
                _ => Fate::Drop,
            }
        }
        Side::Server => Fate::Drop,
    });
    for _ in 0..200 {
        world.server.stream_send(3, &payload(10_000), false).ok();
        world.run_for(Duration::from_millis(20));
    }
    let sum = |side| -> usize {
        let passages = world.trace.iter().filter(|passage| passage.from == side);
        passages.map(|passage| passage.size).sum()
    };
    assert!(sum(Side::Server) <= 3 * 1_200, "{}", sum(Side::Server));
    assert!(sum(Side::Server) > 0, "it answered");
}

#[test]
fn packets_that_are_released_together_leave_in_one_batch() {
    let mut world = World::new(Script::new(Policy::Free), 1);
    world.sending.batches = true;
    let asked = world.controller().asked.len();
    world.write(&payload(11_600));
    world.flush();
    let released = world.controller().released().count();
    assert!(released >= 10, "{released} packets in one go");
    let controller = world.controller();
    let now = controller.asked[asked..]
        .iter()
        .filter(|(_, release)| *release == Release::Now)
        .count();
    assert_eq!(now, released, "each was asked about once");
}
