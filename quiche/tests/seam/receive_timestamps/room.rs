//! Timestamps cost room in packets that leave anyway, and never a packet.

use std::time::Duration;

use super::{asking_server, hand_over, read, told, write};
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

/// The client has taken in 900 packets, 100 us apart, and acknowledged none. Two bytes a time: more
/// than one packet has room for.
fn a_long_silence() -> World {
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
        world.run_for(Duration::from_micros(100));
    }
    world.run_for(DELAY);
    world.client_is_mute = false;
    world
}

/// The client's next datagram, received by the server: its size, and the times it brought.
fn next_datagram(world: &mut World) -> (usize, usize) {
    let before = told(world, Side::Server).len();
    let size = hand_over(world, Side::Client).expect("a valid packet");
    (size, told(world, Side::Server).len() - before)
}

fn has_more(world: &mut World) -> bool {
    world.client.send(&mut [0; 2_000]).is_ok()
}

#[test]
fn an_acknowledgement_alone_may_fill_its_packet() {
    let mut world = a_long_silence();
    let (size, times) = next_datagram(&mut world);
    assert!((1_120..1_200).contains(&size), "{size} bytes");
    assert!(times > 500, "{times} times");
    assert!(!has_more(&mut world), "what had no room gets no packet");
}

#[test]
fn small_frames_find_room_beside_times() {
    let mut world = a_long_silence();
    world.write(&payload(1_000));
    world.client_is_mute = true;
    world.run_for(DELAY);
    let stop = world.client.stream_shutdown(3, quiche::Shutdown::Read, 42);
    assert_eq!(stop, Ok(()));
    let (size, times) = next_datagram(&mut world);
    assert!((1_120..1_200).contains(&size), "{size} bytes");
    assert!(times > 500, "{times} times");
    assert!(!has_more(&mut world), "STOP_SENDING was in the same packet");
}

#[test]
fn data_finds_most_of_its_packet_free() {
    let mut world = a_long_silence();
    write(&mut world.client, 2, &payload(5_000));
    let (size, times) = next_datagram(&mut world);
    assert!(size > 1_150, "{size} bytes");
    assert!(
        (40..=75).contains(&times),
        "{times} times in an eighth of it"
    );
    let data = read(&mut world.server, 2);
    assert!(data >= 1_200 * 7 / 8 - 40, "{data} bytes of data");
}
