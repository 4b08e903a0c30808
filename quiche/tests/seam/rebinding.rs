//! New ports of the client's while packets are lost.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use quiche::{Config, ConnectionId, Error, PathEvent, RecvInfo};

use crate::controller::{factory, Policy, Script};
use crate::liveness::hash;
use crate::world::{
    address, base_config, payload, server_config, Fate, Side, World, DELAY, STREAM,
};

fn world(mut server: Config, seed: u64) -> World {
    server.set_active_connection_id_limit(8);
    let mut client = base_config();
    client.set_active_connection_id_limit(8);
    let mut world = World::between(server, client, seed);
    for number in 0..6u8 {
        let token = u128::from(number);
        for (connection, first) in [(&mut world.server, 0x60), (&mut world.client, 0x70)] {
            let id = [first + number; 16];
            connection
                .new_scid(&ConnectionId::from_ref(&id), token, false)
                .expect("the peer takes more");
        }
    }
    world.run_for(DELAY * 4);
    world
}

fn paced(gap: Duration) -> Config {
    server_config(factory(Script::new(Policy::Paced(gap))))
}

fn client_at(port: u16) -> SocketAddr {
    SocketAddr::new(address(Side::Client).ip(), port)
}

/// Clients that keep a connection alive do this. Otherwise a client that only receives is not heard
/// from.
fn keep_alive(world: &mut World, next: &mut Instant) {
    if world.now >= *next {
        *next = world.now + Duration::from_secs(1);
        world.client.send_ack_eliciting().expect("it is connected");
    }
}

/// A transfer, and what the server says of its paths.
struct Transfer {
    world: World,
    from: Side,
    data: Vec<u8>,
    written: usize,
    received: Vec<u8>,
    events: Vec<PathEvent>,
    next_sign: Instant,
}

impl Transfer {
    fn new(world: World, from: Side, size: usize) -> Self {
        Self {
            from,
            next_sign: world.now,
            world,
            data: payload(size),
            written: 0,
            received: Vec::new(),
            events: Vec::new(),
        }
    }

    fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let deadline = self.world.now + Duration::from_secs(60);
        while !done(self) {
            assert!(self.world.now < deadline, "{what}: {:?}", self.events);
            self.carry();
            keep_alive(&mut self.world, &mut self.next_sign);
            let events = std::iter::from_fn(|| self.world.server.path_event_next());
            self.events.extend(events);
            self.world.flush();
            self.world.advance(deadline.min(self.next_sign));
        }
    }

    /// The sender writes what it may, the receiver reads what has come.
    fn carry(&mut self) {
        let World { server, client, .. } = &mut self.world;
        let (from, to, id) = match self.from {
            Side::Server => (server, client, STREAM),
            Side::Client => (client, server, 0),
        };
        let left = &self.data[self.written..];
        self.written += from.stream_send(id, left, false).unwrap_or(0);
        let mut buffer = [0; 65_536];
        while let Ok((size, _)) = to.stream_recv(id, &mut buffer) {
            self.received.extend_from_slice(&buffer[..size]);
        }
    }

    fn is_done(&self) -> bool {
        self.received.len() == self.data.len()
    }

    /// The client's port changes, and the server's packets are lost for a while. It is too long for
    /// the validation of the new port.
    fn outlive_a_failed_validation(&mut self) {
        self.until("some has come", |transfer| transfer.received.len() > 20_000);
        self.world.rebind(9);
        let end = self.world.elapsed() + Duration::from_secs(5);
        self.world.link = Box::new(move |passage| match passage.from {
            Side::Server if passage.at < end => Fate::Drop,
            _ => Fate::Deliver,
        });
        let server = address(Side::Server);
        let failed = PathEvent::FailedValidation(server, client_at(9));
        self.until("it fails", |transfer| transfer.events.contains(&failed));
        let validated = PathEvent::Validated(server, client_at(9));
        self.until("it does not", |transfer| {
            transfer.events.contains(&validated)
        });
    }
}

#[test]
fn a_port_that_could_not_be_validated_is_validated_later() {
    let mut transfer = Transfer::new(
        world(paced(Duration::from_millis(2)), 1),
        Side::Server,
        200_000,
    );
    transfer.outlive_a_failed_validation();
    transfer.until("all has come", Transfer::is_done);
    assert_eq!(transfer.received, transfer.data);
}

