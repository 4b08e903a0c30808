//! Padded PING packets to a QUIC server, and its acknowledgements.
//!
//! Any server will do: the connection carries no request. Certificates are not checked, because
//! nothing of worth is sent. A server that advertises `min_ack_delay` acknowledges each packet at
//! once; others acknowledge every second packet or so, and the packets between count by their bytes
//! alone. Acknowledgements are small, so this measures the way there.

mod observer;
mod socket;

use crate::clock::{self, Clock};
use crate::probes::{MOST_AT_ONCE, Probes, Sent, Word};
use crate::target::{self, Unreachable};
use anyhow::{Context, Result, bail, ensure};
use imtcp_cc::units::{Bytes, Timestamp};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockaddrStorage, recvmsg};
use observer::{Note, Shared};
use quiche::{Connection, ConnectionId, Error, RecvInfo};
use std::collections::BTreeMap;
use std::io::{IoSliceMut, Read};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What servers speak over QUIC. The first that the server knows is agreed upon, and never used.
const PROTOCOLS: [&[u8]; 5] = [b"h3", b"hq-interop", b"h3-29", b"hq-29", b"doq"];

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The largest datagram.
const LARGEST: usize = 10_000;

/// What this side would wait at least if the server asked it to acknowledge seldom. It is told
/// because servers may refuse requests of a side that takes none.
const MIN_ACK_DELAY: Duration = Duration::from_millis(1);

/// A UDP datagram holds a short header with the longest identifier, a tag and a frame.
const SMALLEST: usize = 64;

/// Room for a receive time.
const CONTROL: usize = 128;

/// Between the end of the handshake and the first packet, so that what it still sends is gone.
const CALM: Duration = Duration::from_millis(50);

/// What is wrong with a packet that would have to be divided.
const TOO_LARGE: &str = "packets of that size do not fit the way; choose a smaller --packet";

/// A connection to a server.
pub struct Quic {
    socket: UdpSocket,
    connection: Connection,
    shared: Shared,
    local: SocketAddr,
    peer: SocketAddr,
    /// The measurement's numbers of the packets in flight, by quiche's.
    ids: BTreeMap<u64, u64>,
    buffer: Vec<u8>,
    control: Vec<u8>,
}

