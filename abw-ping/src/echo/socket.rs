//! The sockets themselves.

use crate::clock;
use crate::target::Unreachable;
use crate::whole::send_whole;
use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, connect, recvmsg,
    send, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Room for the replies to some trains.
const BUFFER: usize = 1 << 20;

/// Room for the error that a router sent, with the address of the router.
const CONTROL: usize = 256;

/// What was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A ping socket, which needs no privilege.
    Ping,
    /// A raw socket.
    Raw,
}

impl Kind {
    /// A name for the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Raw => "raw",
        }
    }
}

/// A message that came.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its length in bytes.
    pub length: usize,
    /// When the kernel received it, if it says so.
    pub stamp: Option<TimeSpec>,
}

/// A socket that is connected to a host.
pub struct Socket {
    socket: OwnedFd,
    kind: Kind,
    control: Vec<u8>,
}

impl Socket {
    /// A ping socket, or else a raw one.
    pub fn open(to: SocketAddr) -> Result<Self> {
        let address = to.ip();
        let (socket, kind) = match create(address, SockType::Datagram) {
            Ok(socket) => (socket, Kind::Ping),
            Err(Errno::EAFNOSUPPORT) => {
                let family = family_name(address);
                bail!(Unreachable(format!("this machine has no {family}")))
            }
            // No ping sockets for this user (EACCES), or none at all.
            Err(_) => match create(address, SockType::Raw) {
                Ok(socket) => (socket, Kind::Raw),
                Err(Errno::EPERM | Errno::EACCES) => bail!(
                    "no permission to send echo requests. Either let all groups have ping \
                     sockets:\n  sysctl net.ipv4.ping_group_range=\"0 2147483647\"\nor run this as \
                     root, which opens a raw socket"
                ),
                Err(error) => return Err(error).context("cannot open a raw socket"),
            },
        };
        prepare(&socket, address).context("cannot prepare the socket")?;
        if let Err(error) = connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
            let why = error.desc();
            bail!(Unreachable(format!("{address} is unreachable: {why}")));
        }
        Ok(Self {
            socket,
            kind,
            control: vec![0; CONTROL],
        })
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Sends a message, at once or not at all. An error may be of an earlier packet.
    pub fn send(&mut self, message: &[u8]) -> Result<(), Errno> {
        let sent = send(self.socket.as_raw_fd(), message, MsgFlags::MSG_DONTWAIT);
        if sent.is_err() {
            self.forget_errors(&mut [0; 1]);
        }
        sent.map(|_| ())
    }

    /// The next message, if there is one. An error is what the system, or a router, said of a
    /// packet that left.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Message>, Errno> {
        match self.take(buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(message) => Ok(Some(message)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(error) => {
                self.forget_errors(buffer);
                Err(error)
            }
        }
    }

    /// What was told as an error waits in a queue of its own, too, and would wake us again.
    fn forget_errors(&mut self, buffer: &mut [u8]) {
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        while self.take(buffer, flags).is_ok() {}
    }

    fn take(&mut self, buffer: &mut [u8], flags: MsgFlags) -> Result<Message, Errno> {
        let mut parts = [IoSliceMut::new(buffer)];
        let socket = self.socket.as_raw_fd();
        let control = Some(&mut self.control[..]);
        let message = recvmsg::<SockaddrStorage>(socket, &mut parts, control, flags)?;
        Ok(Message {
            length: message.bytes,
            stamp: clock::stamp(&message),
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn create(address: IpAddr, kind: SockType) -> Result<OwnedFd, Errno> {
    let (family, protocol) = match address {
        IpAddr::V4(_) => (AddressFamily::Inet, SockProtocol::Icmp),
        IpAddr::V6(_) => (AddressFamily::Inet6, SockProtocol::IcmpV6),
    };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socket(family, kind, flags, protocol)
}

/// Receive times, a large buffer, whole packets, and word of what routers say.
fn prepare(socket: &OwnedFd, address: IpAddr) -> Result<(), Errno> {
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)?;
    send_whole(socket, address)?;
    match address {
        IpAddr::V4(_) => setsockopt(socket, sockopt::Ipv4RecvErr, &true)?,
        IpAddr::V6(_) => setsockopt(socket, sockopt::Ipv6RecvErr, &true)?,
    }
    // The privileged option goes beyond the system's limit; without it the limit has to do.
    if setsockopt(socket, sockopt::RcvBufForce, &BUFFER).is_err() {
        setsockopt(socket, sockopt::RcvBuf, &BUFFER)?;
    }
    Ok(())
}

fn family_name(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::packet::{self, Version};
    use crate::whole::tests::assert_sends_whole;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    /// Larger than the packets of any interface.
    const TOO_LARGE: usize = 65_540;

    /// Sockets towards this machine, unless this user may not have any.
    fn sockets() -> Vec<(IpAddr, Socket)> {
        let addresses = ["127.0.0.1:0", "[::1]:0"].map(|text| text.parse().expect("an address"));
        let open = |to: &SocketAddr| Some((to.ip(), Socket::open(*to).ok()?));
        addresses.iter().filter_map(open).collect()
    }

    #[test]
    fn probes_are_not_divided() {
        for (address, socket) in sockets() {
            assert_sends_whole(&socket, address);
        }
    }

    #[test]
    fn a_packet_that_is_refused_leaves_nothing_that_wakes_for_ever() {
        for (address, mut socket) in sockets() {
            let mut request = Vec::new();
            packet::write(&mut request, Version::of(address), 1, 1, 1, TOO_LARGE);
            assert_eq!(socket.send(&request), Err(Errno::EMSGSIZE), "{address}");
            let mut watched = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
            let woken = poll(&mut watched, PollTimeout::ZERO);
            assert_eq!(woken, Ok(0), "{address}: {watched:?}");
        }
    }
}
