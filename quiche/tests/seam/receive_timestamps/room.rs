//! What timestamps cost: room in packets that leave anyway, and never a packet.

use std::time::Duration;

use super::{asking_server, config, read, scripted, told, write};
use crate::controller::{Policy, Script, Scripted};
use crate::world::{payload, Passage, Side, World, DELAY};

/// The client's datagrams during a transfer of the server's.
fn acknowledgements(max: u64) -> Vec<Passage> {
    let mut world = asking_server(max, 0);
    world.trace.clear();
    world.transfer(2_000_000);
    world.run_for(DELAY * 4);
    let from_client = world
        .trace
        .iter()
        .filter(|passage| passage.from == Side::Client);
    from_client.copied().collect()
}

#[test]
fn no_packet_leaves_for_timestamps() {
    let plain = acknowledgements(0);
    let stamped = acknowledgements(1_000);
    let times = |passages: &[Passage]| passages.iter().map(|p| p.at).collect::<Vec<_>>();
    assert!(plain.len() > 30, "{} datagrams", plain.len());
    assert_eq!(times(&stamped), times(&plain));
}

#[test]
fn an_acknowledgement_grows_by_little() {
    // A packet every 3 ms, each acknowledged: its own time, and again that of the packet before.
    let sizes = |max| {
        let mut world = asking_server(max, 0);
        world.trace.clear();
        for _ in 0..100 {
            world.write(&payload(1_000));
            world.run_for(Duration::from_millis(3));
            read(&mut world.client, 3);
        }
        let from_client = world
            .trace
            .iter()
            .filter(|passage| passage.from == Side::Client);
        from_client.map(|passage| passage.size).collect::<Vec<_>>()
    };
    let (plain, stamped) = (sizes(0), sizes(100));
    assert_eq!(plain.len(), stamped.len());
    let extra: Vec<usize> = stamped.iter().zip(&plain).map(|(s, p)| s - p).collect();
    // Type 3, range count 1, range 2, the first time 4, the gap 2.
    assert_eq!(extra[extra.len() / 2], 12, "{extra:?}");
}

#[test]
fn an_acknowledgement_alone_may_fill_its_packet() {
    let mut world = asking_server(1_000, 0);
    let script = Script::new(Policy::Free).window(10_000_000);
    let controller = world.server.congestion_controller_mut::<Scripted>();
    controller.expect("scripted").script = script;
    world.client_is_mute = true;
    for _ in 0..900 {
        world
            .server
            .dgram_send(&[7; 10])
            .expect("room in the queue");
        world.run_for(Duration::from_micros(10));
    }
    world.run_for(DELAY);
    world.client_is_mute = false;
    world.trace.clear();
    world.run_for(DELAY * 2);
    let largest = world.trace.iter().map(|passage| passage.size).max();
    assert!(
        largest.is_some_and(|size| size > 900 && size <= 1_200 - 40),
        "{largest:?}"
    );
    let acks = &scripted(&world.server).acks;
    let most = acks.iter().map(|ack| ack.receive_times.len()).max();
    assert!(most.is_some_and(|count| count > 800), "{most:?}");
}

#[test]
fn data_keeps_seven_eighths_of_its_packets() {
    let mut world = World::between(config(1_000, true), config(1_000, true), 1);
    // Each side has more data than its window, so each packet has an acknowledgement to carry and
    // data to fill it.
    let data = payload(1_000_000);
    let mut written = [0, 0];
    let mut received = [0, 0];
    world.trace.clear();
    world.run_until("both transfers are complete", |world| {
        written[0] += write(&mut world.server, 3, &data[written[0]..]);
        written[1] += write(&mut world.client, 2, &data[written[1]..]);
        received[0] += read(&mut world.client, 3);
        received[1] += read(&mut world.server, 2);
        received == [data.len(), data.len()]
    });
    let datagrams = world
        .trace
        .iter()
        .filter(|p| p.from == Side::Server)
        .count();
    // Headers, plain acknowledgements and a packet that is not full now and then, aside.
    let least = data.len() * 8 / 7 / 1_150;
    assert!(datagrams <= least + least / 10, "{datagrams} for {least}");
    assert!(told(&mut world, Side::Server).len() > 500);
    assert!(told(&mut world, Side::Client).len() > 500);
}
