//! What the command line of the client can say.

use crate::transport::Offers;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use url::{Host, Url};

/// HTTP/3 shares HTTPS's port (RFC 9114, section 3.1).
const DEFAULT_PORT: u16 = 443;

/// What to fetch, and how.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What to fetch: `https://HOST[:PORT]/PATH`
    #[arg(value_name = "URL")]
    pub url: Url,

    /// Where to put it; without it the bytes are counted and dropped.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Trust these issuers, in PEM, instead of the system's.
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// Do not verify the server's certificate: anybody could answer in its place.
    #[arg(long)]
    pub insecure: bool,

    /// Acknowledge each packet at once, whatever the server would ask for.
    #[arg(long)]
    pub no_ack_frequency: bool,

    /// Do not tell the server when packets arrived.
    #[arg(long)]
    pub no_receive_timestamps: bool,

    /// Stop so many seconds after the request; what is there by then is the result.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: Option<u32>,

    /// Write how many bytes were there when into this CSV file.
    #[arg(long, value_name = "FILE")]
    pub arrivals: Option<PathBuf>,
}

impl Options {
    pub(super) fn offers(&self) -> Offers {
        Offers {
            ack_frequency: !self.no_ack_frequency,
            receive_timestamps: !self.no_receive_timestamps,
        }
    }

    pub(super) fn target(&self) -> Result<Target> {
        let url = &self.url;
        ensure!(
            url.scheme() == "https",
            "cannot fetch {url}: HTTP/3 needs an address that begins with https://"
        );
        let host = url.host().context("the URL names no host")?.to_owned();
        let mut path = url.path().to_owned();
        if let Some(query) = url.query() {
            path = format!("{path}?{query}");
        }
        Ok(Target {
            host,
            port: url.port().unwrap_or(DEFAULT_PORT),
            path,
        })
    }
}

/// A URL in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    host: Host<String>,
    port: u16,
    pub(super) path: String,
}

impl Target {
    /// Host and port as HTTP's `:authority` has them.
    pub(super) fn authority(&self) -> String {
        match self.port {
            DEFAULT_PORT => self.host.to_string(),
            port => format!("{}:{port}", self.host),
        }
    }

    /// The host's name, if it is known by one.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Domain(name) => Some(name),
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }

    /// The host's address, if it is known by that.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// The addresses of the host, the one to try first in front. There is one at least.
    pub(super) async fn resolve(&self) -> Result<Vec<SocketAddr>> {
        let Some(name) = self.name() else {
            let address = self.address().context("the URL names no host")?;
            return Ok(vec![SocketAddr::new(address, self.port)]);
        };
        let found = tokio::net::lookup_host((name, self.port))
            .await
            .with_context(|| format!("cannot find the host {name}"))?;
        let mut addresses = Vec::new();
        for address in found {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        ensure!(!addresses.is_empty(), "the host {name} has no address");
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Result<Target> {
        Options {
            url: Url::parse(url).expect("a URL"),
            output: None,
            ca: None,
            insecure: false,
            no_ack_frequency: false,
            no_receive_timestamps: false,
            seconds: None,
            arrivals: None,
        }
        .target()
    }

    #[test]
    fn a_url_is_taken_apart() {
        let named = target("https://example.org/a%20b?c=d").expect("complete");
        assert_eq!(named.authority(), "example.org");
        assert_eq!(named.path, "/a%20b?c=d");
        assert_eq!((named.name(), named.address()), (Some("example.org"), None));
        let numbered = target("https://[::1]:4433/").expect("complete");
        assert_eq!(numbered.authority(), "[::1]:4433");
        assert_eq!(numbered.name(), None);
        assert_eq!(numbered.address(), "::1".parse().ok());
    }

    #[test]
    fn other_schemes_are_refused_by_name() {
        let error = target("http://example.org/").expect_err("not https");
        assert!(error.to_string().contains("https://"), "{error}");
    }
}