impl Quic {
    /// Shakes hands with the server at `peer`, whose name is `name`. An address is no name: servers
    /// refuse one in its place (RFC 6066, section 3).
    ///
    /// # Errors
    /// Nobody there speaks QUIC, or refuses to, or `stop` was set meanwhile.
    pub fn connect(peer: SocketAddr, name: &str, clock: &Clock, stop: &AtomicBool) -> Result<Self> {
        let socket = socket::open(peer)?;
        let local = socket.local_addr()?;
        let shared = Shared::default();
        let mut config = configuration(&shared).context("cannot configure QUIC")?;
        let mut id = [0; quiche::MAX_CONN_ID_LEN];
        let drawn = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut id));
        drawn.context("cannot draw a connection id")?;
        let id = ConnectionId::from_ref(&id);
        let name = Some(name).filter(|name| !target::is_address(name));
        let connection = quiche::connect(name, &id, local, peer, &mut config)
            .context("cannot begin a connection")?;
        let mut quic = Self {
            socket,
            connection,
            shared,
            local,
            peer,
            ids: BTreeMap::new(),
            buffer: vec![0; LARGEST],
            control: vec![0; CONTROL],
        };
        quic.shake_hands(clock, stop)?;
        Ok(quic)
    }

    /// How the server acknowledges.
    pub fn kind(&self) -> &'static str {
        if self.shared.with(|notes| notes.at_once) {
            "immediate_ack"
        } else {
            "ack"
        }
    }

    fn shake_hands(&mut self, clock: &Clock, stop: &AtomicBool) -> Result<()> {
        let give_up = clock.now() + HANDSHAKE;
        self.flush()?;
        while !self.connection.is_established() {
            if clock.now() >= give_up {
                let (peer, seconds) = (self.peer, HANDSHAKE.as_secs());
                bail!(Unreachable(format!(
                    "no QUIC server answers at {peer} (UDP) within {seconds} s"
                )));
            }
            ensure!(
                !stop.load(Ordering::Relaxed),
                "interrupted before the handshake with {} was done",
                self.peer
            );
            self.wait(give_up, clock)?;
            self.take_datagrams(clock)?;
        }
        let calm = clock.now() + CALM;
        while clock.now() < calm {
            self.wait(calm, clock)?;
            self.take_datagrams(clock)?;
        }
        Ok(())
    }

    /// Sends what quiche has to send: acknowledgements, the handshake.
    fn flush(&mut self) -> Result<()> {
        loop {
            match self.connection.send(&mut self.buffer[..1200]) {
                Ok((length, _)) => self.transmit(length).map(|_| ())?,
                Err(Error::Done) => return Ok(()),
                Err(error) => bail!("the connection to {} failed: {error}", self.peer),
            }
        }
    }

    /// Whether the machine had room for the datagram in the buffer.
    fn transmit(&self, length: usize) -> Result<bool> {
        match self.socket.send(&self.buffer[..length]) {
            Ok(_) => Ok(true),
            Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::EAGAIN | Errno::ENOBUFS) => Ok(false),
                Some(Errno::EMSGSIZE) => bail!("{TOO_LARGE}"),
                Some(errno) => bail!(self.unreachable(errno)),
                None => Err(error).with_context(|| format!("cannot send to {}", self.peer)),
            },
        }
    }

    fn take_datagrams(&mut self, clock: &Clock) -> Result<()> {
        let way = RecvInfo {
            from: self.peer,
            to: self.local,
        };
        for _ in 0..MOST_AT_ONCE {
            let Some((length, at)) = self.take(clock)? else {
                break;
            };
            let datagram = &mut self.buffer[..length];
            let taken = quiche::clock::with(at, || self.connection.recv(datagram, way));
            match taken {
                Ok(_) | Err(Error::Done) => {}
                Err(error) => bail!("{} and we do not understand each other: {error}", self.peer),
            }
        }
        if self.connection.is_draining() || self.connection.is_closed() {
            bail!("{}", self.farewell());
        }
        self.flush()
    }

    /// The next datagram and when it came.
    fn take(&mut self, clock: &Clock) -> Result<Option<(usize, Instant)>> {
        let mut parts = [IoSliceMut::new(&mut self.buffer)];
        let control = Some(&mut self.control[..]);
        let socket = self.socket.as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<SockaddrStorage>(socket, &mut parts, control, flags) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            // A router has said so of a packet before.
            Err(Errno::EMSGSIZE) => bail!("{TOO_LARGE}"),
            Err(error) => bail!(self.unreachable(error)),
        };
        let stamp = clock::stamp(&message);
        let at = stamp.map_or_else(|| clock.now(), |stamp| clock.of_stamp(stamp));
        Ok(Some((message.bytes, clock.instant(at))))
    }

    /// What the system, or a router, said of a packet.
    fn unreachable(&self, error: Errno) -> Unreachable {
        let peer = self.peer;
        Unreachable(match error {
            Errno::ECONNREFUSED => format!("nobody listens at {peer} (UDP)"),
            _ => format!("{peer} is unreachable: {}", error.desc()),
        })
    }

    fn farewell(&self) -> String {
        match self.connection.peer_error() {
            Some(error) => format!(
                "{} closed the connection: error 0x{:x} {}",
                self.peer,
                error.error_code,
                printable(&error.reason)
            ),
            None => format!("the connection to {} has ended", self.peer),
        }
    }
}

impl Probes for Quic {
    fn begin(&mut self) {
        self.ids.clear();
        self.shared.with(|notes| notes.news.clear());
    }

    fn send(&mut self, id: u64, size: Bytes, clock: &Clock) -> Result<Sent> {
        let headers = headers(self.peer);
        let size = usize::try_from(size.get()).unwrap_or(usize::MAX);
        // The test for limits sends smaller ones, whose size does not matter.
        let length = size.saturating_sub(headers).clamp(SMALLEST, LARGEST);
        let most = self.connection.max_send_udp_payload_size();
        ensure!(
            length <= most,
            "{} takes datagrams of up to {most} bytes; let --packet be {} at most",
            self.peer,
            most + headers
        );
        if self.connection.send_padded_ping().is_err() {
            bail!("{}", self.farewell());
        }
        loop {
            self.shared.with(|notes| notes.last_sent = None);
            match self.connection.send(&mut self.buffer[..length]) {
                Ok((written, _)) => {
                    let at = clock.now();
                    let is_sent = self.transmit(written)?;
                    let number = self.shared.with(|notes| notes.last_sent);
                    // Whatever is shorter was something else.
                    if let Some(number) = number.filter(|_| written == length) {
                        self.ids.insert(number, id);
                        return Ok(if is_sent { Sent::At(at) } else { Sent::Dropped });
                    }
                }
                Err(Error::Done) => return Ok(Sent::Dropped),
                Err(error) => bail!("the connection to {} failed: {error}", self.peer),
            }
        }
    }

