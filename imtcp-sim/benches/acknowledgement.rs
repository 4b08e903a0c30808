//! What an acknowledgement and a packet cost the server, inside quiche, with each controller.
//!
//! In-memory pairs in virtual time: a bulk stream over 100 Mbit/s and 20 ms. Nobody asks the client
//! about its acknowledgements but the last row, whose acknowledgements cover more packets each.
//! Only the server's own `recv()` and `send()` are timed, and the pairs take turns.
//!
//! quiche fills the rest of a window with a small packet, and a congestion controller behind the
//! seam does not. Small packets beget small packets: one in three of CUBIC's would be whole. So its
//! server writes only what fits as whole packets, and all rows send the same packets. The row
//! `cubic, small packets` is quiche left to itself. A server that writes ahead also reads and
//! frees data that has left the caches, so times of the rows of one packet at a time are lower for
//! a reason that is no controller's. Instructions do not have this difference.
//!
//! `cargo bench .. -- imtcp` runs one row. Instructions can be counted instead of time, without
//! start-up: `valgrind --tool=callgrind --toggle-collect='*take_acknowledgement*' BENCH imtcp`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures with the real clock")]

use imtcp_cc::Config;
use imtcp_cc::quiche::Factory;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One way.
const DELAY: Duration = Duration::from_millis(10);
const BITS_PER_SECOND: u32 = 100_000_000;
/// One bandwidth-delay product of 20 ms.
const QUEUE: Duration = Duration::from_millis(20);
const DATAGRAM: usize = 1200;
/// The stream data of a whole packet, and what the application writes at a time.
const PIECE: usize = 1150;
const HEADERS: usize = 28;
const STREAM: u64 = 3;
/// What a client offers that acknowledges as it is asked to.
const MIN_ACK_DELAY: Duration = Duration::from_millis(1);

/// Start-up, and the filling of every window and memory.
const WARM_UP: u32 = 20_000;
/// A round lasts for several reports of the estimator. Its turns are short, so that other work of
/// the machine disturbs all pairs alike.
const ROUNDS: usize = 60;
const TURNS: usize = 10;
const ACKS_PER_TURN: u32 = 250;

fn main() {
    let mut pairs: Vec<_> = rows().into_iter().collect();
    if let Some(only) = std::env::args().skip(1).find(|name| !name.starts_with('-')) {
        pairs.retain(|(name, _)| *name == only);
        assert!(!pairs.is_empty(), "no row is called {only}");
    }
    for (_, pair) in &mut pairs {
        pair.run(WARM_UP);
        pair.is_warm = true;
    }
    let mut rounds = vec![Vec::with_capacity(ROUNDS); pairs.len()];
    for _ in 0..ROUNDS {
        let mut costs = vec![Cost::default(); pairs.len()];
        for _ in 0..TURNS {
            for (cost, (_, pair)) in costs.iter_mut().zip(&mut pairs) {
                *cost += pair.run(ACKS_PER_TURN);
            }
        }
        for (own, cost) in rounds.iter_mut().zip(costs) {
            own.push(cost);
        }
    }
    let names: Vec<_> = pairs.iter().map(|(name, _)| *name).collect();
    print(&names, &rounds);
}

fn rows() -> [(&'static str, Pair); 6] {
    let of_quiche = |name, writing| {
        Pair::new(writing, Acknowledging::EveryPacket, move |config| {
            config.set_cc_algorithm_name(name).expect("is built in");
        })
    };
    let imtcp = |measurement, acknowledging| {
        let config = Config::builder().measurement(measurement).build();
        let factory = Arc::new(Factory::new(config.expect("it is optional")));
        Pair::new(Writing::Ahead, acknowledging, |config| {
            config.set_congestion_controller(factory);
        })
    };
    [
        ("cubic", of_quiche("cubic", Writing::WholePackets)),
        ("cubic, small packets", of_quiche("cubic", Writing::Ahead)),
        ("reno", of_quiche("reno", Writing::WholePackets)),
        ("imtcp", imtcp(true, Acknowledging::EveryPacket)),
        (
            "imtcp, not measuring",
            imtcp(false, Acknowledging::EveryPacket),
        ),
        ("imtcp, ACK frequency", imtcp(true, Acknowledging::AsAsked)),
    ]
}

fn print(names: &[&str], rounds: &[Vec<Cost>]) {
    println!(
        "{:22}{:>14}{:>10}{:>16}{:>10}{:>14}{:>13}",
        "controller",
        "recv ns/ACK",
        "to cubic",
        "send ns/packet",
        "to cubic",
        "bytes/packet",
        "packets/ACK"
    );
    let of = |own: &[Cost]| {
        (
            undisturbed(own.iter().map(Cost::receiving)),
            undisturbed(own.iter().map(Cost::sending)),
        )
    };
    let (cubic_receiving, cubic_sending) = of(&rounds[0]);
    for (name, own) in names.iter().zip(rounds) {
        let (receiving, sending) = of(own);
        println!(
            "{name:22}{receiving:>14.0}{:>10.2}{sending:>16.0}{:>10.2}{:>14}{:>13.2}",
            receiving / cubic_receiving,
            sending / cubic_sending,
            mean_size(own),
            packets_per_ack(own)
        );
    }
}

fn mean_size(rounds: &[Cost]) -> u64 {
    let bytes: u64 = rounds.iter().map(|cost| cost.bytes).sum();
    let packets: u64 = rounds.iter().map(|cost| u64::from(cost.packets)).sum();
    bytes / packets.max(1)
}

fn packets_per_ack(rounds: &[Cost]) -> f64 {
    let acks: u32 = rounds.iter().map(|cost| cost.acks).sum();
    let packets: u32 = rounds.iter().map(|cost| cost.packets).sum();
    f64::from(packets) / f64::from(acks.max(1))
}

/// The lower quartile, because other work of the machine can only add to a time.
fn undisturbed(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 4]
}

