//! The rest of QUIC while data is held: 0-RTT, amplification, many streams, batches.

use std::time::Duration;

use quiche::cc::Release;

use crate::controller::{factory, Policy, Script, Scripted};
use crate::world::{base_config, payload, server_config, Fate, Sending, Side, World};

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

/// What `SSL_get_early_data_reason()` of BoringSSL says of early data that was taken.
const ACCEPTED: u32 = 2;

#[test]
fn early_data_is_held_and_accepted() {
    let gap = Duration::from_millis(2);
    let mut world = World::resumed(Script::new(Policy::Paced(gap)));
    // As much as the initial window takes, which is more than leaves before the server answers.
    let data = payload(30_000);
    let (mut written, mut received, mut early) = (0, Vec::new(), 0);
    world.run_until("everything has come", |world| {
        let left = &data[written..];
        written += world.client.stream_send(0, left, false).unwrap_or(0);
        let mut buffer = [0; 65_536];
        while let Ok((size, _)) = world.server.stream_recv(0, &mut buffer) {
            received.extend_from_slice(&buffer[..size]);
            if !world.server.is_established() {
                assert!(world.server.is_in_early_data(), "read in early data");
                early = received.len();
            }
        }
        received.len() == data.len()
    });
    assert_eq!(received, data);
    let reasons = [&world.client, &world.server].map(|side| side.early_data_reason());
    assert_eq!(reasons, [ACCEPTED; 2]);
    assert!(early > 5_000, "{early} bytes before the handshake was over");
    assert!(early < data.len(), "the rest was held until after it");
    let controller = world.client.congestion_controller::<Scripted>();
    let sent = &controller.expect("the client's").sent;
    let data: Vec<_> = sent.iter().filter(|packet| packet.app_data).collect();
    for packet in &data {
        assert!(packet.released, "{packet:?} was not released");
    }
    for pair in data.windows(2) {
        assert!(pair[1].now - pair[0].now >= gap, "no release comes early");
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
