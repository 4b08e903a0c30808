//! The release time as a timer.

use std::time::Duration;

use quiche::cc::Release;

use crate::controller::{Policy, Script};
use crate::world::{payload, World, DELAY};

#[test]
fn the_release_time_is_the_connections_timeout_until_it_has_come() {
    let gap = Duration::from_millis(3);
    let mut world = World::new(Script::new(Policy::Paced(gap)), 1);
    world.write(&payload(5_000));
    world.flush();
    let first = world
        .controller()
        .released()
        .next()
        .expect("one packet left")
        .now;
    assert_eq!(world.server.timeout_instant(), Some(first + gap));
    assert_eq!(world.server.timeout(), Some(gap));

    world.now = first + gap;
    quiche::clock::set(Some(world.now));
    world.server.on_timeout();
    let after = world.server.timeout_instant().expect("the loss timer runs");
    assert!(
        after > world.now,
        "a release time that has come is not due again"
    );
    world.flush();
    assert_eq!(
        world.controller().released().count(),
        2,
        "the send that follows sends"
    );
}

#[test]
fn release_times_are_no_probe_timeouts() {
    // A gap far beyond the probe timeout: each release is a timer of its own, with nothing lost.
    let mut world = World::new(Script::new(Policy::Paced(Duration::from_secs(3))), 1);
    world.transfer(6_000);
    let stats = world.server.path_stats().next().expect("a path");
    assert_eq!(stats.total_pto_count, 0, "no probe timeout");
    assert!(world.controller().timeouts.is_empty() && world.controller().losses.is_empty());
}

#[test]
fn a_release_in_the_past_is_now() {
    let mut world = World::new(Script::new(Policy::Paced(Duration::from_millis(1))), 1);
    world.transfer(3_000);
    world.run_for(Duration::from_secs(1));
    let before = world.controller().released().count();
    world.write(&payload(500));
    world.flush();
    assert_eq!(world.controller().released().count(), before + 1);
    let (context, release) = *world.controller().asked.last().expect("it was asked");
    assert!(
        matches!(release, Release::At(time) if time < context.now),
        "{release:?}"
    );
}

#[test]
fn the_release_decision_for_pacing_event_loops_is_the_same_time() {
    let gap = Duration::from_millis(3);
    let mut world = World::new(Script::new(Policy::Paced(gap)), 1);
    world.write(&payload(5_000));
    world.flush();
    let decision = world
        .server
        .get_next_release_time()
        .expect("an active path");
    assert_eq!(decision.time(world.now), Some(world.now + gap));
    assert!(!decision.can_burst());
}

#[test]
fn a_hold_wakes_the_event_loop_at_most_once_in_a_probe_timeout() {
    let mut world = World::new(Script::new(Policy::HoldAfter(0)), 1);
    world.write(&payload(5_000));
    world.flush();
    let asked = world.controller().asked.len();
    world.run_for(DELAY * 2 * 50);
    let again = world.controller().asked.len() - asked;
    assert!(
        (1..=50).contains(&again),
        "asked {again} times in 50 round trips"
    );
}
