//! Two connections, a link that can be bad, and a clock that jumps from event to event.

use crate::input::origin;
use quiche::{Config, Connection, ConnectionId, RecvInfo};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// One way.
const DELAY: Duration = Duration::from_millis(10);
/// A full datagram: 12 Mbit/s.
const SERIALISATION: Duration = Duration::from_micros(800);
const DATAGRAM: usize = 1200;
/// Events of a run; whoever needs more spins.
const MOST_EVENTS: usize = 400_000;
/// Within this time all data arrives over a good link, whatever was before: probe timeouts double.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Bytes of a stream that wait to arrive, and all of them.
const MOST_WAITING: u64 = 1 << 17;
const MOST_DATA: u64 = 1 << 20;

const CERTIFICATE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../quiche/tests/data/cert.pem"
);
const KEY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../quiche/tests/data/key.pem"
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    Lost,
    Late(Duration),
    Twice(Duration),
}

/// Data of one stream: written, and arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    wanted: u64,
    written: u64,
    arrived: u64,
}

pub(super) struct World {
    pub(super) client: Connection,
    pub(super) server: Connection,
    now: Instant,
    /// The link's far end is busy until then, by the side that sends.
    link_free: [Instant; 2],
    on_the_way: BTreeMap<(Instant, usize), (Side, RecvInfo, Vec<u8>)>,
    fates: [(usize, Fate); 2],
    /// How far the client's clock is off, and in which direction.
    client_clock: (bool, Duration),
    streams: [Stream; 2],
    events: usize,
    scratch: Vec<u8>,
}

/// A configuration for either side.
fn config() -> Config {
    let mut config = Config::new(quiche::PROTOCOL_VERSION).expect("a known version");
    config
        .load_cert_chain_from_pem_file(CERTIFICATE)
        .expect("a certificate");
    config.load_priv_key_from_pem_file(KEY).expect("a key");
    config
        .set_application_protos(&[b"fuzz"])
        .expect("a protocol");
    config.set_initial_max_data(1 << 30);
    config.set_initial_max_stream_data_uni(1 << 30);
    config.set_initial_max_streams_uni(4);
    config.set_max_recv_udp_payload_size(DATAGRAM);
    config.set_max_send_udp_payload_size(DATAGRAM);
    config.verify_peer(false);
    config
}

thread_local! {
    /// The server's, and four for clients: what is switched on cannot be switched off again. Each
    /// reads all the certificates of the system when it is made, which takes longer than a
    /// connection.
    static CONFIGS: RefCell<[Config; 5]> = RefCell::new(std::array::from_fn(|_| config()));
}

/// Lends the configurations of the server and of such a client.
pub(super) fn with_configs<R>(
    understands: bool,
    is_delayed: bool,
    make: impl FnOnce(&mut Config, &mut Config) -> R,
) -> R {
    CONFIGS.with_borrow_mut(|[server, clients @ ..]| {
        let client = &mut clients[usize::from(understands) + 2 * usize::from(is_delayed)];
        make(server, client)
    })
}

impl World {
    /// The handshake is done, over a good link.
    pub(super) fn new(server: &mut Config, client: &mut Config) -> Self {
        let now = origin();
        quiche::clock::set(Some(now));
        quiche::entropy::seed_thread(Some(1));
        let (here, there) = (address(Side::Client), address(Side::Server));
        let id = ConnectionId::from_ref(&[0xc; 16]);
        let client = quiche::connect(Some("quic.test"), &id, here, there, client);
        let id = ConnectionId::from_ref(&[0x5; 16]);
        let server = quiche::accept(&id, None, there, here, server);
        let mut world = Self {
            client: client.expect("a client"),
            server: server.expect("a server"),
            now,
            link_free: [now; 2],
            on_the_way: BTreeMap::new(),
            fates: [(0, Fate::Lost); 2],
            client_clock: (false, Duration::ZERO),
            streams: [Stream::default(); 2],
            events: 0,
            scratch: vec![0; 2 * DATAGRAM],
        };
        world.run_for(Duration::from_secs(1));
        assert!(world.client.is_established() && world.server.is_established());
        world
    }

    pub(super) fn side(&mut self, side: Side) -> &mut Connection {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Adds to what a side has to send, within bounds.
    pub(super) fn write(&mut self, side: Side, bytes: u64) {
        let stream = &mut self.streams[side as usize];
        let waiting = stream.wanted - stream.arrived;
        let room = MOST_WAITING.saturating_sub(waiting);
        let rest = MOST_DATA - stream.wanted;
        stream.wanted += bytes.min(room).min(rest);
    }

    pub(super) fn set_fate(&mut self, from: Side, count: usize, fate: Fate) {
        self.fates[from as usize] = (count, fate);
    }

    pub(super) fn set_client_clock(&mut self, ahead: bool, offset: Duration) {
        self.client_clock = (ahead, offset);
    }

    /// A good link and true times from now on.
    pub(super) fn make_honest(&mut self) {
        self.fates = [(0, Fate::Lost); 2];
        self.client_clock = (false, Duration::ZERO);
    }

    pub(super) fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        while self.step(end) {}
    }