/// What the server spent.
#[derive(Clone, Copy, Default)]
struct Cost {
    acks: u32,
    receiving: Duration,
    packets: u32,
    bytes: u64,
    sending: Duration,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.acks += other.acks;
        self.receiving += other.receiving;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.sending += other.sending;
    }
}

impl Cost {
    /// Nanoseconds per acknowledgement.
    fn receiving(&self) -> f64 {
        self.receiving.as_secs_f64() * 1e9 / f64::from(self.acks)
    }

    /// Nanoseconds per packet, calls that gave no packet included.
    fn sending(&self) -> f64 {
        self.sending.as_secs_f64() * 1e9 / f64::from(self.packets)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// How the server's application writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    /// As much as quiche takes, which is more than the window allows to be sent.
    Ahead,
    /// A packet at a time, while a whole one fits into the window.
    WholePackets,
}

/// How the client acknowledges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Acknowledging {
    EveryPacket,
    /// It offers the extension, so that the server's controller says how.
    AsAsked,
}

/// Two connections and what is on its way between them.
struct Pair {
    client: quiche::Connection,
    server: quiche::Connection,
    now: Instant,
    /// The time at which the link will have sent all that it holds.
    link_free: Instant,
    on_the_way: BTreeMap<(Instant, u64), (Side, Vec<u8>)>,
    datagrams: u64,
    scratch: [u8; DATAGRAM],
    writing: Writing,
    cost: Cost,
    is_warm: bool,
}

impl Pair {
    fn new(
        writing: Writing,
        acknowledging: Acknowledging,
        choose: impl FnOnce(&mut quiche::Config),
    ) -> Self {
        let now = Instant::now();
        quiche::clock::set(Some(now));
        quiche::entropy::seed_thread(Some(1));
        let mut config = config();
        config.verify_peer(false);
        if acknowledging == Acknowledging::AsAsked {
            config.enable_ack_frequency(MIN_ACK_DELAY);
        }
        let id = quiche::ConnectionId::from_ref(&[1; 8]);
        let client = quiche::connect(
            None,
            &id,
            address(Side::Client),
            address(Side::Server),
            &mut config,
        );
        let mut config = self::config();
        if writing == Writing::Ahead {
            config.set_send_capacity_factor(2.0);
        }
        choose(&mut config);
        let id = quiche::ConnectionId::from_ref(&[2; 8]);
        let server = quiche::accept(
            &id,
            None,
            address(Side::Server),
            address(Side::Client),
            &mut config,
        );
        Self {
            client: client.expect("a client"),
            server: server.expect("a server"),
            now,
            link_free: now,
            on_the_way: BTreeMap::new(),
            datagrams: 0,
            scratch: [0; DATAGRAM],
            writing,
            cost: Cost::default(),
            is_warm: false,
        }
    }

    /// Goes on until the server has taken in this many acknowledgements. Returns what it spent.
    fn run(&mut self, acks: u32) -> Cost {
        self.cost = Cost::default();
        quiche::clock::set(Some(self.now));
        while self.cost.acks < acks {
            self.serve_client();
            self.serve_server();
            self.step();
        }
        self.cost
    }

    fn serve_client(&mut self) {
        while let Ok((size, _)) = self.client.send(&mut self.scratch) {
            self.deliver_at(self.now + DELAY, Side::Server, size);
        }
    }

