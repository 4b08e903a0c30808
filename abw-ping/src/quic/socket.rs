//! The UDP socket towards a server.

use crate::target::Unreachable;
use crate::whole::send_whole;
use anyhow::Result;
use nix::sys::socket::{setsockopt, sockopt};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// A socket that is connected to `peer`, tells receive times, does not wait, and divides no
/// datagram.
///
/// # Errors
/// There is no way to the peer.
pub fn open(peer: SocketAddr) -> Result<UdpSocket> {
    let any = if peer.is_ipv4() {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
    } else {
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
    };
    let unreachable = |error| Unreachable(format!("{peer} is unreachable: {error}"));
    // There may be no IPv6 here.
    let socket = UdpSocket::bind(any).map_err(unreachable)?;
    socket.connect(peer).map_err(unreachable)?;
    socket.set_nonblocking(true)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    send_whole(&socket, peer.ip())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole::tests::assert_sends_whole;

    #[test]
    fn datagrams_are_not_divided() {
        for peer in ["127.0.0.1:9", "[::1]:9"] {
            let peer: SocketAddr = peer.parse().expect("an address");
            // Not every machine has IPv6.
            if let Ok(socket) = open(peer) {
                assert_sends_whole(&socket, peer.ip());
            }
        }
    }
}
