//! A quiche connection on a socket: when it takes, when it sends, when it wants to be woken.

use crate::socket::{Received, Socket};
use crate::transport::{BATCH, DATAGRAM};
use nix::libc;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// A connection.
pub(crate) struct Session {
    pub(crate) connection: quiche::Connection,
    /// quiche's BBRv2 names the time of its next packet instead of holding the packet back.
    paced_by_caller: bool,
    /// Until when that pacing holds data back.
    held_until: Option<Instant>,
    /// Datagrams that had to wait for room in the socket.
    pub(crate) blocked_sends: u64,
    /// When the first datagram of the peer came, and the latest.
    heard: Option<[Instant; 2]>,
}

/// Whether there is more to send at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Flushed {
    Everything,
    /// A batch; others get their turn first.
    ABatch,
}

impl Session {
    pub(crate) fn new(connection: quiche::Connection, paced_by_caller: bool) -> Self {
        Self {
            connection,
            paced_by_caller,
            held_until: None,
            blocked_sends: 0,
            heard: None,
        }
    }

    /// From the first datagram of the peer to the latest.
    pub(crate) fn heard_for(&self) -> Duration {
        self.heard.map_or(Duration::ZERO, |[first, latest]| {
            latest.saturating_duration_since(first)
        })
    }

    /// Takes a datagram as of the time when the kernel received it. What the connection cannot use
    /// it drops; what ends it shows in its errors.
    pub(crate) fn receive(&mut self, datagram: &mut [u8], received: &Received, local: SocketAddr) {
        let info = quiche::RecvInfo {
            from: received.from,
            to: local,
        };
        let [first, _] = self.heard.unwrap_or([received.at; 2]);
        self.heard = Some([first, received.at]);
        let connection = &mut self.connection;
        let _ = quiche::clock::with(received.at, || connection.recv(datagram, info));
    }

    /// When the connection wants to be woken: a timer, or a release time.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let timer = self.connection.timeout_instant();
        timer.into_iter().chain(self.held_until).min()
    }

    /// Lets timers fire that are due. True if it may have something to send now.
    pub(crate) fn wake(&mut self, now: Instant) -> bool {
        if self
            .connection
            .timeout_instant()
            .is_some_and(|due| due <= now)
        {
            self.connection.on_timeout();
            return true;
        }
        self.held_until.is_some_and(|due| due <= now)
    }

    /// Sends what may leave now, each packet by itself as soon as it is built.
    ///
    /// # Errors
    /// The kernel refuses a datagram. For the connection it is sent, and will be lost.
    pub(crate) async fn flush(&mut self, socket: &Socket) -> io::Result<Flushed> {
        let mut datagram = [0; DATAGRAM];
        for _ in 0..BATCH {
            self.held_until = self.pacing();
            if self.held_until.is_some() {
                return Ok(Flushed::Everything);
            }
            // Done, or an error that has closed the connection and shows there.
            let Ok((length, info)) = self.connection.send(&mut datagram) else {
                return Ok(Flushed::Everything);
            };
            match socket.send(&datagram[..length], info.to).await {
                Ok(waited) => self.blocked_sends += u64::from(waited),
                // A try of how much the path carries; the first link does not carry that.
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Flushed::ABatch)
    }

    fn pacing(&self) -> Option<Instant> {
        if !self.paced_by_caller {
            return None;
        }
        let next = self.connection.get_next_release_time()?;
        let due = next.time(Instant::now())?;
        (!next.can_burst()).then_some(due)
    }
}
