//! From the name of a server to a connection. A name may have several addresses, and the server may
//! listen on one of them alone.

use anyhow::{Context, Result, anyhow, bail, ensure};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;
use tokio_quiche::{ClientH3Controller, QuicConnection};

/// While there are other addresses, one has so long to answer: the first packet is sent again after
/// a second, and that is answered on a path that loses some.
const ANOTHER_IS_LEFT: Duration = Duration::from_secs(3);

/// The addresses of a host as a URL has it, the one to try first in front. There is one at least.
///
/// # Errors
/// There is none.
pub fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let found = (host.trim_matches(['[', ']']), port).to_socket_addrs();
    let mut addresses = Vec::new();
    for address in found.with_context(|| format!("{host} is not known"))? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    ensure!(!addresses.is_empty(), "{host} has no address");
    Ok(addresses)
}

/// A connection to the first of these addresses where `host` answers. The last one has `patience`.
///
/// # Errors
/// Says of each why it is none.
pub async fn connect(
    addresses: &[SocketAddr],
    host: &str,
    patience: Duration,
) -> Result<(QuicConnection, ClientH3Controller)> {
    let mut reasons = Vec::new();
    for (index, address) in addresses.iter().enumerate() {
        let is_last = index + 1 == addresses.len();
        let patience = if is_last {
            patience
        } else {
            patience.min(ANOTHER_IS_LEFT)
        };
        match connect_to(*address, host, patience).await {
            Ok(connected) => return Ok(connected),
            Err(error) => reasons.push(format!("{error:#}")),
        }
    }
    bail!(reasons.join("; "))
}

async fn connect_to(
    address: SocketAddr,
    host: &str,
    patience: Duration,
) -> Result<(QuicConnection, ClientH3Controller)> {
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 16], 0).into(),
    };
    let no_way = || format!("no way to {address}");
    let socket = UdpSocket::bind(any).await.with_context(no_way)?;
    socket.connect(address).await.with_context(no_way)?;
    let connecting = tokio_quiche::quic::connect(socket, Some(host));
    let seconds = patience.as_secs_f64();
    let connected = timeout(patience, connecting).await.map_err(|_| {
        anyhow!(
            "{address} does not answer for {seconds:.1} s; is the server running, and is its UDP \
             port open?"
        )
    })?;
    connected.map_err(|error| anyhow!("no connection to {address}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Server};
    use clap::Parser;

    /// Where nobody listens.
    fn abandoned() -> SocketAddr {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.local_addr().expect("it has one")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_address_where_nobody_answers_gives_way_to_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_str().expect("text");
        let tls = folder.path().join(".tls");
        let tls = tls.to_str().expect("text");
        let line = ["imtcp-serve", "--root", root, "--tls-dir", tls];
        let options = Options::parse_from(line.iter().chain(&["--listen", "127.0.0.1:0"]));
        let server = Server::start(&options).await.expect("started");
        let addresses = [abandoned(), server.address];
        let connected = connect(&addresses, "localhost", Duration::from_secs(60)).await;
        connected.expect("the second one answers");
        server.stop().await;

        let addresses = [abandoned(), abandoned()];
        let nobody = connect(&addresses, "localhost", Duration::from_millis(300)).await;
        let said = nobody.err().expect("nobody is there").to_string();
        for address in addresses {
            let reason = format!("{address} does not answer");
            assert!(said.contains(&reason), "{said}");
        }
    }
}
