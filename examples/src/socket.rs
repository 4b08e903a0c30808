//! A UDP socket that knows when the kernel received each datagram.
//!
//! One system call sends one datagram: no GSO, so that each leaves at its own time.

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
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

    /// The address it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Waits for a datagram.
    ///
    /// # Errors
    /// The runtime is shutting down.
    pub async fn readable(&self) -> io::Result<()> {
        self.io.readable().await
    }

    /// Takes the next datagram, if there is one; what does not fit into `buffer` is cut off.
    ///
    /// # Errors
    /// The kernel's.
    pub fn try_receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let Self { io, control, .. } = self;
        let outcome = io.try_io(Interest::READABLE, || receive(io, buffer, control));
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

fn on_the_monotonic_clock(stamp: TimeSpec) -> Instant {
    let now = Instant::now();
    let received = UNIX_EPOCH + Duration::from(stamp);
    match SystemTime::now().duration_since(received) {
        Ok(age) if age <= LONGEST_WAIT => now - age,
        _ => now,
    }
}
