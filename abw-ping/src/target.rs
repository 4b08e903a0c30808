//! From a name to an address.

use crate::options::Family;
use crate::output::say;
use anyhow::{Context, Result, bail};
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};

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

/// The addresses of `host` that will do, without a port. There is one at least, and the first is to
/// be tried first. An address of a link keeps its scope: `fe80::1%eth0` is another host than
/// `fe80::1%eth1`.
pub fn resolve(host: &str, family: Family) -> Result<Vec<SocketAddr>> {
    let found = (host, 0).to_socket_addrs().with_context(|| {
        format!("`{host}` is unknown; is the name right, and is there a network?")
    })?;
    let addresses = pick(found, family);
    match family {
        _ if !addresses.is_empty() => Ok(addresses),
        Family::Six => bail!("`{host}` has no IPv6 address; try without -6"),
        Family::Four => bail!("`{host}` has no IPv4 address; try without -4"),
        Family::Any => bail!("`{host}` has no address"),
    }
}

/// Those of the family, each once.
fn pick(addresses: impl Iterator<Item = SocketAddr>, family: Family) -> Vec<SocketAddr> {
    let mut picked = Vec::new();
    for address in addresses {
        let fits = match family {
            Family::Any => true,
            Family::Four => address.is_ipv4(),
            Family::Six => address.is_ipv6(),
        };
        if fits && !picked.contains(&address) {
            picked.push(address);
        }
    }
    picked
}

/// Why nothing comes back from an address. Another one of the same host may do.
#[derive(Debug)]
pub struct Unreachable(pub String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// Does `attempt` to one address after the other, until one of them can be reached.
pub fn first_reachable<T>(
    addresses: &[SocketAddr],
    stop: &AtomicBool,
    mut attempt: impl FnMut(SocketAddr) -> Result<T>,
) -> Result<T> {
    let mut left = addresses.iter().copied().peekable();
    while let Some(address) = left.next() {
        match (attempt(address), left.peek()) {
            (Err(error), Some(next))
                if error.is::<Unreachable>() && !stop.load(Ordering::Relaxed) =>
            {
                let next = shown(*next);
                say(format_args!(
                    "warning: {error:#}; now its address {next} is tried"
                ));
            }
            (outcome, _) => return outcome,
        }
    }
    bail!("there is no address")
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
    fn the_addresses_of_the_family_are_taken_in_their_order_and_once() {
        let [six, four] =
            ["[2001:db8::1]:0", "192.0.2.1:0"].map(|text| text.parse().expect("an address"));
        let picked = |family| pick([six, four, six].into_iter(), family);
        assert_eq!(picked(Family::Any), [six, four]);
        assert_eq!(picked(Family::Six), [six]);
        assert_eq!(picked(Family::Four), [four]);
        assert_eq!(pick([six].into_iter(), Family::Four), []);
    }

    #[test]
    fn an_address_that_cannot_be_reached_gives_way_to_the_next() {
        let addresses = ["[2001:db8::1]:0", "192.0.2.1:0", "192.0.2.2:0"]
            .map(|text| text.parse().expect("an address"));
        let run = |stopped, reachable: usize| {
            let mut tried = Vec::new();
            let outcome = first_reachable(&addresses, &AtomicBool::new(stopped), |address| {
                tried.push(address);
                match address == addresses[reachable] {
                    true => Ok(address),
                    false => Err(Unreachable(format!("{address} is silent")).into()),
                }
            });
            (outcome.map_err(|error| error.to_string()), tried.len())
        };
        assert_eq!(run(false, 0), (Ok(addresses[0]), 1));
        assert_eq!(run(false, 2), (Ok(addresses[2]), 3));
        let silent = "[2001:db8::1]:0 is silent".to_owned();
        assert_eq!(run(true, 2), (Err(silent), 1));
        // What is wrong with more than the address is said at once.
        let refused = first_reachable(&addresses, &AtomicBool::new(false), |_| -> Result<()> {
            bail!("no permission")
        });
        assert_eq!(refused.expect_err("refused").to_string(), "no permission");
    }

    /// Every machine has this interface.
    #[test]
    fn an_address_of_a_link_keeps_its_scope() {
        let addresses = resolve("fe80::1%lo", Family::Any).expect("an address");
        let [address @ SocketAddr::V6(six)] = addresses[..] else {
            panic!("{addresses:?} is not one of IPv6");
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
