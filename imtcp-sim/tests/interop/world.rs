//! A foreign server and a quiche client over a link of 20 Mbit/s and 30 ms, each way, in virtual
//! time. No packet is lost, unless the client fills its queue.

use crate::servers::{CLIENT, Frames, PACKET, PROTOCOL, Server};
use imtcp_cc::units::Timestamp;
use imtcp_sim::endpoint::VirtualClock;
use imtcp_sim::engine::Agenda;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);
const NANOS_PER_BYTE: u64 = 8 * 1_000_000_000 / 20_000_000;
const DELAY: Duration = Duration::from_millis(30);
/// How long the queue on the way to the server can become.
const QUEUE: Duration = Duration::from_millis(60);
/// A timer shorter than this waits for a release. All other timers of the client are longer.
const SOON: Duration = Duration::from_millis(10);
/// The server's first unidirectional stream, and the client's.
const STREAM: u64 = 3;
const UPLOAD: u64 = 2;
/// A timer that is due already is asked again after so long.
const LEAST_TIMER: Duration = Duration::from_micros(1);
const WINDOW: u64 = 100_000_000;

enum Event {
    ToClient(Vec<u8>),
    ToServer(Vec<u8>),
    WakeClient,
    WakeServer,
    Write(usize),
    Upload(usize),
    UpdateKeys,
}

/// What happened at the client.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub bytes: u64,
    /// Datagrams from the server, and from the client.
    pub received: u64,
    pub sent: u64,
    /// Bytes from the client.
    pub uploaded: u64,
    /// Updates of the server's keys.
    pub updates: u64,
    /// How long data that had arrived waited for the client's next datagram, one entry for each
    /// of these.
    pub holds: Vec<Duration>,
}

pub struct World {
    clock: VirtualClock,
    agenda: Agenda<Event>,
    server: Box<dyn Server>,
    client: quiche::Connection,
    /// The way to the client is busy until then.
    busy: Timestamp,
    /// The way to the server is busy until then.
    busy_up: Timestamp,
    /// Data waits for the client's next datagram since then.
    waiting: Option<Timestamp>,
    wakes: [Option<Timestamp>; 2],
    /// Bytes that the application still has to write.
    backlog: usize,
    /// Bytes that the client still has to write.
    upload: usize,
    /// Bytes that the client wrote and has certainly not sent.
    unsent: usize,
    pub seen: Seen,
}

/// A client's configuration. Each test adds its subject.
pub fn client_config() -> quiche::Config {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
    config.verify_peer(false);
    config.grease(false);
    config
        .set_application_protos(&[PROTOCOL])
        .expect("a protocol");
    config.set_max_recv_udp_payload_size(usize::from(PACKET));
    config.set_initial_max_data(WINDOW);
    config.set_initial_max_stream_data_uni(WINDOW);
    config.set_initial_max_streams_uni(1);
    config.set_max_connection_window(WINDOW);
    config.set_max_stream_window(WINDOW);
    config
}

impl World {
    pub fn new(server: Box<dyn Server>, mut client: quiche::Config) -> Self {
        let clock = VirtualClock::start(1);
        let id = quiche::ConnectionId::from_ref(&[1; 8]);
        let client = quiche::connect(None, &id, CLIENT, SERVER, &mut client);
        let mut world = Self {
            clock,
            agenda: Agenda::default(),
            server,
            client: client.expect("a client"),
            busy: Timestamp::ZERO,
            busy_up: Timestamp::ZERO,
            waiting: None,
            wakes: [None; 2],
            backlog: 0,
            upload: 0,
            unsent: 0,
            seen: Seen::default(),
        };
        world.serve_client();
        world
    }

    pub fn now(&self) -> Timestamp {
        self.agenda.now()
    }

    /// At `at` the server's application gets this many more bytes to write.
    pub fn write_at(&mut self, at: Timestamp, bytes: usize) {
        self.agenda.schedule(at, Event::Write(bytes));
    }

    /// At `at` the client's application gets this many more bytes to write.
    pub fn upload_at(&mut self, at: Timestamp, bytes: usize) {
        self.agenda.schedule(at, Event::Upload(bytes));
    }

    /// The server updates its keys at `at`, or as soon as the client holds data after that.
    pub fn update_keys_at(&mut self, at: Timestamp) {
        self.agenda.schedule(at, Event::UpdateKeys);
    }

    /// Lets everything happen before `end`.
    pub fn run_until(&mut self, end: Timestamp) {
        while let Some(event) = self.agenda.next_before(end) {
            self.clock.set(self.now());
            self.happen(event);
        }
    }

