//! Two connections, a link, and a clock that jumps from event to event.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quiche::cc::Factory;
use quiche::ecn::Mark;
use quiche::{Config, Connection, ConnectionId, Error, RecvInfo};

use crate::controller::{factory, Script, Scripted};

mod resumed;
mod sending;

pub use sending::Sending;

/// One way.
pub const DELAY: Duration = Duration::from_millis(20);
/// No test needs more events; one that does has stalled in a loop.
const MAX_EVENTS: usize = 200_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// A datagram on its way: what it is, and where in its direction's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    pub from: Side,
    /// Since the world began.
    pub at: Duration,
    pub size: usize,
    /// What its IP header says.
    pub mark: Mark,
}

/// What a datagram is when it arrives: addresses, mark, sender, bytes.
type Travelling = (RecvInfo, Mark, Side, Vec<u8>);

/// What the link does with a datagram.
pub enum Fate {
    Deliver,
    Delay(Duration),
    Drop,
}

pub struct World {
    pub client: Connection,
    pub server: Connection,
    pub start: Instant,
    pub now: Instant,
    pub trace: Vec<Passage>,
    /// Decides about each datagram.
    pub link: Box<dyn FnMut(&Passage) -> Fate>,
    /// What routers make of that.
    pub router: fn(Side, usize, Mark) -> Mark,
    /// Allocations during each datagram that the server received.
    pub allocations: Vec<u64>,
    /// The client takes packets in, and sends nothing.
    pub client_is_mute: bool,
    /// Errors of `recv()`. They end the test unless they are expected.
    pub errors: Vec<(Side, Error)>,
    pub expects_errors: bool,
    /// How the server's event loop sends.
    pub sending: Sending,
    /// Where the server sees the client, behind an address translation.
    seen_as: SocketAddr,
    /// Where it saw it before: nothing goes through any more, unless the translation remembers.
    forgotten: Vec<SocketAddr>,
    pub remembers: bool,
    /// The server has received something, or a timer of its ran out, since it sent last.
    pub server_is_woken: bool,
    on_the_way: BTreeMap<(Instant, u64), Travelling>,
    count: u64,
    scratch: Vec<u8>,
}

impl World {
    /// Two connections with the handshake done and confirmed. Draws randomness from `seed`.
    pub fn new(script: Script, seed: u64) -> Self {
        Self::with_config(server_config(factory(script)), seed)
    }

    pub fn with_config(server: Config, seed: u64) -> Self {
        let mut world = Self::before_handshake(server, seed);
        world.shake_hands();
        world
    }

    /// A handshake between two configurations, of which the client's need not check certificates.
    pub fn between(server: Config, client: Config, seed: u64) -> Self {
        let mut world = Self::of_both(server, client, seed);
        world.shake_hands();
        world
    }

    pub fn shake_hands(&mut self) {
        self.run_until("the handshake is done", |world| {
            world.client.is_established() && world.server.is_established()
        });
        self.run_for(DELAY * 4);
    }

    pub fn before_handshake(server_config: Config, seed: u64) -> Self {
        Self::of_both(server_config, base_config(), seed)
    }

    /// Both configurations are the caller's; the handshake has not begun.
    pub fn of_both(mut server_config: Config, mut client_config: Config, seed: u64) -> Self {
        let start = Instant::now();
        quiche::clock::set(Some(start));
        quiche::entropy::seed_thread(Some(seed));
        let (client_address, server_address) = (address(Side::Client), address(Side::Server));
        client_config.verify_peer(false);
        let client = quiche::connect(
            Some("quic.test"),
            &ConnectionId::from_ref(&[0xc; 16]),
            client_address,
            server_address,
            &mut client_config,
        )
        .expect("a client");
        let server = quiche::accept(
            &ConnectionId::from_ref(&[0x5; 16]),
            None,
            server_address,
            client_address,
            &mut server_config,
        )
        .expect("a server");
        Self {
            client,
            server,
            start,
            now: start,
            trace: Vec::new(),
            link: Box::new(|_| Fate::Deliver),
            router: |_, _, mark| mark,
            allocations: Vec::new(),
            client_is_mute: false,
            errors: Vec::new(),
            expects_errors: false,
            sending: Sending::default(),
            seen_as: client_address,
            forgotten: Vec::new(),
            remembers: false,
            server_is_woken: false,
            on_the_way: BTreeMap::new(),
            count: 0,
            scratch: vec![0; 65_536],
        }
    }

    pub fn controller(&self) -> &Scripted {
        self.server
            .congestion_controller::<Scripted>()
            .expect("the server's controller is scripted")
    }

