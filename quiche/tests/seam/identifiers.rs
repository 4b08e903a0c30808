//! A peer that retires identifiers as soon as it is given others, over a link that loses packets.

use quiche::{ConnectionId, Error};

use crate::liveness::hash;
use crate::world::{base_config, payload, Fate, Side, World, DELAY};

/// The client gives as many identifiers as the server keeps.
struct Giver {
    count: u8,
}

impl Giver {
    fn give(&mut self, world: &mut World) {
        while self.count < 200 && world.client.scids_left() > 0 {
            self.count += 1;
            let id = [self.count; 16];
            let given =
                world
                    .client
                    .new_scid(&ConnectionId::from_ref(&id), self.count.into(), false);
            assert!(matches!(given, Ok(_) | Err(Error::IdLimit)), "{given:?}");
            if given.is_err() {
                return;
            }
        }
    }
}

/// The server goes over to another identifier whenever it has one.
struct Retirer {
    oldest: u64,
    limit: u64,
}

impl Retirer {
    fn retire(&mut self, world: &mut World) {
        while self.oldest < self.limit && world.server.available_dcids() > 0 {
            // One that is not there was never given, or is on its way.
            let retired = world.server.retire_dcid(self.oldest);
            assert!(
                matches!(retired, Ok(()) | Err(Error::InvalidState)),
                "{retired:?}"
            );
            self.oldest += 1;
        }
    }
}

fn client_of_many() -> World {
    let mut server = base_config();
    server.set_active_connection_id_limit(4);
    World::between(server, base_config(), 1)
}

#[test]
fn identifiers_that_are_retired_at_once_end_no_connection() {
    for seed in 0..150 {
        let mut world = client_of_many();
        let mut count = 0;
        world.link = Box::new(move |_| {
            count += 1;
            match hash(seed, count) % 10 {
                0..3 => Fate::Drop,
                _ => Fate::Deliver,
            }
        });
        let mut giver = Giver { count: 0 };
        let mut retirer = Retirer {
            oldest: 0,
            limit: 3,
        };
        giver.give(&mut world);
        let data = payload(20_000);
        let (mut written, mut received) = (0, Vec::new());
        world.run_until(
            &format!("the transfer of seed {seed} is complete"),
            |world| {
                retirer.retire(world);
                written += world.write(&data[written..]);
                world.read(&mut received);
                received.len() == data.len()
            },
        );
        assert!(received == data, "seed {seed}");
        // And the other way, which was silent.
        world
            .client
            .stream_send(0, b"a question", true)
            .expect("the client writes");
        world.run_until(&format!("the question of seed {seed} has come"), |world| {
            world.server.stream_readable(0)
        });
    }
}

#[test]
fn a_retirement_that_is_told_twice_ends_nothing() {
    let mut world = client_of_many();
    world
        .client
        .new_scid(&ConnectionId::from_ref(&[1; 16]), 1, false)
        .expect("the server takes it");
    world.run_for(DELAY * 4);
    // What the client says is lost for a while, so that the server tells it again.
    let end = world.elapsed() + DELAY * 10;
    world.link = Box::new(move |passage| match passage.from {
        Side::Client if passage.at < end => Fate::Drop,
        _ => Fate::Deliver,
    });
    world.server.retire_dcid(0).expect("there is another");
    world.run_for(DELAY * 100);
    assert_eq!(world.transfer(10_000), payload(10_000));
}