    /// The server's counts.
    pub fn frames(&mut self) -> Frames {
        self.server.frames()
    }

    fn happen(&mut self, event: Event) {
        let now = self.now();
        let instant = self.clock.instant(now);
        match event {
            Event::ToClient(payload) => self.client_receives(payload),
            Event::ToServer(payload) => {
                self.server.receive(instant, &payload);
                self.seen.uploaded += self.server.read();
                self.serve_server();
            }
            Event::WakeClient => {
                self.wakes[0] = None;
                let due = self.client.timeout_instant();
                if due.is_some_and(|due| self.clock.timestamp(due) <= now) {
                    self.client.on_timeout();
                }
                self.serve_client();
            }
            Event::WakeServer => {
                self.wakes[1] = None;
                self.server.on_time(instant);
                self.serve_server();
            }
            Event::Write(bytes) => {
                self.backlog += bytes;
                self.serve_server();
            }
            Event::Upload(bytes) => {
                self.upload += bytes;
                self.serve_client();
            }
            Event::UpdateKeys if self.is_held() => {
                self.seen.updates += 1;
                self.server.update_keys();
                self.serve_server();
            }
            Event::UpdateKeys => {
                let later = now + Duration::from_millis(1);
                self.agenda.schedule(later, Event::UpdateKeys);
            }
        }
    }

    fn client_receives(&mut self, mut payload: Vec<u8>) {
        let info = quiche::RecvInfo {
            from: SERVER,
            to: CLIENT,
        };
        self.client
            .recv(&mut payload, info)
            .expect("nothing is lost, and nothing is too late");
        self.seen.received += 1;
        let before = self.seen.bytes;
        while let Ok((length, _)) = self.client.stream_discard(STREAM, usize::MAX) {
            self.seen.bytes += length as u64;
        }
        // A packet without data may ask for no acknowledgement.
        if self.seen.bytes > before {
            self.waiting.get_or_insert(self.now());
        }
        self.serve_client();
    }

    fn serve_client(&mut self) {
        let now = self.now();
        let mut buffer = [0; PACKET as usize];
        self.client_writes();
        while let Ok((length, _)) = self.client.send(&mut buffer) {
            self.seen.sent += 1;
            self.unsent = self.unsent.saturating_sub(length);
            if let Some(since) = self.waiting.take() {
                self.seen.holds.push(now.saturating_since(since));
            }
            self.carry_up(buffer[..length].to_vec());
        }
        let due = self.client.timeout_instant();
        self.arm(0, due.map(|due| self.clock.timestamp(due)));
    }

    fn carry_up(&mut self, payload: Vec<u8>) {
        let free = self.busy_up.max(self.now());
        if free.saturating_since(self.now()) < QUEUE {
            let nanos = payload.len() as u64 * NANOS_PER_BYTE;
            self.busy_up = free + Duration::from_nanos(nanos);
            self.agenda
                .schedule(self.busy_up + DELAY, Event::ToServer(payload));
        }
    }

    /// The client has packets' worth of data that waits for a release.
    fn is_held(&self) -> bool {
        let soon = self.client.timeout().is_some_and(|left| left < SOON);
        soon && self.unsent > usize::from(PACKET) * 2
    }

    fn client_writes(&mut self) {
        if self.upload > 0 && self.client.is_established() {
            let data = vec![0; self.upload];
            let taken = self.client.stream_send(UPLOAD, &data, false).unwrap_or(0);
            self.upload -= taken;
            self.unsent += taken;
        }
    }

    fn serve_server(&mut self) {
        let now = self.now();
        let instant = self.clock.instant(now);
        if self.backlog > 0 {
            self.backlog -= self.server.write(self.backlog).unwrap_or(0);
        }
        while let Some(payload) = self.server.transmit(instant) {
            let nanos = payload.len() as u64 * NANOS_PER_BYTE;
            self.busy = self.busy.max(now) + Duration::from_nanos(nanos);
            self.agenda
                .schedule(self.busy + DELAY, Event::ToClient(payload));
        }
        let due = self.server.due();
        self.arm(1, due.map(|due| self.clock.timestamp(due)));
    }

    fn arm(&mut self, side: usize, due: Option<Timestamp>) {
        let Some(due) = due else { return };
        let at = due.max(self.now() + LEAST_TIMER);
        if self.wakes[side].is_none_or(|armed| at < armed) {
            self.wakes[side] = Some(at);
            let event = [Event::WakeClient, Event::WakeServer].into_iter().nth(side);
            self.agenda
                .schedule(at, event.expect("there are two sides"));
        }
    }
}
