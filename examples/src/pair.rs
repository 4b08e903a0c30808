//! Both ends of a connection in one process, without sockets, for tests.

use crate::tls::{self, Identity};
use crate::transport::{self, DATAGRAM, Offers};
use quiche::{Connection, RecvInfo};
use std::net::{Ipv4Addr, SocketAddr};

/// A client and a server.
pub(crate) struct Pair {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
}

impl Pair {
    /// Two that have completed their handshake.
    pub(crate) fn new() -> Self {
        Self::over(DATAGRAM)
    }

    /// The same over a path that carries datagrams of so many bytes at most.
    pub(crate) fn over(most: usize) -> Self {
        let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let identity = Identity::self_signed(vec!["localhost".to_owned()]).expect("made");
        let tls = tls::server(&identity).expect("a context");
        let mut config = transport::server(tls).expect("a configuration");
        let id = transport::connection_id().expect("random bytes");
        let server = quiche::accept(&id, None, address(1), address(2), &mut config);
        let offers = Offers {
            ack_frequency: false,
            receive_timestamps: false,
        };
        let tls = tls::client(None).expect("a context");
        let mut config = transport::client(tls, false, offers).expect("a configuration");
        let id = transport::connection_id().expect("random bytes");
        let client = quiche::connect(None, &id, address(2), address(1), &mut config);
        let mut pair = Self {
            client: client.expect("a client"),
            server: server.expect("a server"),
        };
        pair.exchange_over(most);
        assert!(pair.client.is_established() && pair.server.is_established());
        pair
    }

    /// Carries what both have to say, until they are silent.
    pub(crate) fn exchange(&mut self) {
        self.exchange_over(DATAGRAM);
    }

    /// The same over a path that carries datagrams of so many bytes at most.
    pub(crate) fn exchange_over(&mut self, most: usize) {
        let Self { client, server } = self;
        while carry_up_to(most, client, server) | carry_up_to(most, server, client) {}
    }
}

/// Carries what one has to say to the other. False if that is nothing.
pub(crate) fn carry(one: &mut Connection, other: &mut Connection) -> bool {
    carry_up_to(DATAGRAM, one, other)
}

fn carry_up_to(most: usize, one: &mut Connection, other: &mut Connection) -> bool {
    let mut datagram = [0; DATAGRAM];
    let mut is_any = false;
    while let Ok((length, info)) = one.send(&mut datagram) {
        is_any = true;
        if length > most {
            continue;
        }
        let info = RecvInfo {
            from: info.from,
            to: info.to,
        };
        // What the other cannot use shows in its errors.
        let _ = other.recv(&mut datagram[..length], info);
    }
    is_any
}
