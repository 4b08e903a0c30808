//! A UDP socket that knows when the kernel received each datagram.
//!
//! One system call sends one datagram: no GSO, so that each leaves at its own time.

use nix::libc::{self, c_int, sock_txtime};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, connect, recvmsg, sendmsg,
    setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Room for datagrams that wait inside the kernel. A smaller one than the queue of the first link
/// would have that link push back on the socket instead of dropping, and a datagram that waits for
/// room in the socket has left later than the connection thinks.
const KERNEL_BUFFER: usize = 4 << 20;

/// A datagram older than this has not waited, the calendar has been set: the kernel's receive times
/// are calendar times.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How far apart two clocks may be read to count as read together.
const CLOCK_ERROR: Duration = Duration::from_micros(2);
const CLOCK_ATTEMPTS: u32 = 4;

sockopt_impl!(
    /// Whether IPv4 packets are divided (`ip(7)`).
    DivisionOfIpv4,
    Both,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    c_int
);

sockopt_impl!(
    /// Whether IPv6 packets are divided (`ipv6(7)`).
    DivisionOfIpv6,
    Both,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU_DISCOVER,
    c_int
);

/// A UDP socket.
#[derive(Debug)]
pub struct Socket {
    io: UdpSocket,
    local: SocketAddr,
    control: Vec<u8>,
    last_received: Option<Instant>,
}

/// What [`Socket::try_receive`] says of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Bytes of payload.
    pub length: usize,
    /// Who sent it.
    pub from: SocketAddr,
    /// When the kernel received it.
    pub at: Instant,
}

impl Socket {
    /// A socket bound to `local`, which may be a wildcard address and port 0.
    ///
    /// # Errors
    /// The address is taken or not this machine's.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind(local)?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        grow_buffers(&socket)?;
        let io = UdpSocket::from_std(socket)?;
        Ok(Self {
            local: io.local_addr()?,
            io,
            control: nix::cmsg_space!(TimeSpec),
            last_received: None,
        })
    }

    /// Takes datagrams of `peer` alone from now on. Errors of [`Socket::send`] and
    /// [`Socket::try_receive`] may tell then that an earlier datagram did not get there.
    ///
    /// # Errors
    /// There is no way to `peer`.
    pub fn connect(&mut self, peer: SocketAddr) -> io::Result<()> {
        connect(self.io.as_raw_fd(), &SockaddrStorage::from(peer))?;
        self.local = self.io.local_addr()?;
        Ok(())
    }

    /// Its datagrams are not divided: see [`send_whole`].
    ///
    /// # Errors
    /// The kernel's.
    pub fn send_whole(&self) -> io::Result<()> {
        send_whole(&self.io, self.local)
    }

    /// The address it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Waits for a datagram, or for an error that is told instead of one.
    ///
    /// # Errors
    /// The runtime is shutting down.
    pub async fn readable(&self) -> io::Result<()> {
        let arrival = Interest::READABLE.add(Interest::ERROR);
        self.io.ready(arrival).await.map(drop)
    }

    /// Takes the next datagram, if there is one; what does not fit into `buffer` is cut off.
    ///
    /// # Errors
    /// The kernel's.
    pub fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let Self { io, control, .. } = self;
        let mut receive = || receive(io, buffer, control);
        // tokio tries one interest at a time. The kernel calls a socket readable for a datagram,
        // and not for an error.
        let outcome = match io.try_io(Interest::READABLE, &mut receive) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                io.try_io(Interest::ERROR, receive)
            }
            outcome => outcome,
        };
        let (length, from, stamp) = match outcome {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let at = stamp.map_or_else(Instant::now, on_the_monotonic_clock);
        // The conversion reads two clocks one after the other; order survives that.
        let at = self.last_received.map_or(at, |last| at.max(last));
        self.last_received = Some(at);
        Ok(Some(Received { length, from, at }))
    }

    /// Sends a datagram, at once if the kernel has room for it. True if it had to wait.
    ///
    /// # Errors
    /// The kernel's, such as no route to `to`.
    pub async fn send(&self, datagram: &[u8], to: SocketAddr) -> io::Result<bool> {
        match self.io.try_send_to(datagram, to) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.io.send_to(datagram, to).await.map(|_| true)
            }
            outcome => outcome.map(|_| false),
        }
    }

    /// Lets [`Socket::send_at`] tell the kernel when a datagram has to leave.
    ///
    /// # Errors
    /// The kernel cannot do that.
    pub fn take_release_times(&self) -> io::Result<()> {
        let clock = sock_txtime {
            clockid: ClockId::CLOCK_MONOTONIC.as_raw(),
            flags: 0,
        };
        Ok(setsockopt(&self.io, sockopt::TxTime, &clock)?)
    }

    /// Hands a datagram to the kernel, which sends it `at` that time if the interface's queueing
    /// discipline keeps such times.
    ///
    /// # Errors
    /// The kernel's, such as no route to `to`.
    pub async fn send_at(&self, datagram: &[u8], to: SocketAddr, at: Instant) -> io::Result<()> {
        let nanos = on_the_kernels_clock(at)?;
        let send = || send_at(&self.io, datagram, to, nanos);
        self.io.async_io(Interest::WRITABLE, send).await
    }
}

