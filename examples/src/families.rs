//! Controllers that count the headers which packets to their peer have.

use anyhow::Result;
use imtcp_cc::quiche::Factory;
use quiche::cc::{CongestionController, PathContext};
use std::net::{IpAddr, SocketAddr};

/// Bytes of the IP header, by the family of the address, and of the UDP header.
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;
const UDP_HEADER: u64 = 8;

/// A factory for peers of each family of addresses. A socket may be for both.
#[derive(Clone, Debug)]
pub struct Families {
    ipv4: Factory,
    ipv6: Factory,
}

impl Families {
    /// `make` makes the factory for paths on which IP and UDP add so many bytes to a QUIC packet.
    /// Both share the bounds of promises.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn new(make: impl Fn(u64) -> Result<Factory>) -> Result<Self> {
        let ipv4 = make(IPV4_HEADER + UDP_HEADER)?;
        let ipv6 = make(IPV6_HEADER + UDP_HEADER)?;
        Ok(Self {
            ipv6: ipv6.beside(&ipv4),
            ipv4,
        })
    }

    /// The factory for this peer. A socket for both families has IPv4 addresses written as IPv6
    /// ones.
    pub fn of(&self, peer: SocketAddr) -> &Factory {
        match peer.ip().to_canonical() {
            IpAddr::V4(_) => &self.ipv4,
            IpAddr::V6(_) => &self.ipv6,
        }
    }
}

impl quiche::cc::Factory for Families {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        self.of(path.identity.peer).build(path)
    }

    fn requests_acks(&self) -> bool {
        self.ipv4.requests_acks()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::Config;
    use imtcp_cc::units::Bytes;
    use quiche::cc::{Factory as _, PathIdentity};
    use std::time::{Duration, Instant};

    #[test]
    fn headers_are_those_of_the_family_that_the_peer_is_of() {
        let families = Families::new(|headers| {
            let config = Config::builder().header_overhead(Bytes::new(headers + 14));
            Ok(Factory::new(config.build()?))
        });
        let families = families.expect("within its range");
        for (peer, expected) in [
            ("127.0.0.1:1", 28 + 14),
            ("[::ffff:127.0.0.1]:1", 28 + 14),
            ("[::1]:1", 48 + 14),
        ] {
            let peer = peer.parse().expect("an address");
            assert_eq!(logged_headers(&families, peer), [Some(expected)], "{peer}");
        }
    }

    /// What a controller for that peer writes about headers into the log of its settings.
    fn logged_headers(families: &Families, peer: SocketAddr) -> Vec<Option<u64>> {
        let mut controller = families.build(&PathContext {
            identity: PathIdentity {
                peer,
                ..PathIdentity::default()
            },
            now: Instant::now(),
            max_datagram_size: 1200,
            initial_window_packets: 10,
            initial_rtt: Duration::from_millis(333),
        });
        let mut headers = Vec::new();
        controller.drain_qlog_events(&mut |_, name, data| {
            if name == imtcp_cc::qlog::PARAMETERS_SET {
                headers.push(data["header_overhead"].as_u64());
            }
        });
        headers
    }
}