/// A datagram that holds a challenge has this size; what else the server sends here is shorter.
const CHALLENGE: usize = 1_200;

/// The server sends a little now and then, so that no timer of its runs out.
#[test]
fn a_challenge_that_is_lost_is_repeated() {
    let mut world = world(base_config(), 1);
    world.rebind(9);
    world.client.send_ack_eliciting().expect("it is connected");
    let mut challenges = 0;
    world.link = Box::new(move |passage| {
        let challenges_too = passage.from == Side::Server && passage.size >= CHALLENGE;
        challenges += usize::from(challenges_too);
        match challenges_too && challenges == 1 {
            true => Fate::Drop,
            false => Fate::Deliver,
        }
    });
    let mut next_sign = world.now;
    let end = world.now + Duration::from_secs(2);
    while world.now < end {
        world.write(&payload(100));
        world.run_for(DELAY / 2);
        keep_alive(&mut world, &mut next_sign);
    }
    let events: Vec<_> = std::iter::from_fn(|| world.server.path_event_next()).collect();
    let validated = PathEvent::Validated(address(Side::Server), client_at(9));
    assert!(events.contains(&validated), "{events:?}");
}

#[test]
fn a_connection_id_that_paths_share_is_retired_on_each() {
    let mut world = world(base_config(), 1);
    for port in [9, 10] {
        world.rebind(port);
        world.client.send_ack_eliciting().expect("it is connected");
        world.run_for(DELAY * 4);
    }
    // All of them were seen with the client's first.
    world.client.retire_dcid(0).expect("there are others");
    world.run_for(DELAY * 4);
    let info = RecvInfo {
        from: client_at(10),
        to: address(Side::Server),
    };
    // Something to acknowledge; an event loop may try any path, as tokio-quiche does.
    world.client.send_ack_eliciting().expect("it is connected");
    let mut buffer = [0; 1_500];
    let (size, _) = world.client.send(&mut buffer).expect("it says so");
    world
        .server
        .recv(&mut buffer[..size], info)
        .expect("it is valid");
    let (from, to) = (Some(address(Side::Server)), Some(client_at(9)));
    let sent = world.server.send_on_path(&mut buffer, from, to);
    assert!(matches!(sent, Ok(_) | Err(Error::Done)), "{sent:?}");
}

/// Ports that change at times nobody chose, over a link that loses packets.
#[derive(Clone, Debug)]
struct Draw {
    seed: u64,
    gap: Duration,
    /// When the port changes, one after another.
    changes: Vec<Duration>,
    lost_percent: u64,
    /// The address translation goes on to deliver what is sent to an earlier port.
    remembers: bool,
    upload: bool,
}

/// At a quarter, ten probes or their acknowledgements are lost in a row in one draw of 2,000. The
/// probes come at twice the interval each time, so the idle timeout closes the connection.
const MOST_LOST_PERCENT: u64 = 15;

fn draw() -> impl Strategy<Value = Draw> {
    let change = (0u64..400).prop_map(Duration::from_millis);
    (
        any::<u64>(),
        (0u64..5_000).prop_map(Duration::from_micros),
        prop::collection::vec(change, 1..5),
        0..=MOST_LOST_PERCENT,
        any::<(bool, bool)>(),
    )
        .prop_map(
            |(seed, gap, changes, lost_percent, (remembers, upload))| Draw {
                seed,
                gap,
                changes,
                lost_percent,
                remembers,
                upload,
            },
        )
}

fn survives(draw: &Draw) {
    let mut world = world(paced(draw.gap), draw.seed);
    world.remembers = draw.remembers;
    let (seed, lost) = (draw.seed, draw.lost_percent);
    let mut count = 0;
    world.link = Box::new(move |_| {
        count += 1;
        match hash(seed, count) % 100 < lost {
            true => Fate::Drop,
            false => Fate::Deliver,
        }
    });
    let from = match draw.upload {
        true => Side::Client,
        false => Side::Server,
    };
    let mut transfer = Transfer::new(world, from, 200_000);
    for (number, change) in draw.changes.iter().enumerate() {
        let at = transfer.world.now + *change;
        transfer.until("the next change", |transfer| transfer.world.now >= at);
        transfer.world.rebind(10 + number as u16);
    }
    transfer.until("all has come", Transfer::is_done);
    assert_eq!(transfer.received, transfer.data);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_transfer_survives_every_change(draw in draw()) {
        survives(&draw);
    }
}
