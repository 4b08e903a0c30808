//! Whether a server can be reached, and by which of its addresses.

use anyhow::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

/// A connection that is not there after so long will not come.
pub(super) const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);

/// While there are other addresses, so long: the first packet is sent again after a second, and
/// that is answered on a path that loses some.
const ANOTHER_IS_LEFT: Duration = Duration::from_secs(3);

/// How long one of so many addresses that are `left`, itself among them, has for the handshake.
pub(super) fn patience(left: usize) -> Duration {
    match left {
        ..=1 => HANDSHAKE_PATIENCE,
        _ => ANOTHER_IS_LEFT,
    }
}

/// Why a connection to one address does not come about. Another address may do.
#[derive(Debug)]
pub(super) struct Unreachable(String);

impl Unreachable {
    /// Nothing has come from there.
    pub(super) fn silent(peer: SocketAddr, patience: Duration) -> Self {
        let seconds = patience.as_secs();
        Self(format!(
            "no answer from {peer} within {seconds} s; is the server running, and is its UDP port \
             open?"
        ))
    }

    /// What the kernel says of a datagram on its way there, or of a socket for it.
    pub(super) fn told(peer: SocketAddr, error: &io::Error) -> Self {
        Self(match error.kind() {
            ErrorKind::ConnectionRefused => {
                format!("nobody listens at {peer} (UDP); is the server running?")
            }
            _ => format!("cannot send to {peer}: {error}"),
        })
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// Whether this says of one datagram that it was lost. Routers say so, and anybody in their name,
/// so it ends no connection.
pub(super) fn is_loss(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable
    )
}

/// What is said where every address was tried in vain.
pub(super) fn in_vain(mut tried: Vec<Unreachable>) -> Error {
    if tried.len() == 1 {
        return tried.remove(0).into();
    }
    let reasons: Vec<String> = tried.iter().map(ToString::to_string).collect();
    Error::msg(format!(
        "no address of the host will do: {}",
        reasons.join("; ")
    ))
}
