//! What a promise's handle says when the connection changes its path, or ends: real quiche
//! connections, the promise in force, and the handle in another thread.

mod logged;
mod world;

use imtcp_cc::promise::{Demand, Promise, RejectedRequirement, Requirement, SlotReport, Status};
use imtcp_cc::units::Bandwidth;
use pollster::block_on;
use quiche::Connection;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use world::{FIRST_PORT, Side, World, client_address, server_address};

const SLOT: Duration = Duration::from_secs(1);

fn required(mbps: u64) -> Requirement {
    let requirement = Requirement::new(Bandwidth::from_mbps(mbps), SLOT).expect("possible");
    requirement.demand(Demand::Exactly)
}

/// An application in threads of its own, which hold the handle: each status and each report is
/// awaited, and passed on.
struct Application {
    promise: Promise,
    statuses: Receiver<Status>,
    reports: Receiver<SlotReport>,
    threads: [JoinHandle<()>; 2],
}

impl Application {
    fn of(promise: Promise) -> Self {
        let (tell_status, statuses) = channel();
        let (tell_report, reports) = channel();
        let (mut changes, mut ended_slots) = (promise.status_changes(), promise.reports());
        let threads = [
            thread::spawn(move || {
                while let Some(status) = block_on(changes.next()) {
                    let _ = tell_status.send(status);
                }
            }),
            thread::spawn(move || {
                while let Some(report) = block_on(ended_slots.next()) {
                    let _ = tell_report.send(report);
                }
            }),
        ];
        Self {
            promise,
            statuses,
            reports,
            threads,
        }
    }

    /// Requires the rate from another thread than the connection's.
    fn require(&self, requirement: Requirement) -> Result<(), RejectedRequirement> {
        let promise = self.promise.clone();
        let asking = thread::spawn(move || promise.require(requirement));
        asking.join().expect("no panic")
    }

    /// The status that the thread is told next. Virtual time stands still until it is told.
    fn next_status(&self) -> Status {
        self.statuses.recv().expect("the promise goes on")
    }

    /// The report that the other thread is told next.
    fn next_report(&self) -> SlotReport {
        self.reports.recv().expect("the promise goes on")
    }

    /// The promise is in force, and has kept a slot.
    fn sees_it_kept(&self, world: &mut World, requirement: Requirement) -> SlotReport {
        let promise = &self.promise;
        world.until("it is in force", |_| {
            promise.in_force() == Some(requirement)
        });
        assert_eq!(self.next_status(), Status::Kept);
        let mut reports = promise.reports();
        world.until("a slot ends", |_| reports.take().is_some());
        let report = self.next_report();
        assert!(report.outcome.is_kept(), "{report:?}");
        assert_eq!(report.required, requirement.rate());
        report
    }

    /// Nothing is claimed of a path that is no longer used: by whoever asks, and to whoever waits.
    fn sees_that_nothing_is_in_force(&self) {
        let promise = &self.promise;
        assert_eq!(promise.in_force(), None);
        assert_eq!(promise.status(), Status::Idle);
        assert!(promise.estimate().is_none() && promise.capacity().is_none());
        assert!(promise.can_promise(Bandwidth::from_mbps(1), SLOT).is_none());
        assert_eq!(self.next_status(), Status::Idle);
        assert!(!promise.has_ended());
    }

    /// The connection is gone: both threads end, and nobody believes that anything is promised.
    fn sees_the_end(self) {
        assert!(self.promise.has_ended());
        for thread in self.threads {
            thread.join().expect("it was told");
        }
        assert_eq!(self.promise.in_force(), None);
        assert_eq!(self.promise.status(), Status::Idle);
        assert!(
            self.promise
                .can_promise(Bandwidth::from_mbps(1), SLOT)
                .is_none()
        );
        let rejected = self.promise.require(required(1));
        assert_eq!(rejected, Err(RejectedRequirement::ConnectionGone));
        let mut reports = self.promise.reports();
        assert_eq!(block_on(reports.next()), None);
    }
}

/// A world in which one side sends, and its application has 4 Mbit/s in force for a slot.
fn with_promise(sender: Side) -> (World, Application, SlotReport) {
    let mut world = World::new(imtcp_cc::Config::default());
    world.sender = sender;
    let application = Application::of(world.promise(sender));
    application.require(required(4)).expect("nothing is known");
    let report = application.sees_it_kept(&mut world, required(4));
    assert_eq!(application.promise.moves(), 0);
    (world, application, report)
}

fn peer(promise: &Promise) -> SocketAddr {
    promise.path().expect("quiche tells").peer
}

/// Runs until the promise has left the path that it was on, and checks that it said so.
fn until_it_has_left(world: &mut World, application: &Application) {
    world.until("the path is left", |_| {
        application.promise.in_force().is_none()
    });
    application.sees_that_nothing_is_in_force();
    let carried = application.promise.required();
    assert_eq!(carried, Some(required(4)), "it is still required");
}

/// The promise goes on where the connection does: as often as it has moved, with slots that go on
/// counting, on the same clock.
fn until_it_goes_on(
    world: &mut World,
    application: &Application,
    moves: u64,
    before: &SlotReport,
) -> SlotReport {
    let after = application.sees_it_kept(world, required(4));
    assert_eq!(application.promise.moves(), moves);
    assert_eq!(after.index, before.index + 1);
    assert!(after.start >= before.end && after.end <= world.now);
    assert!(application.promise.estimate().is_some(), "of the new path");
    after
}

