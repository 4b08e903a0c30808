//! A quiche connection on a socket.

use crate::socket::{Datagram, Socket};
use crate::transport::{BATCH, DATAGRAM};
use quiche::ecn;
use std::io;
use std::time::Instant;

/// Whether there is more to send at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flushed {
    /// Nothing may leave now.
    Everything,
    /// A batch; others get their turn first.
    ABatch,
}

/// Takes a datagram. What the connection cannot use it drops; what ends it shows in its errors.
pub fn receive(connection: &mut quiche::Connection, datagram: Datagram<'_>) {
    let info = quiche::RecvInfo {
        from: datagram.from,
        to: datagram.to,
    };
    let _ = ecn::with(datagram.mark, || connection.recv(datagram.bytes, info));
}

/// Whether one of both sides has closed it, so that nothing can be asked for any more.
pub fn is_ending(connection: &quiche::Connection) -> bool {
    connection.local_error().is_some() || connection.is_draining() || connection.is_closed()
}

/// Lets timers fire that are due.
pub fn wake(connection: &mut quiche::Connection, now: Instant) -> bool {
    let is_due = connection.timeout_instant().is_some_and(|due| due <= now);
    if is_due {
        connection.on_timeout();
    }
    is_due
}

/// Sends what may leave now, each packet by itself as soon as it is built.
///
/// # Errors
/// The runtime is shutting down.
pub async fn flush(connection: &mut quiche::Connection, socket: &Socket) -> io::Result<Flushed> {
    let mut datagram = [0; DATAGRAM];
    for _ in 0..BATCH {
        // Done, or an error that has closed the connection and shows there.
        let Ok((length, info)) = connection.send(&mut datagram) else {
            return Ok(Flushed::Everything);
        };
        socket
            .send(&datagram[..length], &info, connection.sent_mark())
            .await?;
    }
    Ok(Flushed::ABatch)
}
