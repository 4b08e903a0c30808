//! A server that sends, a client that moves, and a link between them, in virtual time.

use imtcp_cc::promise::Promise;
use imtcp_cc::quiche::{Controller, Detail, Factory};
use imtcp_cc::units::Timestamp;
use imtcp_sim::endpoint::VirtualClock;
use quiche::{Config, Connection, ConnectionId, Error, RecvInfo};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// One way.
const DELAY: Duration = Duration::from_millis(10);
/// What a byte takes on the link, which carries 20 Mbit/s in each direction.
const NANOS_PER_BYTE: u64 = 400;
/// A datagram that would wait longer for the link is lost.
const LONGEST_QUEUE: Duration = Duration::from_millis(40);
/// The first stream that each side opens.
const CLIENT_STREAM: u64 = 2;
const SERVER_STREAM: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

pub fn server_address() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 443))
}

/// The client, at this port of its only host.
pub fn client_address(port: u16) -> SocketAddr {
    SocketAddr::from(([198, 51, 100, 1], port))
}

pub const FIRST_PORT: u16 = 50_000;

pub struct World {
    clock: VirtualClock,
    pub now: Timestamp,
    /// `None` once the application has dropped it.
    pub server: Option<Connection>,
    pub client: Connection,
    /// Who has data to send, always.
    pub sender: Side,
    /// Where the server sees what the client sends from [`FIRST_PORT`].
    seen_as: SocketAddr,
    /// When the link is free again, from the client and from the server.
    free_at: [Timestamp; 2],
    on_the_way: BTreeMap<(Timestamp, u64), (Side, RecvInfo, Vec<u8>)>,
    count: u64,
    is_cut: bool,
}

impl World {
    /// Connected, with connection IDs to spare.
    pub fn new(measuring: imtcp_cc::Config) -> Self {
        Self::begin(measuring, |_| {})
    }

    /// The same, with a qlog of the server that can be replayed.
    pub fn logged(measuring: imtcp_cc::Config, log: Box<dyn Write + Send + Sync>) -> Self {
        Self::begin(measuring, |server| {
            server.set_qlog(log, String::new(), String::new());
        })
    }

    fn begin(measuring: imtcp_cc::Config, prepare: impl FnOnce(&mut Connection)) -> Self {
        let clock = VirtualClock::start(1);
        let (mut theirs, mut ours) = (config(&measuring), config(&measuring));
        let (client, server) = (client_address(FIRST_PORT), server_address());
        let id = ConnectionId::from_ref(&[0xc; 16]);
        let connected = quiche::connect(Some("test"), &id, client, server, &mut theirs);
        let id = ConnectionId::from_ref(&[0x5; 16]);
        let accepted = quiche::accept(&id, None, server, client, &mut ours);
        let mut accepted = accepted.expect("a server");
        prepare(&mut accepted);
        let mut world = Self {
            clock,
            now: Timestamp::ZERO,
            server: Some(accepted),
            client: connected.expect("a client"),
            sender: Side::Server,
            seen_as: client,
            free_at: [Timestamp::ZERO; 2],
            on_the_way: BTreeMap::new(),
            count: 0,
            is_cut: false,
        };
        world.until("the handshake", |world| world.client.is_established());
        for number in 0..4 {
            let (ours, theirs) = ([0x60 + number; 16], [0x70 + number; 16]);
            let token = u128::from(number);
            let id = ConnectionId::from_ref(&ours);
            let server = world.server.as_mut().expect("it is there");
            server.new_scid(&id, token, false).expect("room for more");
            let id = ConnectionId::from_ref(&theirs);
            let client = &mut world.client;
            client.new_scid(&id, token, false).expect("room for more");
        }
        world.run(DELAY * 4);
        world
    }

    /// The handle of one side's promise, as an application takes it.
    pub fn promise(&self, side: Side) -> Promise {
        let connection = match side {
            Side::Client => &self.client,
            Side::Server => self.server.as_ref().expect("it is there"),
        };
        let controller = connection.congestion_controller::<Controller>();
        controller.expect("each side has one").promise()
    }

    /// The address translation gives the client another port. What is sent to the old one is lost.
    pub fn rebind(&mut self, port: u16) {
        self.seen_as.set_port(port);
    }

    /// The client goes on from another of its ports, knowingly.
    pub fn migrate(&mut self, port: u16) {
        let migrated = self.client.migrate(client_address(port), server_address());
        migrated.expect("there are connection IDs");
    }

    /// Somebody else sends a copy of the client's next datagram from an address of its own, which
    /// arrives first.
    pub fn forge(&mut self, from: SocketAddr) {
        self.client.send_ack_eliciting().expect("it is connected");
        let mut datagram = [0; 1_500];
        let (size, _) = self.client.send(&mut datagram).expect("it says so");
        let info = RecvInfo {
            from,
            to: server_address(),
        };
        let server = self.server.as_mut().expect("it is there");
        server
            .recv(&mut datagram[..size], info)
            .expect("it is genuine");
    }

