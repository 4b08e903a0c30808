//! A datagram of no connection.

use crate::socket::Datagram;
use quiche::ecn::Mark;
use std::net::SocketAddr;

/// A datagram that has been taken from its socket, because no connection wanted it.
pub struct Stranger {
    pub bytes: Vec<u8>,
    pub from: SocketAddr,
    pub to: SocketAddr,
    mark: Mark,
}

impl Stranger {
    /// A copy.
    pub fn new(datagram: &Datagram<'_>) -> Self {
        Self {
            bytes: datagram.bytes.to_vec(),
            from: datagram.from,
            to: datagram.to,
            mark: datagram.mark,
        }
    }

    /// The datagram.
    pub fn datagram(&mut self) -> Datagram<'_> {
        Datagram {
            bytes: &mut self.bytes,
            from: self.from,
            to: self.to,
            mark: self.mark,
        }
    }
}