    fn wait(&mut self, until: Timestamp, clock: &Clock) -> Result<()> {
        let timer = self.connection.timeout_instant().map(|at| clock.at(at));
        let until = timer.map_or(until, |timer| timer.min(until));
        let waited = clock.wait(until, self.socket.as_fd());
        waited.context("cannot wait for acknowledgements")?;
        if timer.is_some_and(|timer| timer <= clock.now()) {
            self.connection.on_timeout();
            self.flush()?;
        }
        Ok(())
    }

    fn receive(&mut self, clock: &Clock, tell: &mut dyn FnMut(Word)) -> Result<()> {
        let taken = self.take_datagrams(clock);
        // What came before the server closed the connection is known all the same.
        let news = self.shared.with(|notes| std::mem::take(&mut notes.news));
        for note in news {
            let (Note::Acknowledged(number, _) | Note::Arrived(number) | Note::Lost(number)) = note;
            let Some(id) = self.ids.remove(&number) else {
                continue;
            };
            tell(match note {
                Note::Acknowledged(_, at) => Word::Reply(id, clock.at(at)),
                Note::Arrived(_) => Word::Arrived(id),
                Note::Lost(_) => Word::Lost(id),
            });
        }
        taken
    }

    fn complaint(&self) -> Option<String> {
        None
    }
}

impl Drop for Quic {
    fn drop(&mut self) {
        // As a courtesy to the server; it forgets us by itself, too.
        if self.connection.close(false, 0, b"").is_ok()
            && let Ok((length, _)) = self.connection.send(&mut self.buffer[..1200])
        {
            self.transmit(length).ok();
        }
    }
}

/// IP and UDP headers towards a peer.
fn headers(peer: SocketAddr) -> usize {
    if peer.is_ipv4() { 28 } else { 48 }
}

/// Refuses a size of probe packets, IP header included, that no padded PING has: larger ones would
/// leave in their place, and the value would be too small.
///
/// # Errors
/// It is too small.
pub fn ensure_possible(size: Bytes, peer: SocketAddr) -> Result<()> {
    let least = SMALLEST + headers(peer);
    ensure!(
        size >= Bytes::from_usize(least),
        "packets to {peer} have {least} bytes at least; let --packet be {least} or more"
    );
    Ok(())
}

/// What a peer says, without what would command a terminal.
fn printable(said: &[u8]) -> String {
    String::from_utf8_lossy(said).escape_debug().to_string()
}

fn configuration(shared: &Shared) -> Result<quiche::Config, Error> {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&PROTOCOLS)?;
    config.verify_peer(false);
    config.set_congestion_controller(Arc::new(shared.clone()));
    config.enable_ack_frequency(MIN_ACK_DELAY);
    config.set_max_idle_timeout(30_000);
    config.set_disable_active_migration(true);
    // A server may open its streams, and say what it has to say.
    config.set_initial_max_data(1_000_000);
    config.set_initial_max_stream_data_uni(100_000);
    config.set_initial_max_stream_data_bidi_remote(100_000);
    config.set_initial_max_streams_uni(16);
    config.set_max_recv_udp_payload_size(LARGEST);
    // The server's own limit holds.
    config.set_max_send_udp_payload_size(LARGEST);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::{Quic, ensure_possible, printable};
    use crate::clock::Clock;
    use imtcp_cc::units::Bytes;
    use std::net::UdpSocket;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_wish_to_stop_ends_a_handshake_that_nobody_answers() {
        let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let peer = silent.local_addr().expect("an address");
        let clock = Clock::start();
        let stop = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            let connecting = scope.spawn(|| {
                let ended = Quic::connect(peer, "localhost", &clock, &stop).err();
                ended.map(|error| error.to_string())
            });
            // The first packet says that the handshake is under way.
            let came = silent.recv_from(&mut [0; 2048]);
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            came.expect("a first packet");
            connecting.join().expect("no panic")
        });
        let error = ended.expect("it was stopped");
        assert!(error.contains("interrupted"), "{error}");
    }

    #[test]
    fn packets_that_would_leave_larger_are_refused() {
        let four = "192.0.2.1:443".parse().expect("an address");
        let six = "[2001:db8::1]:443".parse().expect("an address");
        for (peer, least) in [(four, 92), (six, 112)] {
            assert!(ensure_possible(Bytes::new(least), peer).is_ok());
            let error = ensure_possible(Bytes::new(least - 1), peer).expect_err("too small");
            let remedy = format!("let --packet be {least} or more");
            assert!(error.to_string().contains(&remedy), "{error}");
        }
    }

    #[test]
    fn what_a_peer_says_commands_no_terminal() {
        let said = printable(b"go \x1b[2Jaway\xff\r\n");
        assert_eq!(said, "go \\u{1b}[2Jaway\u{fffd}\\r\\n");
    }
}
