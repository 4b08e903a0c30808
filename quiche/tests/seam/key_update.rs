//! Key updates that a side begins, over a link that loses and delays packets.

use std::time::Duration;

use proptest::prelude::*;
use quiche::Error;

use crate::liveness::hash;
use crate::world::{base_config, payload, Fate, Side, World, DELAY};

/// Enough for the peer to answer, and for the former keys to be forgotten.
const SETTLED: Duration = Duration::from_secs(2);

fn world(seed: u64) -> World {
    World::with_config(base_config(), seed)
}

#[test]
fn keys_are_not_updated_before_the_handshake_is_confirmed() {
    let mut world = World::before_handshake(base_config(), 1);
    assert_eq!(world.client.update_keys(), Err(Error::InvalidState));
    world.shake_hands();
    assert_eq!(world.client.update_keys(), Ok(()));
}

#[test]
fn another_update_has_to_wait_until_the_peer_has_followed_the_last() {
    for side in [Side::Client, Side::Server] {
        let mut world = world(1);
        assert_eq!(world.side(side).update_keys(), Ok(()));
        assert_eq!(world.side(side).update_keys(), Err(Error::InvalidState));
        // Nothing was sent under the new keys, so nobody can have followed.
        world.run_for(SETTLED);
        assert_eq!(world.side(side).update_keys(), Err(Error::InvalidState));
        world
            .side(side)
            .send_ack_eliciting()
            .expect("it is connected");
        world.run_for(SETTLED);
        assert_eq!(world.side(side).update_keys(), Ok(()), "{side:?}");
    }
}

#[test]
fn a_peer_that_was_made_to_follow_may_begin_the_next_update() {
    let mut world = world(1);
    for side in [Side::Client, Side::Server, Side::Client, Side::Client] {
        assert_eq!(world.side(side).update_keys(), Ok(()), "{side:?}");
        assert_eq!(world.transfer(50_000), payload(50_000));
        // An acknowledgement alone is not acknowledged, which the next update waits for.
        for side in [Side::Client, Side::Server] {
            world
                .side(side)
                .send_ack_eliciting()
                .expect("it is connected");
        }
        world.run_for(SETTLED);
    }
}

#[test]
fn both_sides_may_update_at_the_same_time() {
    let mut world = world(1);
    for round in 0..3 {
        for side in [Side::Client, Side::Server] {
            assert_eq!(
                world.side(side).update_keys(),
                Ok(()),
                "{side:?}, round {round}"
            );
        }
        assert_eq!(world.transfer(50_000), payload(50_000));
        world.client.send_ack_eliciting().expect("it is connected");
        world.run_for(SETTLED);
    }
}

proptest! {
    /// Packets of both phases overtake one another.
    #[test]
    fn nothing_is_lost_by_updates_whatever_the_link_does(
        seed in 0_u64..1000,
        loss in 0_u64..25,
        updates in proptest::collection::vec((5_u64..400, any::<bool>()), 0..6),
    ) {
        let mut world = world(seed);
        let mut count = 0;
        world.link = Box::new(move |_| {
            count += 1;
            let drawn = hash(seed, count);
            match drawn % 100 {
                part if part < loss => Fate::Drop,
                part => Fate::Delay(DELAY + Duration::from_millis(part % 7)),
            }
        });
        let total = 300_000;
        let data = payload(total);
        let mut written = 0;
        let mut received = Vec::new();
        let started = world.elapsed();
        let mut updates = updates.into_iter();
        let mut next = updates.next();
        let mut refused = None;
        world.run_until("the transfer is complete", |world| {
            if let Some((at, is_client)) = next {
                if world.elapsed() >= started + Duration::from_millis(at) {
                    let side = if is_client { Side::Client } else { Side::Server };
                    match world.side(side).update_keys() {
                        Ok(()) | Err(Error::InvalidState) => {}
                        Err(error) => refused = Some(error),
                    }
                    next = updates.next();
                }
            }
            written += world.write(&data[written..]);
            world.read(&mut received);
            received.len() == total
        });
        prop_assert_eq!(refused, None);
        prop_assert!(received == data);
    }
}
