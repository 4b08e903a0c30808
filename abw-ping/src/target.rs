//! From a name to an address.

use crate::options::Family;
use anyhow::{Context, Result, bail};
use std::net::{IpAddr, ToSocketAddrs};

/// The first address of `host` that will do.
pub fn resolve(host: &str, family: Family) -> Result<IpAddr> {
    let found = (host, 0).to_socket_addrs().with_context(|| {
        format!("`{host}` is unknown; is the name right, and is there a network?")
    })?;
    let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    match pick(&addresses, family) {
        Some(address) => Ok(address),
        None if family == Family::Six => bail!("`{host}` has no IPv6 address; try without -6"),
        None if family == Family::Four => bail!("`{host}` has no IPv4 address; try without -4"),
        None => bail!("`{host}` has no address"),
    }
}

/// The first address of the family.
pub fn pick(addresses: &[IpAddr], family: Family) -> Option<IpAddr> {
    let fits = |address: &&IpAddr| match family {
        Family::Any => true,
        Family::Four => address.is_ipv4(),
        Family::Six => address.is_ipv6(),
    };
    addresses.iter().find(fits).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_of_the_family_is_taken() {
        let addresses: Vec<IpAddr> = ["2001:db8::1", "192.0.2.1"]
            .iter()
            .map(|text| text.parse().expect(text))
            .collect();
        assert_eq!(pick(&addresses, Family::Any), Some(addresses[0]));
        assert_eq!(pick(&addresses, Family::Six), Some(addresses[0]));
        assert_eq!(pick(&addresses, Family::Four), Some(addresses[1]));
        assert_eq!(pick(&addresses[..1], Family::Four), None);
    }

    #[test]
    fn a_missing_family_is_named() {
        let error = resolve("127.0.0.1", Family::Six).expect_err("IPv4");
        assert!(
            format!("{error:#}").contains("no IPv6 address"),
            "{error:#}"
        );
    }

    #[test]
    fn an_unknown_host_is_named() {
        let error = resolve("no such host", Family::Any).expect_err("not a name");
        assert!(
            format!("{error:#}").contains("`no such host` is unknown"),
            "{error:#}"
        );
    }
}