    fn serve_server(&mut self) {
        loop {
            self.write();
            let begun = Instant::now();
            let sent = self.server.send(&mut self.scratch);
            self.cost.sending += begun.elapsed();
            let Ok((size, _)) = sent else { return };
            self.cost.packets += 1;
            self.cost.bytes += size as u64;
            self.cross_link(size);
        }
    }

    fn write(&mut self) {
        let room = match self.writing {
            Writing::Ahead => PIECE,
            Writing::WholePackets => DATAGRAM,
        };
        // The first piece makes the stream.
        let fits = |server: &mut quiche::Connection| match server.stream_capacity(STREAM) {
            Ok(capacity) => capacity >= room,
            Err(_) => server.is_established(),
        };
        while fits(&mut self.server) {
            let written = self.server.stream_send(STREAM, &[0; PIECE], false);
            assert_eq!(written, Ok(PIECE), "there is room");
            if self.writing == Writing::WholePackets {
                return;
            }
        }
    }

    /// A drop-tail queue, a transmitter and a pipe.
    fn cross_link(&mut self, size: usize) {
        let start = self.link_free.max(self.now);
        if start - self.now > QUEUE {
            return;
        }
        let bits = u32::try_from((size + HEADERS) * 8).expect("a datagram");
        self.link_free = start + Duration::from_secs(1) * bits / BITS_PER_SECOND;
        self.deliver_at(self.link_free + DELAY, Side::Client, size);
    }

    fn deliver_at(&mut self, at: Instant, to: Side, size: usize) {
        self.datagrams += 1;
        let datagram = self.scratch[..size].to_vec();
        self.on_the_way.insert((at, self.datagrams), (to, datagram));
    }

    /// Moves on to the next arrival or timer.
    fn step(&mut self) {
        let arrival = self.on_the_way.keys().next().map(|(at, _)| *at);
        let timers = [self.client.timeout_instant(), self.server.timeout_instant()];
        let next = timers.into_iter().chain([arrival]).flatten().min();
        self.now = self.now.max(next.expect("an open connection has a timer"));
        quiche::clock::set(Some(self.now));
        for connection in [&mut self.client, &mut self.server] {
            if connection
                .timeout_instant()
                .is_some_and(|due| due <= self.now)
            {
                connection.on_timeout();
            }
        }
        let Some(entry) = self.on_the_way.first_entry() else {
            return;
        };
        if entry.key().0 <= self.now {
            let (to, datagram) = entry.remove();
            self.receive(to, datagram);
        }
    }

    fn receive(&mut self, to: Side, mut datagram: Vec<u8>) {
        let (connection, from) = match to {
            Side::Client => (&mut self.client, Side::Server),
            Side::Server => (&mut self.server, Side::Client),
        };
        let info = quiche::RecvInfo {
            from: address(from),
            to: address(to),
        };
        let begun = Instant::now();
        let received = if to == Side::Server && self.is_warm {
            take_acknowledgement(connection, &mut datagram, info)
        } else {
            connection.recv(&mut datagram, info)
        };
        let spent = begun.elapsed();
        received.expect("nothing is damaged on its way");
        match to {
            Side::Server => {
                self.cost.acks += 1;
                self.cost.receiving += spent;
            }
            Side::Client => while connection.stream_discard(STREAM, usize::MAX).is_ok() {},
        }
    }
}

/// A function of its own, for a profiler to find.
#[inline(never)]
fn take_acknowledgement(
    connection: &mut quiche::Connection,
    datagram: &mut [u8],
    info: quiche::RecvInfo,
) -> quiche::Result<usize> {
    connection.recv(datagram, info)
}

impl Drop for Pair {
    fn drop(&mut self) {
        quiche::clock::set(None);
        quiche::entropy::seed_thread(None);
    }
}

fn config() -> quiche::Config {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
    config
        .load_cert_chain_from_pem_file(&format!("{data}/cert.pem"))
        .expect("the certificate");
    config
        .load_priv_key_from_pem_file(&format!("{data}/key.pem"))
        .expect("the key");
    config
        .set_application_protos(&[b"bench"])
        .expect("a protocol name");
    config.set_max_idle_timeout(60_000);
    config.set_max_send_udp_payload_size(DATAGRAM);
    config.set_max_recv_udp_payload_size(DATAGRAM);
    config.set_initial_max_data(10_000_000);
    config.set_initial_max_stream_data_uni(10_000_000);
    config.set_initial_max_streams_uni(1);
    config
}

fn address(side: Side) -> SocketAddr {
    let last = match side {
        Side::Client => 1,
        Side::Server => 2,
    };
    SocketAddr::from((Ipv4Addr::new(192, 0, 2, last), 443))
}
