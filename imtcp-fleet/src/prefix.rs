//! Whole addresses are never kept: only their networks are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The name of the network where none is known.
pub const UNKNOWN: &str = "unknown";

/// The network of an address: its first 24 bits, or 48 of an IPv6 address. An address of IPv4 that
/// is written as one of IPv6 counts as IPv4.
pub fn prefix(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            format!("{}/24", Ipv4Addr::new(a, b, c, 0))
        }
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_network_of_an_address_is_kept() {
        for (address, network) in [
            ("203.0.113.77", "203.0.113.0/24"),
            ("::ffff:203.0.113.77", "203.0.113.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
        ] {
            assert_eq!(prefix(address.parse().expect("an address")), network);
        }
    }
}