/// The client changes its port in this way, to one after another.
fn is_carried_over(change: fn(&mut World, u16), ports: [u16; 3]) {
    let (mut world, application, mut report) = with_promise(Side::Server);
    for (moves, port) in (1..).zip(ports) {
        change(&mut world, port);
        until_it_has_left(&mut world, &application);
        report = until_it_goes_on(&mut world, &application, moves, &report);
        assert_eq!(peer(&application.promise), client_address(port));
    }
    world.server = None;
    application.sees_the_end();
}

#[test]
fn a_promise_is_carried_over_when_the_clients_port_changes() {
    is_carried_over(World::rebind, [40_001, 40_002, 40_003]);
}

#[test]
fn a_promise_is_carried_over_when_the_client_migrates_and_comes_back() {
    let there_and_back = [FIRST_PORT + 1, FIRST_PORT, FIRST_PORT + 1];
    is_carried_over(World::migrate, there_and_back);
}

#[test]
fn a_client_that_uploads_has_its_promise_on_the_path_that_it_chose() {
    let (mut world, application, report) = with_promise(Side::Client);
    world.migrate(FIRST_PORT + 1);
    // The client knows at once.
    application.sees_that_nothing_is_in_force();
    until_it_goes_on(&mut world, &application, 1, &report);
    let path = application.promise.path().expect("quiche tells");
    assert_eq!(path.local, client_address(FIRST_PORT + 1));
    assert_eq!(path.peer, server_address());
}

/// A copy of a datagram from a foreign address moves the connection for a moment (RFC 9000, section
/// 9.3.3).
#[test]
fn a_forged_address_takes_no_promise_away() {
    let (mut world, application, report) = with_promise(Side::Server);
    world.forge(SocketAddr::from(([203, 0, 113, 1], 1)));
    application.sees_that_nothing_is_in_force();
    until_it_goes_on(&mut world, &application, 2, &report);
    assert_eq!(peer(&application.promise), client_address(FIRST_PORT));
}

#[test]
fn what_is_required_or_withdrawn_between_two_paths_holds_on_the_next() {
    let (mut world, application, _) = with_promise(Side::Server);
    let promise = &application.promise;
    world.rebind(40_001);
    until_it_has_left(&mut world, &application);
    application.require(required(2)).expect("nothing is known");
    application.sees_it_kept(&mut world, required(2));
    assert_eq!(promise.moves(), 1);

    world.rebind(40_002);
    world.until("the path is left", |_| promise.in_force().is_none());
    application.sees_that_nothing_is_in_force();
    promise.withdraw();
    world.until("the next path is known", |_| promise.estimate().is_some());
    world.run(SLOT);
    assert_eq!((promise.required(), promise.in_force()), (None, None));
    assert_eq!((promise.status(), promise.moves()), (Status::Idle, 2));
}

/// Whoever asks for the handle again on a new path has the same promise, and nothing to compare.
#[test]
fn every_path_gives_the_handle_of_the_same_promise() {
    let (mut world, application, _) = with_promise(Side::Server);
    world.rebind(40_001);
    until_it_has_left(&mut world, &application);
    world
        .promise(Side::Server)
        .require(required(3))
        .expect("nothing is known");
    application.sees_it_kept(&mut world, required(3));
    assert_eq!(application.promise.required(), Some(required(3)));
}

/// A promise that the configuration makes holds from the start, on the first path and on those
/// that follow, until it is withdrawn.
#[test]
fn a_configured_promise_does_not_come_back_after_it_was_withdrawn() {
    let config = imtcp_cc::Config::builder().promise(Some(required(4)));
    let mut world = World::new(config.build().expect("valid"));
    let promise = world.promise(Side::Server);
    world.until("it is in force", |_| {
        promise.in_force() == Some(required(4))
    });
    world.rebind(40_001);
    world.until("the path is left", |_| promise.in_force().is_none());
    world.until("it is in force", |_| {
        promise.in_force() == Some(required(4))
    });
    promise.withdraw();
    world.until("it is not", |_| promise.in_force().is_none());
    world.rebind(40_002);
    world.until("there is another path", |_| promise.moves() == 2);
    world.until("it is known", |_| promise.estimate().is_some());
    assert_eq!((promise.required(), promise.in_force()), (None, None));
}

#[test]
fn a_connection_that_is_dropped_ends_its_promise() {
    let (mut world, application, _) = with_promise(Side::Server);
    let estimate = application.promise.estimate();
    assert!(estimate.is_some());
    world.server = None;
    assert_eq!(application.promise.estimate(), estimate, "it was true");
    application.sees_the_end();
}

#[test]
fn a_connection_that_is_closed_ends_its_promise_at_once() {
    let (mut world, application, _) = with_promise(Side::Server);
    let server = world.server.as_mut().expect("it is there");
    server.close(true, 0, b"").expect("it was open");
    application.sees_the_end();
    // What follows until it is dropped does not revive it.
    let promise = world.promise(Side::Server);
    world.until("it is closed", |world| {
        world.server.as_ref().is_some_and(Connection::is_closed)
    });
    assert!(promise.has_ended() && promise.in_force().is_none());
}

#[test]
fn a_connection_that_the_peer_closes_ends_its_promise_when_it_is_told() {
    let (mut world, application, _) = with_promise(Side::Server);
    world.client.close(true, 0, b"").expect("it was open");
    world.until("the server is told", |world| {
        world.server.as_ref().is_some_and(Connection::is_draining)
    });
    application.sees_the_end();
}

#[test]
fn a_connection_that_hears_nothing_ends_its_promise_with_its_timeout() {
    let (mut world, application, _) = with_promise(Side::Server);
    world.cut();
    world.until("it gives up", |_| application.promise.has_ended());
    assert!(world.server.as_ref().is_some_and(Connection::is_timed_out));
    application.sees_the_end();
}
