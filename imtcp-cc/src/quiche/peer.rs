//! What stands for a path among the connections of a factory. What was measured is remembered for
//! the network of the peer. The bounds of promises are shared by the connections to one host, as
//! RFC 9040 shares control blocks: other hosts of a network may have access links of their own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const NETWORK: Prefix = Prefix { v4: 24, v6: 48 };

/// A whole address, but for the part of IPv6 addresses that a host chooses by itself (RFC 4291,
/// section 2.5.4).
const HOST: Prefix = Prefix { v4: 32, v6: 64 };

/// How many bits of an address count.
#[derive(Clone, Copy)]
struct Prefix {
    v4: u32,
    v6: u32,
}

/// The network of a peer.
pub(super) fn network(peer: IpAddr) -> IpAddr {
    masked(peer, NETWORK)
}

/// The host that a peer is.
pub(super) fn host(peer: IpAddr) -> IpAddr {
    masked(peer, HOST)
}

/// An IPv4 address that is written as an IPv6 one counts as what it is.
fn masked(peer: IpAddr, prefix: Prefix) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => {
            let mask = u32::MAX << (u32::BITS - prefix.v4);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX << (u128::BITS - prefix.v6);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn neighbours_are_one_network_and_two_hosts() {
        let (one, other) = (address("203.0.113.7"), address("203.0.113.8"));
        assert_eq!(network(one), network(other));
        assert_ne!(host(one), host(other));
        assert_eq!(host(address("::ffff:203.0.113.7")), host(one));
    }

    #[test]
    fn addresses_of_one_link_are_one_host() {
        let (one, other) = (address("2001:db8:1:2::7"), address("2001:db8:1:2:a::9"));
        assert_eq!(host(one), host(other));
        let (near, far) = (address("2001:db8:1:3::7"), address("2001:db8:2:3::7"));
        assert_ne!(host(one), host(near));
        assert_eq!(network(one), network(near));
        assert_ne!(network(one), network(far));
    }
}
