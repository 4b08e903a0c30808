//! Handshakes whose packets are lost.

use std::time::Duration;

use crate::controller::{factory, Policy, Script};
use crate::world::{server_config, Fate, Side, World, DELAY};

/// The first probe timeout of a connection that has measured nothing (RFC 9002, section 6.2.2).
const FIRST_TIMEOUT: Duration = Duration::from_millis(999);

#[test]
fn a_flight_that_is_lost_is_repeated_whole_by_the_first_timeout() {
    let config = server_config(factory(Script::new(Policy::Free)));
    let mut world = World::before_handshake(config, 1);
    world.link = Box::new(|passage| match passage.from {
        Side::Server if passage.at < DELAY * 2 => Fate::Drop,
        _ => Fate::Deliver,
    });
    world.run_until("the client has all of it", |world| {
        world.client.is_established()
    });
    // There, at the timeout, and back.
    let by = DELAY + FIRST_TIMEOUT + DELAY * 2;
    assert!(world.elapsed() < by, "it took {:?}", world.elapsed());
}
