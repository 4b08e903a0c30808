//! Echo requests to a host, and its replies.
//!
//! A ping socket (`SOCK_DGRAM` with the protocol ICMP) needs no privilege where
//! `net.ipv4.ping_group_range` has the user's group. Where it has not, a raw socket does, for root.

mod packet;
mod socket;

use crate::clock::Clock;
use crate::probes::{MOST_AT_ONCE, Probes, Sent, Word};
use crate::target::Unreachable;
use anyhow::{Context, Result, bail};
use imtcp_cc::units::{Bytes, Timestamp};
use nix::errno::Errno;
use packet::Version;
use socket::{Kind, Message, Socket};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

/// The largest message that is read. Longer ones are none of ours.
const LARGEST: usize = 10_000;

/// An open socket towards a host.
pub struct Echo {
    socket: Socket,
    address: IpAddr,
    version: Version,
    token: u64,
    identifier: u16,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    complaint: Option<Errno>,
    replies: u64,
}

impl Echo {
    /// Opens a socket towards `address`.
    ///
    /// # Errors
    /// This user may not, or there is no way to the address.
    pub fn open(address: SocketAddr) -> Result<Self> {
        let socket = Socket::open(address)?;
        let address = address.ip();
        let token = random().context("cannot draw a token to know our replies by")?;
        Ok(Self {
            socket,
            address,
            version: Version::of(address),
            token,
            identifier: u16::try_from(token >> 48).unwrap_or(1),
            outgoing: Vec::new(),
            incoming: vec![0; LARGEST],
            complaint: None,
            replies: 0,
        })
    }

    /// The kind of socket.
    pub fn kind(&self) -> &'static str {
        self.socket.kind().name()
    }

    /// Errors that say that no packet gets there, or that it is forbidden, end a measurement before
    /// the first reply.
    fn on_error(&mut self, error: Errno) -> Result<()> {
        self.complaint = Some(error);
        ensure_it_may_go_on(error, self.address, self.replies)
    }
}

/// Whether a measurement goes on after what the system, or a router, said of a packet. After
/// `replies` it always does: it may be of a moment, or somebody's who wants it to end. What was
/// found until then is not lost.
fn ensure_it_may_go_on(error: Errno, address: IpAddr, replies: u64) -> Result<()> {
    let why = error.desc();
    match error {
        _ if replies > 0 => Ok(()),
        Errno::EACCES | Errno::EPERM => bail!(Unreachable(format!(
            "{address} may not be pinged: a firewall, here or on the way, forbids it ({why})"
        ))),
        Errno::EHOSTUNREACH | Errno::ENETUNREACH | Errno::ECONNREFUSED | Errno::ENETDOWN => {
            bail!(Unreachable(format!("{address} is unreachable: {why}")))
        }
        _ => Ok(()),
    }
}

impl Probes for Echo {
    fn begin(&mut self) {
        // Late replies to the last measurement's packets are none of this one's.
        self.token = self.token.wrapping_add(1);
        self.complaint = None;
    }

    fn send(&mut self, id: u64, size: Bytes, clock: &Clock) -> Result<Sent> {
        let size = usize::try_from(size.get()).unwrap_or(usize::MAX);
        let (version, token) = (self.version, self.token);
        packet::write(
            &mut self.outgoing,
            version,
            self.identifier,
            token,
            id,
            size,
        );
        let at = clock.now();
        match self.socket.send(&self.outgoing) {
            Ok(()) => Ok(Sent::At(at)),
            Err(Errno::ENOBUFS | Errno::EAGAIN) => Ok(Sent::Dropped),
            Err(Errno::EMSGSIZE) => bail!(
                "packets of {size} bytes do not fit the way to {}; choose a smaller --packet",
                self.address
            ),
            Err(error) => self.on_error(error).map(|()| Sent::Dropped),
        }
    }

    fn wait(&mut self, until: Timestamp, clock: &Clock) -> Result<()> {
        let waited = clock.wait(until, self.socket.as_fd());
        waited.context("cannot wait for replies")
    }

    fn receive(&mut self, clock: &Clock, tell: &mut dyn FnMut(Word)) -> Result<()> {
        for _ in 0..MOST_AT_ONCE {
            match self.socket.receive(&mut self.incoming) {
                Ok(Some(Message { length, stamp })) => {
                    let raw = self.socket.kind() == Kind::Raw && self.version == Version::Four;
                    let message = &self.incoming[..length.min(LARGEST)];
                    let Some(id) = packet::read(message, self.version, self.token, raw) else {
                        continue;
                    };
                    self.replies += 1;
                    let at = stamp.map_or_else(|| clock.now(), |stamp| clock.of_stamp(stamp));
                    tell(Word::Reply(id, at));
                }
                Ok(None) => return Ok(()),
                Err(error) => self.on_error(error)?,
            }
        }
        Ok(())
    }

    fn complaint(&self) -> Option<String> {
        let error = self.complaint?;
        Some(format!("{}: {}", self.address, error.desc()))
    }
}

fn random() -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn what_is_forbidden_or_unreachable_ends_a_measurement_before_the_first_reply_alone() {
        let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        for (error, word) in [
            (Errno::EACCES, "may not be pinged"),
            (Errno::EPERM, "may not be pinged"),
            (Errno::EHOSTUNREACH, "unreachable"),
        ] {
            let ended = ensure_it_may_go_on(error, address, 0).expect_err("no reply so far");
            assert!(ended.to_string().contains(word), "{ended}");
            assert!(ensure_it_may_go_on(error, address, 1).is_ok(), "{error}");
        }
        assert!(ensure_it_may_go_on(Errno::EPROTO, address, 0).is_ok());
    }
}