    /// Runs until all data has arrived; whether it did.
    pub(super) fn run_until_idle(&mut self) -> bool {
        let end = self.now + PATIENCE;
        let all_arrived = |world: &Self| {
            let arrived = |stream: &Stream| stream.arrived == stream.wanted;
            world.streams.iter().all(arrived)
        };
        while !all_arrived(self) && self.error().is_none() && self.step(end) {}
        // Whoever is wrong may still have to be told.
        self.run_for(DELAY * 4);
        all_arrived(self)
    }

    /// The code with which either side has closed the connection.
    pub(super) fn error(&self) -> Option<u64> {
        let error = self.client.local_error().or(self.server.local_error());
        error.map(|error| error.error_code)
    }

    /// Goes on to the next event, or to `end`; whether there was one before it.
    fn step(&mut self, end: Instant) -> bool {
        self.events += 1;
        assert!(self.events < MOST_EVENTS, "an event loop would spin");
        for side in [Side::Client, Side::Server] {
            self.write_stream(side);
            self.send(side);
        }
        let arrival = self.on_the_way.keys().next().map(|(at, _)| *at);
        let timers = [self.client.timeout_instant(), self.server.timeout_instant()];
        let next = timers.into_iter().chain([arrival]).flatten().min();
        let is_before_end = next.is_some_and(|next| next <= end);
        self.now = self.now.max(next.unwrap_or(end).min(end));
        quiche::clock::set(Some(self.now));
        for side in [Side::Client, Side::Server] {
            let (now, connection) = (self.now, self.side(side));
            if connection.timeout_instant().is_some_and(|due| due <= now) {
                connection.on_timeout();
            }
        }
        while let Some(entry) = self.on_the_way.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (from, info, datagram) = entry.remove();
            self.deliver(from, info, datagram);
        }
        is_before_end
    }

    fn write_stream(&mut self, side: Side) {
        let stream = self.streams[side as usize];
        let rest = usize::try_from(stream.wanted - stream.written).unwrap_or(usize::MAX);
        let data = [0x55; 8192];
        let data = &data[..rest.min(data.len())];
        if data.is_empty() {
            return;
        }
        // Closed, or no room.
        let taken = self.side(side).stream_send(id(side), data, false);
        self.streams[side as usize].written += taken.unwrap_or(0) as u64;
    }

    fn send(&mut self, side: Side) {
        loop {
            let mut scratch = std::mem::take(&mut self.scratch);
            let sent = self.side(side).send(&mut scratch);
            self.scratch = scratch;
            let Ok((size, info)) = sent else { return };
            self.events += 1;
            assert!(self.events < MOST_EVENTS, "it sends without end");
            let info = RecvInfo {
                from: info.from,
                to: info.to,
            };
            let start = self.link_free[side as usize].max(self.now);
            let took = SERIALISATION * u32::try_from(size).unwrap_or(u32::MAX) / 1200;
            self.link_free[side as usize] = start + took;
            let arrival = start + took + DELAY;
            let datagram = self.scratch[..size].to_vec();
            let (left, fate) = &mut self.fates[side as usize];
            let fate = (*left > 0).then_some(*fate);
            *left = left.saturating_sub(1);
            let (first, second) = match fate {
                None => (Some(arrival), None),
                Some(Fate::Lost) => (None, None),
                Some(Fate::Late(by)) => (Some(arrival + by), None),
                Some(Fate::Twice(by)) => (Some(arrival), Some(arrival + by)),
            };
            for at in first.into_iter().chain(second) {
                let key = (at, self.events * 2 + usize::from(Some(at) == second));
                self.on_the_way.insert(key, (side, info, datagram.clone()));
            }
        }
    }

    fn deliver(&mut self, from: Side, info: RecvInfo, mut datagram: Vec<u8>) {
        let to = match from {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        let (ahead, offset) = self.client_clock;
        let by_clock = match (to, ahead) {
            (Side::Server, _) => Some(self.now),
            (Side::Client, true) => self.now.checked_add(offset),
            (Side::Client, false) => self.now.checked_sub(offset),
        };
        let by_clock = by_clock.unwrap_or(self.now);
        // An error closes the connection, which is seen then.
        let connection = self.side(to);
        let _ = quiche::clock::with(by_clock, || connection.recv(&mut datagram, info));
        self.read(from, to);
    }

    fn read(&mut self, from: Side, to: Side) {
        let mut buffer = [0; 16_384];
        while let Ok((count, _)) = self.side(to).stream_recv(id(from), &mut buffer) {
            if count == 0 {
                return;
            }
            self.streams[from as usize].arrived += count as u64;
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        quiche::clock::set(None);
        quiche::entropy::seed_thread(None);
    }
}

/// The first unidirectional stream of a side.
fn id(side: Side) -> u64 {
    match side {
        Side::Client => 2,
        Side::Server => 3,
    }
}

fn address(side: Side) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, side as u8 + 1], 4433))
}
