//! Data that is held always has a timer. Whatever the event loop does, nothing waits for the peer.

use std::time::Duration;

use crate::controller::{Policy, Script};
use crate::world::{payload, Fate, Sending, Side, World, DELAY};

/// Longer than a round trip, so that nothing is in flight when the next packet is due.
const GAP: Duration = Duration::from_millis(100);
const TAKES: Duration = Duration::from_micros(10);

/// A server with held data whose event loop fills GSO buffers, at the moment before the next
/// release.
fn just_before_a_release() -> World {
    let mut world = World::new(Script::new(Policy::Paced(GAP)), 1);
    world.sending = Sending {
        batches: true,
        takes: TAKES,
        largest: 0,
    };
    world.write(&payload(20_000));
    world.run_for(GAP / 2);
    let released = world.controller().released().last();
    let due = released.expect("the first packet left").now + GAP;
    // What the client sends arrives five microseconds before the release is due.
    let arrival = due - TAKES / 2;
    world.run_for(arrival - DELAY - world.now);
    world
}

#[test]
fn an_acknowledgement_just_before_a_release_does_not_stop_the_data() {
    let mut world = just_before_a_release();
    world
        .client
        .stream_send(0, b"a question", false)
        .expect("the client writes");
    let due = world.server.timeout_instant().expect("a release is due");
    world.run_for(DELAY * 2);
    let left = world.controller().released().last().expect("a packet").now;
    assert!(
        left.saturating_duration_since(due) <= TAKES,
        "it left {:?} after it was due",
        left.saturating_duration_since(due)
    );
}

#[test]
fn what_an_acknowledgement_leaves_of_a_buffer_is_not_filled_with_a_runt() {
    let mut world = just_before_a_release();
    // Holes make the acknowledgement long enough for some data behind it.
    let mut count = 0;
    world.link = Box::new(move |passage| {
        count += 1;
        match passage.from == Side::Client && count % 2 == 0 {
            true => Fate::Drop,
            false => Fate::Deliver,
        }
    });
    for _ in 0..40 {
        world.client.send_ack_eliciting().expect("it is connected");
        world.flush();
    }
    let before = world.controller().sent.len();
    world.run_for(DELAY * 2);
    let released: Vec<_> = world.controller().sent[before..]
        .iter()
        .filter(|packet| packet.released)
        .map(|packet| packet.size)
        .collect();
    assert_eq!(released, [1_200], "one whole packet was due");
}

#[test]
fn a_buffer_that_takes_no_data_is_not_asked_about() {
    let mut world = just_before_a_release();
    world
        .client
        .stream_send(0, b"a question", false)
        .expect("the client writes");
    world.run_for(DELAY * 2);
    for (context, _) in &world.controller().asked {
        assert!(
            context.max_datagram_size >= 1_200,
            "{context:?}: no packet of data is that small"
        );
    }
}

#[test]
fn an_event_loop_whose_buffers_are_small_sends_all_the_same() {
    let mut world = World::new(Script::new(Policy::Paced(Duration::from_millis(1))), 1);
    world.sending.largest = 700;
    assert_eq!(world.transfer(60_000), payload(60_000));
    let spent = world.elapsed();
    assert!(
        spent < Duration::from_secs(1),
        "some hundred packets, one a millisecond, took {spent:?}"
    );
}

#[test]
fn a_packet_that_is_asked_to_be_tiny_still_carries_data() {
    let script = Script::new(Policy::Paced(Duration::from_millis(1))).packet_size(30);
    let mut world = World::new(script, 1);
    assert_eq!(world.transfer(2_000), payload(2_000));
}

#[test]
fn an_event_loop_is_not_woken_more_often_by_small_buffers() {
    let mut world = World::new(Script::new(Policy::Paced(GAP)), 1);
    world.sending.batches = true;
    world.write(&payload(20_000));
    world.run_for(GAP / 2);
    let due = world.server.timeout_instant();
    for _ in 0..10 {
        world
            .client
            .stream_send(0, b"another question", false)
            .expect("the client writes");
        world.run_for(Duration::from_millis(2));
        assert_eq!(
            world.server.timeout_instant(),
            due,
            "the release, nothing else"
        );
    }
}
