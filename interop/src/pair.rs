//! Both ends of a connection in one process, without sockets, for tests.

use crate::case::Case;
use crate::environment::Parameters;
use crate::tls;
use crate::transport::{self, DATAGRAM};
use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod};
use boring::x509::X509;
use quiche::{Connection, RecvInfo};
use std::net::{Ipv4Addr, SocketAddr};

/// A client and a server.
pub struct Pair {
    pub client: Connection,
    pub server: Connection,
}

impl Pair {
    /// Two that have completed their handshake.
    pub fn new() -> Self {
        Self::of(Case::Transfer)
    }

    /// The same in this case.
    pub fn of(case: Case) -> Self {
        Self::made(case, |_| {})
    }

    /// The same, whose client may open so many streams.
    pub fn with_streams(count: u64) -> Self {
        Self::made(Case::Transfer, |server| {
            server.set_initial_max_streams_bidi(count);
        })
    }

    fn made(case: Case, change: impl FnOnce(&mut quiche::Config)) -> Self {
        let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let id = || transport::connection_id().expect("random bytes");
        let parameters = Parameters::default();
        let tls = tls::client(case).expect("a context");
        let client = transport::client(tls, case, parameters, false);
        let server = transport::server(identity(), case, parameters, false);
        let (mut client, mut server) = (
            client.expect("a configuration"),
            server.expect("a configuration"),
        );
        change(&mut server);
        let client = quiche::connect(None, &id(), address(2), address(1), &mut client);
        let server = quiche::accept(&id(), None, address(1), address(2), &mut server);
        let mut pair = Self {
            client: client.expect("a client"),
            server: server.expect("a server"),
        };
        pair.exchange();
        assert!(pair.client.is_established() && pair.server.is_established());
        pair
    }

    /// Carries what both have to say, until they are silent.
    pub fn exchange(&mut self) {
        exchange(&mut self.client, &mut self.server);
    }
}

/// The same of two that are not together.
pub fn exchange(client: &mut Connection, server: &mut Connection) {
    while carry(client, server) | carry(server, client) {}
}

fn identity() -> SslContextBuilder {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.expect("a certificate");
    let certificate = X509::from_pem(made.cert.pem().as_bytes()).expect("it is one");
    let key = PKey::private_key_from_pem(made.signing_key.serialize_pem().as_bytes());
    let mut context = SslContextBuilder::new(SslMethod::tls()).expect("a context");
    context.set_certificate(&certificate).expect("it is taken");
    context
        .set_private_key(&key.expect("it is one"))
        .expect("they belong together");
    context
}

/// Carries what one has to say to the other. False if that is nothing.
fn carry(one: &mut Connection, other: &mut Connection) -> bool {
    let mut datagram = [0; DATAGRAM];
    let mut is_any = false;
    while let Ok((length, info)) = one.send(&mut datagram) {
        let info = RecvInfo {
            from: info.from,
            to: info.to,
        };
        // What the other cannot use shows in its errors.
        let _ = other.recv(&mut datagram[..length], info);
        is_any = true;
    }
    is_any
}
