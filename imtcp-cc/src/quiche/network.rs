//! What stands for a path among the connections of a factory: the network of the peer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The length of the prefixes that stand for a path.
const PREFIX_V4: u32 = 24;
const PREFIX_V6: u32 = 48;

/// The network that stands for a peer. An IPv4 address that is written as an IPv6 one counts as
/// what it is.
pub(super) fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => {
            let mask = u32::MAX << (u32::BITS - PREFIX_V4);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX << (u128::BITS - PREFIX_V6);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}