    pub fn side(&mut self, side: Side) -> &mut Connection {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// The address translation gives the client another port.
    pub fn rebind(&mut self, port: u16) {
        self.forgotten.push(self.seen_as);
        self.seen_as.set_port(port);
    }

    /// Nothing is on its way, in either direction.
    pub fn is_quiet(&self) -> bool {
        self.on_the_way.is_empty()
    }

    pub fn elapsed(&self) -> Duration {
        self.now - self.start
    }

    /// The time of the next arrival or timer.
    fn next_event(&self) -> Option<Instant> {
        let arrival = self.on_the_way.keys().next().map(|(time, _)| *time);
        [
            arrival,
            self.client.timeout_instant(),
            self.server.timeout_instant(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Sends what may leave, then moves on to the next event, but not beyond `deadline`.
    fn step(&mut self, deadline: Instant) {
        self.flush();
        self.advance(deadline);
    }

    /// Moves on to the next event, but not beyond `deadline`.
    pub fn advance(&mut self, deadline: Instant) {
        let next = self.next_event().unwrap_or(deadline).min(deadline);
        self.now = self.now.max(next);
        quiche::clock::set(Some(self.now));
        for side in [Side::Client, Side::Server] {
            let (now, connection) = (self.now, self.side(side));
            if connection.timeout_instant().is_some_and(|due| due <= now) {
                connection.on_timeout();
                self.server_is_woken |= side == Side::Server;
            }
        }
        while let Some(entry) = self.on_the_way.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (info, mark, from, mut datagram) = entry.remove();
            quiche::ecn::with(mark, || self.deliver(from, info, &mut datagram));
        }
    }

    fn deliver(&mut self, from: Side, info: RecvInfo, datagram: &mut [u8]) {
        let (connection, to) = match from {
            Side::Client => (&mut self.server, Side::Server),
            Side::Server => (&mut self.client, Side::Client),
        };
        self.server_is_woken |= to == Side::Server;
        let mut received = Ok(0);
        let counted = allocation_counter::measure(|| received = connection.recv(datagram, info));
        if to == Side::Server {
            self.allocations.push(counted.count_total);
        }
        // A connection that is closing takes nothing in any more.
        match received {
            Ok(_) | Err(Error::Done) => {}
            Err(error) if self.expects_errors => self.errors.push((to, error)),
            Err(error) => panic!("{to:?} cannot receive: {error}"),
        }
    }

    pub fn run_for(&mut self, span: Duration) {
        let deadline = self.now + span;
        let mut events = 0;
        while self.now < deadline {
            events += 1;
            assert!(
                events < MAX_EVENTS,
                "more than {MAX_EVENTS} events in {span:?}: a timer does not clear itself"
            );
            self.step(deadline);
        }
        self.flush();
    }

    /// Runs until `done`; fails after a minute of virtual time.
    pub fn run_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = self.now + Duration::from_secs(60);
        let mut events = 0;
        while !done(self) {
            events += 1;
            assert!(
                events < MAX_EVENTS,
                "waiting until {what}: more than {MAX_EVENTS} events by {:?}",
                self.elapsed()
            );
            assert!(
                self.now < deadline,
                "waiting until {what}: not within a minute"
            );
            self.step(deadline);
        }
    }

    /// The server offers `total` bytes on a stream of its own; the client reads them all.
    pub fn transfer(&mut self, total: usize) -> Vec<u8> {
        let mut written = 0;
        let mut received = Vec::new();
        let payload = payload(total);
        self.run_until("the transfer is complete", |world| {
            written += world.write(&payload[written..]);
            world.read(&mut received);
            received.len() == total
        });
        received
    }

    /// Offers data to the server's stream; how much of it was taken.
    pub fn write(&mut self, data: &[u8]) -> usize {
        match self.server.stream_send(STREAM, data, false) {
            Ok(taken) => taken,
            Err(Error::Done) => 0,
            Err(error) => panic!("the server cannot write: {error}"),
        }
    }

    pub fn read(&mut self, into: &mut Vec<u8>) {
        let mut buffer = [0; 65_536];
        while let Ok((size, _)) = self.client.stream_recv(STREAM, &mut buffer) {
            into.extend_from_slice(&buffer[..size]);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        quiche::clock::set(None);
        quiche::entropy::seed_thread(None);
    }
}

/// The first unidirectional stream of the server.
pub const STREAM: u64 = 3;

pub fn payload(size: usize) -> Vec<u8> {
    (0..=u8::MAX).cycle().take(size).collect()
}

pub fn server_config(factory: Arc<dyn Factory>) -> Config {
    let mut config = base_config();
    config.set_congestion_controller(factory);
    config
}

pub fn base_config() -> Config {
    let mut config = Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
    complete(&mut config);
    config
}

/// What every configuration here has in common.
pub fn complete(config: &mut Config) {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    config
        .load_cert_chain_from_pem_file(&format!("{data}/cert.pem"))
        .expect("the test certificate");
    config
        .load_priv_key_from_pem_file(&format!("{data}/key.pem"))
        .expect("the test key");
    config
        .set_application_protos(&[b"seam"])
        .expect("a protocol name");
    config.set_max_idle_timeout(30_000);
    config.set_initial_max_data(10_000_000);
    config.set_initial_max_stream_data_uni(10_000_000);
    config.set_initial_max_stream_data_bidi_local(10_000_000);
    config.set_initial_max_stream_data_bidi_remote(10_000_000);
    config.set_initial_max_streams_uni(10);
    config.set_initial_max_streams_bidi(10);
    config.enable_dgram(true, 100, 100);
}

pub fn address(side: Side) -> SocketAddr {
    match side {
        Side::Client => SocketAddr::from(([10, 0, 0, 1], 1)),
        Side::Server => SocketAddr::from(([10, 0, 0, 2], 2)),
    }
}