/// Lets neither this machine nor a router divide the datagrams of a socket, which is bound to
/// `local`. RFC 9000, section 14, forbids fragments of QUIC datagrams: they would leave back to
/// back, each with a header of its own. A datagram that the next link does not carry is refused.
/// What routers say is not believed, so nobody else can make datagrams small.
///
/// # Errors
/// The kernel's.
pub fn send_whole(socket: &impl AsFd, local: SocketAddr) -> io::Result<()> {
    if local.is_ipv6() {
        setsockopt(socket, DivisionOfIpv6, &libc::IPV6_PMTUDISC_PROBE)?;
    }
    // A socket of IPv6 may send IPv4 packets, too.
    setsockopt(socket, DivisionOfIpv4, &libc::IP_PMTUDISC_PROBE)?;
    Ok(())
}

/// A time as the kernel's monotonic clock has it, which is what `fq` goes by.
fn on_the_kernels_clock(at: Instant) -> io::Result<u64> {
    let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?);
    let then = now + at.saturating_duration_since(Instant::now());
    u64::try_from(then.as_nanos()).map_err(io::Error::other)
}

fn send_at(socket: &UdpSocket, datagram: &[u8], to: SocketAddr, nanos: u64) -> io::Result<()> {
    let parts = [IoSlice::new(datagram)];
    let control = [ControlMessage::TxTime(&nanos)];
    let to = SockaddrStorage::from(to);
    let socket = socket.as_raw_fd();
    sendmsg(socket, &parts, &control, MsgFlags::MSG_DONTWAIT, Some(&to))?;
    Ok(())
}

/// The privileged options go beyond the system's limit; without the privilege that limit has to do.
fn grow_buffers(socket: &std::net::UdpSocket) -> nix::Result<()> {
    if setsockopt(socket, sockopt::SndBufForce, &KERNEL_BUFFER).is_err() {
        setsockopt(socket, sockopt::SndBuf, &KERNEL_BUFFER)?;
    }
    if setsockopt(socket, sockopt::RcvBufForce, &KERNEL_BUFFER).is_err() {
        setsockopt(socket, sockopt::RcvBuf, &KERNEL_BUFFER)?;
    }
    Ok(())
}

type Datagram = (usize, SocketAddr, Option<TimeSpec>);

fn receive(socket: &UdpSocket, buffer: &mut [u8], control: &mut [u8]) -> io::Result<Datagram> {
    let mut parts = [IoSliceMut::new(buffer)];
    let message = recvmsg::<SockaddrStorage>(
        socket.as_raw_fd(),
        &mut parts,
        Some(control),
        MsgFlags::MSG_DONTWAIT,
    )?;
    let from = message.address.as_ref().and_then(internet_address);
    let from = from.ok_or_else(|| io::Error::other("a datagram without a sender's address"))?;
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    });
    Ok((message.bytes, from, stamp))
}

