//! From a name to an address.

use crate::options::Family;
use anyhow::{Context, Result, bail};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The host and the port of `HOST:PORT`.
pub fn split(target: &str) -> Result<(&str, u16)> {
    let parts = target.rsplit_once(':');
    let Some((host, port)) = parts.filter(|(host, _)| !host.is_empty()) else {
        bail!("`{target}` names no port; --quic wants HOST:PORT, such as example.org:443");
    };
    if host.contains(':') && !host.starts_with('[') {
        bail!("`{target}`: an IPv6 address stands in brackets, as in [2001:db8::1]:443");
    }
    let port = port.parse();
    let port = port.with_context(|| format!("the port of `{target}` is no number up to 65535"))?;
    let host = host
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host);
    Ok((host, port))
}

/// The first address of `host` that will do, without a port. An address of a link keeps its scope:
/// `fe80::1%eth0` is another host than `fe80::1%eth1`.
pub fn resolve(host: &str, family: Family) -> Result<SocketAddr> {
    let found = (host, 0).to_socket_addrs().with_context(|| {
        format!("`{host}` is unknown; is the name right, and is there a network?")
    })?;
    let addresses: Vec<SocketAddr> = found.collect();
    match pick(&addresses, family) {
        Some(address) => Ok(address),
        None if family == Family::Six => bail!("`{host}` has no IPv6 address; try without -6"),
        None if family == Family::Four => bail!("`{host}` has no IPv4 address; try without -4"),
        None => bail!("`{host}` has no address"),
    }
}

/// The first address of the family.
pub fn pick(addresses: &[SocketAddr], family: Family) -> Option<SocketAddr> {
    let fits = |address: &&SocketAddr| match family {
        Family::Any => true,
        Family::Four => address.is_ipv4(),
        Family::Six => address.is_ipv6(),
    };
    addresses.iter().find(fits).copied()
}

/// An address without its port, as a host is written.
pub fn shown(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(six) if six.scope_id() != 0 => format!("{}%{}", six.ip(), six.scope_id()),
        _ => address.ip().to_string(),
    }
}

/// Whether a host is named by an address, with a scope or without.
pub fn is_address(host: &str) -> bool {
    let bare = host.split_once('%').map_or(host, |(bare, _)| bare);
    bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_of_the_family_is_taken() {
        let addresses: Vec<SocketAddr> = ["[2001:db8::1]:0", "192.0.2.1:0"]
            .iter()
            .map(|text| text.parse().expect(text))
            .collect();
        assert_eq!(pick(&addresses, Family::Any), Some(addresses[0]));
        assert_eq!(pick(&addresses, Family::Six), Some(addresses[0]));
        assert_eq!(pick(&addresses, Family::Four), Some(addresses[1]));
        assert_eq!(pick(&addresses[..1], Family::Four), None);
    }

    /// Every machine has this interface.
    #[test]
    fn an_address_of_a_link_keeps_its_scope() {
        let address = resolve("fe80::1%lo", Family::Any).expect("an address");
        let SocketAddr::V6(six) = address else {
            panic!("{address} is none of IPv6");
        };
        assert_ne!(six.scope_id(), 0);
        assert_eq!(shown(address), format!("fe80::1%{}", six.scope_id()));
        assert!(is_address("fe80::1%lo") && is_address("192.0.2.1") && !is_address("a.example"));
        assert_eq!(
            split("[fe80::1%lo]:443").expect("good"),
            ("fe80::1%lo", 443)
        );
        let error = resolve("fe80::1%no-such", Family::Any).expect_err("no interface");
        let said = format!("{error:#}");
        assert!(said.contains("`fe80::1%no-such` is unknown"), "{said}");
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
    fn a_server_has_a_port() {
        assert_eq!(
            split("example.org:443").expect("good"),
            ("example.org", 443)
        );
        assert_eq!(
            split("[2001:db8::1]:8443").expect("good"),
            ("2001:db8::1", 8443)
        );
        for bad in [
            "example.org",
            ":443",
            "example.org:https",
            "example.org:70000",
            "2001:db8::1",
        ] {
            let error = split(bad).expect_err(bad);
            assert!(format!("{error:#}").contains(bad), "{error:#}");
        }
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
