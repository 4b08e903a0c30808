//! What flow control and send capacity make of data that is held.

use std::time::Duration;

use crate::controller::{factory, Policy, Script};
use crate::world::{base_config, payload, server_config, World, DELAY};

/// The stream window that the server's application finds, and quiche doubles.
const WINDOW: u64 = 10_000;

/// What the client may write to stream 0 after two windows have been used up and read: the first at
/// leisure, the second soon after that, so that the window is to grow, and then `times` sends of a
/// server that has no room for a window update.
fn credit_after(times: usize) -> usize {
    let mut server = server_config(factory(Script::new(Policy::Free).window(2_400)));
    server.set_initial_max_data(10_000_000);
    server.set_initial_max_stream_data_bidi_remote(WINDOW);
    server.set_max_stream_window(10_000_000);
    let mut world = World::with_config(server, 1);
    let mut written = 0;
    write_all(&mut world, &mut written);
    world.run_for(DELAY * 4);
    read_all(&mut world);
    world.run_for(DELAY / 2);
    // Fills the window; it is full until one and a half round trips after the update.
    world.write(&payload(30_000));
    world.run_for(DELAY / 2);
    write_all(&mut world, &mut written);
    world.run_for(DELAY + Duration::from_millis(1));
    assert_eq!(written, 2 * WINDOW as usize, "no reason to grow so far");
    let last = world.controller().sent.last().expect("packets left");
    assert!(last.bytes_in_flight > 1_200, "the window is full");
    read_all(&mut world);
    for _ in 0..times {
        world.flush();
    }
    // More than the client's own window takes at a time.
    for _ in 0..8 {
        world.run_for(DELAY * 2);
        write_all(&mut world, &mut written);
    }
    written
}

/// The client writes what it may.
fn write_all(world: &mut World, written: &mut usize) {
    let data = payload(10_000_000);
    while let Ok(taken @ 1..) = world.client.stream_send(0, &data[*written..], false) {
        *written += taken;
    }
}

fn read_all(world: &mut World) {
    while world.server.stream_recv(0, &mut [0; 65_536]).is_ok() {}
}

#[test]
fn a_window_does_not_grow_with_each_attempt_to_send() {
    let once = credit_after(1);
    let doubled = 4 * WINDOW as usize;
    assert_eq!(once, doubled, "the window was doubled");
    assert_eq!(credit_after(12), once, "after a dozen attempts");
}

/// The server's data may be so far ahead of the client's reading.
const CREDIT: usize = 30_000;

fn with_credit(script: Script) -> World {
    let mut client = base_config();
    client.set_initial_max_data(CREDIT as u64);
    World::between(server_config(factory(script)), client, 1)
}

#[test]
fn held_data_is_taken_off_flow_control_once() {
    let mut world = with_credit(Script::new(Policy::HoldAfter(0)));
    assert_eq!(world.write(&payload(CREDIT / 2)), CREDIT / 2);
    // A packet that is received refreshes the send capacity.
    world.client.send_ack_eliciting().expect("it is connected");
    world.run_for(DELAY * 2);
    assert_eq!(
        world.write(&payload(CREDIT)),
        CREDIT / 2,
        "the other half is free"
    );
}

#[test]
fn held_data_and_new_data_together_never_exceed_the_peers_limit() {
    let mut world = with_credit(Script::new(Policy::HoldAfter(3)));
    let mut written = 0;
    for _ in 0..10 {
        written += world.write(&payload(CREDIT));
        world.client.send_ack_eliciting().expect("it is connected");
        world.run_for(DELAY * 2);
    }
    assert_eq!(written, CREDIT);
}

#[test]
fn a_transfer_with_little_credit_keeps_its_rate() {
    // 20 packets a round trip fit into the credit; one leaves every 5 ms, of 8 in a round trip.
    let gap = Duration::from_millis(5);
    let mut world = with_credit(Script::new(Policy::Paced(gap)));
    let started = world.now;
    let total = 200_000;
    world.transfer(total);
    let packets = world.controller().released().count() as u32;
    let spent = world.now - started;
    assert!(
        spent <= gap * (packets + 10),
        "{packets} packets, one each {gap:?}, took {spent:?}"
    );
    let full = (total / 1_100) as u32;
    assert!(packets <= full, "{packets} packets for {total} bytes");
}

#[test]
fn a_stream_whose_header_does_not_fit_stays_in_the_queue() {
    // quiche's own controller: what is small is the buffer. Headers of this stream are long.
    let far = 1 << 40;
    let mut server = base_config();
    server.set_initial_max_streams_bidi(1 << 50);
    let mut client = base_config();
    client.set_initial_max_streams_bidi(1 << 50);
    let mut world = World::between(server, client, 1);
    let data = payload(40_000);
    world
        .client
        .stream_send(far, b"a question", false)
        .expect("the client writes");
    world.run_for(DELAY * 2);
    // In the last part an offset takes four bytes, since it is 16,384 or more, and the header takes
    // 15.
    let parts: Vec<&[u8]> = data[..36_000].chunks(6_000).collect();
    for (index, part) in parts.iter().enumerate() {
        let written = world.server.stream_send(far, part, false);
        assert_eq!(written, Ok(part.len()), "the server writes");
        if index + 1 == parts.len() {
            // Some of them leave between 13 and 15 bytes behind packet header and tag.
            for size in (40..80).rev() {
                world.server.send(&mut vec![0; size]).ok();
            }
        }
        let mut received = 0;
        world.run_until("all that was written arrives", |world| {
            while let Ok((size, _)) = world.client.stream_recv(far, &mut [0; 65_536]) {
                received += size;
            }
            received == part.len()
        });
        // The window takes the next part once this one is acknowledged.
        world.run_for(DELAY * 3);
    }
}