fn internet_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let four = address.as_sockaddr_in().map(|four| SocketAddr::from(*four));
    four.or_else(|| address.as_sockaddr_in6().map(|six| SocketAddr::from(*six)))
}

/// The kernel's stamps are of the calendar's clock, which differs from the monotonic one by a span
/// that changes only when the calendar is set.
fn on_the_monotonic_clock(stamp: TimeSpec) -> Instant {
    let (now, calendar) = both_clocks();
    let received = UNIX_EPOCH + Duration::from(stamp);
    match calendar.duration_since(received) {
        Ok(age) if age <= LONGEST_WAIT => now - age,
        _ => now,
    }
}

/// Reads both clocks at the same time, to [`CLOCK_ERROR`]. Where the process is interrupted between
/// the readings it tries again, within reason.
fn both_clocks() -> (Instant, SystemTime) {
    let mut before = Instant::now();
    let mut attempts = 0;
    loop {
        let calendar = SystemTime::now();
        let after = Instant::now();
        attempts += 1;
        if after - before <= 2 * CLOCK_ERROR || attempts == CLOCK_ATTEMPTS {
            return (before + (after - before) / 2, calendar);
        }
        before = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::getsockopt;
    use std::net::Ipv4Addr;

    const APART: Duration = Duration::from_millis(100);
    /// The first socket of a machine that wants receive times sets the kernel about it, and some
    /// time may pass before the kernel does it: until then a datagram's time is that of the taking.
    const ATTEMPTS: u32 = 10;

    #[test]
    fn datagrams_carry_the_time_they_came_and_not_the_time_they_were_taken() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let mut socket = Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
            let sender = Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
            for attempt in 1.. {
                let between = time_between(&sender, &mut socket).await;
                // No sleep is shorter than asked for, so the kernel saw them at least so far apart;
                // both were taken together. Half of it leaves room for a process that is put aside
                // between two looks at the clocks.
                if between >= APART / 2 {
                    break;
                }
                assert!(attempt < ATTEMPTS, "{between:?} for {APART:?}");
            }
        });
    }

    #[tokio::test]
    async fn datagrams_of_a_socket_that_sends_whole_are_not_divided() {
        for local in ["127.0.0.1:0", "[::]:0", "[::1]:0"] {
            // Not every machine has IPv6.
            let Ok(socket) = Socket::bind(local.parse().expect("an address")) else {
                continue;
            };
            socket.send_whole().expect("the kernel knows of it");
            let four = getsockopt(&socket.io, DivisionOfIpv4);
            assert_eq!(four, Ok(libc::IP_PMTUDISC_PROBE), "{local}");
            if socket.local().is_ipv6() {
                let six = getsockopt(&socket.io, DivisionOfIpv6);
                assert_eq!(six, Ok(libc::IPV6_PMTUDISC_PROBE), "{local}");
            }
        }
    }

    #[tokio::test]
    async fn a_socket_with_a_peer_hears_that_nobody_listens_there() {
        let gone = Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let peer = gone.local();
        drop(gone);
        let mut socket = Socket::bind((Ipv4Addr::UNSPECIFIED, 0).into()).expect("a free port");
        socket.connect(peer).expect("loopback is there");
        assert_eq!(socket.local().ip(), Ipv4Addr::LOCALHOST);
        socket.send(b"anybody?", peer).await.expect("sent");
        socket.readable().await.expect("readable");
        let error = socket.try_receive(&mut [0; 10]).expect_err("nobody");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// Between two datagrams that were sent [`APART`] and taken together.
    async fn time_between(sender: &Socket, socket: &mut Socket) -> Duration {
        sender.send(b"one", socket.local()).await.expect("sent");
        std::thread::sleep(APART);
        sender.send(b"another", socket.local()).await.expect("sent");
        let mut buffer = [0; 100];
        let mut take = async || {
            loop {
                socket.readable().await.expect("readable");
                if let Some(received) = socket.try_receive(&mut buffer).expect("received") {
                    return received;
                }
            }
        };
        let (first, second) = (take().await, take().await);
        assert_eq!((first.length, second.length), (3, 7));
        assert_eq!(first.from, sender.local());
        second.at - first.at
    }
}