    pub fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.advance_to(end, &mut |_| false);
    }

    /// Fails after a minute of virtual time.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let end = self.now + Duration::from_secs(60);
        assert!(self.advance_to(end, &mut done), "{what}: not in a minute");
    }

    fn advance_to(&mut self, end: Timestamp, done: &mut dyn FnMut(&Self) -> bool) -> bool {
        loop {
            self.exchange();
            if done(self) {
                return true;
            }
            let next = self.next_event().unwrap_or(end);
            if next > end {
                self.now = end;
                self.clock.set(end);
                return false;
            }
            self.now = self.now.max(next);
            self.clock.set(self.now);
            self.fire();
        }
    }

    fn next_event(&self) -> Option<Timestamp> {
        let arrival = self.on_the_way.keys().next().map(|(at, _)| *at);
        let server = self.server.as_ref().and_then(Connection::timeout_instant);
        let timers = [self.client.timeout_instant(), server]
            .into_iter()
            .flatten();
        timers
            .map(|at| self.clock.timestamp(at))
            .chain(arrival)
            .min()
    }

    /// Timers that are due, and datagrams that have arrived.
    fn fire(&mut self) {
        let due = |connection: &Connection| {
            let timer = connection.timeout_instant();
            timer.is_some_and(|at| self.clock.timestamp(at) <= self.now)
        };
        let [theirs, ours] = [Some(&self.client), self.server.as_ref()].map(|c| c.is_some_and(due));
        if theirs {
            self.client.on_timeout();
        }
        if let Some(server) = self.server.as_mut().filter(|_| ours) {
            server.on_timeout();
        }
        while let Some(first) = self.on_the_way.first_entry() {
            if first.key().0 > self.now {
                break;
            }
            let (to, info, mut datagram) = first.remove();
            let connection = match to {
                Side::Client => Some(&mut self.client),
                Side::Server => self.server.as_mut(),
            };
            // A connection that is closing takes nothing in any more.
            match connection.map(|connection| connection.recv(&mut datagram, info)) {
                None | Some(Ok(_) | Err(Error::Done)) => {}
                Some(Err(error)) => panic!("{to:?} cannot receive: {error}"),
            }
        }
    }

    /// Applications write and read, connections send.
    fn exchange(&mut self) {
        let mut scratch = [0; 65_536];
        let mut sent = Vec::new();
        let (client, server) = (&mut self.client, self.server.as_mut());
        if self.sender == Side::Client && client.is_established() {
            let _ = client.stream_send(CLIENT_STREAM, &scratch, false);
        }
        while client.stream_recv(SERVER_STREAM, &mut scratch).is_ok() {}
        if let Some(server) = server {
            if self.sender == Side::Server && server.is_established() {
                let _ = server.stream_send(SERVER_STREAM, &scratch, false);
            }
            while server.stream_recv(CLIENT_STREAM, &mut scratch).is_ok() {}
            while let Ok((size, info)) = server.send(&mut scratch[..1_500]) {
                let to = if info.to == self.seen_as {
                    client_address(FIRST_PORT)
                } else {
                    info.to
                };
                // The translation forgets the ports that the client had.
                if to.port() >= FIRST_PORT {
                    sent.push((Side::Client, info.from, to, scratch[..size].to_vec()));
                }
            }
        }
        while let Ok((size, info)) = self.client.send(&mut scratch[..1_500]) {
            let from = match info.from == client_address(FIRST_PORT) {
                true => self.seen_as,
                false => info.from,
            };
            sent.push((Side::Server, from, info.to, scratch[..size].to_vec()));
        }
        for (side, from, to, datagram) in sent {
            self.carry(side, RecvInfo { from, to }, datagram);
        }
    }

    /// Nothing arrives from now on.
    pub fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Over the link to this side.
    fn carry(&mut self, to: Side, info: RecvInfo, datagram: Vec<u8>) {
        if self.is_cut {
            return;
        }
        let free_at = &mut self.free_at[usize::from(to == Side::Client)];
        let departs = self.now.max(*free_at);
        if departs.saturating_since(self.now) > LONGEST_QUEUE {
            return;
        }
        *free_at = departs + Duration::from_nanos(NANOS_PER_BYTE * datagram.len() as u64);
        self.count += 1;
        let key = (*free_at + DELAY, self.count);
        self.on_the_way.insert(key, (to, info, datagram));
    }
}

fn config(measuring: &imtcp_cc::Config) -> Config {
    let mut config = Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let loaded = config.load_cert_chain_from_pem_file(&format!("{data}/cert.pem"));
    loaded.expect("the test certificate");
    let loaded = config.load_priv_key_from_pem_file(&format!("{data}/key.pem"));
    loaded.expect("the test key");
    config.set_application_protos(&[b"test"]).expect("a name");
    config.verify_peer(false);
    config.set_max_idle_timeout(30_000);
    config.set_active_connection_id_limit(8);
    config.set_initial_max_data(10_000_000);
    config.set_initial_max_stream_data_uni(10_000_000);
    config.set_initial_max_streams_uni(1);
    let factory = Factory::new(measuring.clone()).with_qlog_detail(Detail::Replay);
    config.set_congestion_controller(Arc::new(factory));
    config
}
