//! A client that fetches one file over HTTP/3, and lets the server decide how it acknowledges.
//!
//! quiche acknowledges what is due when it is next asked for a packet. So it is asked after each
//! datagram: a packet whose acknowledgement may not wait has one of its own, and without a request
//! every packet has. The times of arrival are the kernel's.

mod arrivals;
mod download;
mod options;
mod reach;
#[cfg(test)]
mod scripted;

pub use options::Options;

use crate::alarm::Alarm;
use crate::session::{Flushed, Session};
use crate::socket::Socket;
use crate::tls;
use crate::transport::{self, BATCH, RECEIVE_BUFFER};
use anyhow::{Error, Result, anyhow, bail};
use download::Download;
use options::Target;
use reach::Unreachable;
use serde::Serialize;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// H3_NO_ERROR and H3_REQUEST_CANCELLED (RFC 9114, section 8.1).
const NO_ERROR: u64 = 0x100;
const CANCELLED: u64 = 0x10c;

/// A file that has arrived.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Fetched {
    /// Bytes of the body.
    pub bytes: u64,
    /// From the request to the last byte.
    pub seconds: f64,
    /// The body's bits per second over that time.
    pub goodput_bps: f64,
    /// Datagrams received.
    pub datagrams: u64,
    /// Datagrams sent: acknowledgements, nearly all.
    pub sent_datagrams: u64,
}

impl fmt::Display for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bytes,
            seconds,
            goodput_bps,
            ..
        } = self;
        let mbps = goodput_bps / 1e6;
        write!(f, "{bytes} bytes in {seconds:.3} s: {mbps:.3} Mbit/s")
    }
}

/// Fetches a file; `shutdown` ends it early. The addresses of a host are tried one after the other.
///
/// # Errors
/// Names what is missing: the host, the connection, the certificate's validity, the file, or its
/// last bytes.
///
/// # Panics
/// Outside a tokio runtime.
pub async fn fetch(options: &Options, shutdown: impl Future<Output = ()>) -> Result<Fetched> {
    let target = options.target()?;
    tokio::pin!(shutdown);
    let peers = tokio::select! {
        biased;
        () = &mut shutdown => Err(interrupted()),
        peers = target.resolve() => peers,
    }?;
    fetch_from_any(&peers, options, &target, &mut shutdown).await
}

/// Fetches it from the first of these addresses that answers.
async fn fetch_from_any(
    peers: &[SocketAddr],
    options: &Options,
    target: &Target,
    shutdown: &mut (impl Future<Output = ()> + Unpin),
) -> Result<Fetched> {
    let mut tried = Vec::new();
    for (index, peer) in peers.iter().enumerate() {
        let patience = reach::patience(peers.len() - index);
        let attempt = fetch_from(*peer, patience, options, target, shutdown).await;
        match attempt.map_err(Error::downcast::<Unreachable>) {
            Ok(fetched) => return Ok(fetched),
            Err(Ok(reason)) => tried.push(reason),
            Err(Err(error)) => return Err(error),
        }
    }
    Err(reach::in_vain(tried))
}

/// Fetches it from one address. [`Unreachable`] if nobody there can be talked to.
async fn fetch_from(
    peer: SocketAddr,
    patience: Duration,
    options: &Options,
    target: &Target,
    shutdown: &mut (impl Future<Output = ()> + Unpin),
) -> Result<Fetched> {
    let download = Download::new(target, options)?;
    let mut fetch = Fetch::connect(options, target, peer, download)?;
    let outcome = tokio::select! {
        biased;
        () = shutdown => Err(interrupted()),
        outcome = fetch.run(patience) => outcome,
    };
    fetch.close(outcome.is_ok()).await;
    outcome?;
    fetch.finish()
}

fn interrupted() -> Error {
    anyhow!("interrupted; the file is not complete")
}

struct Fetch {
    socket: Socket,
    peer: SocketAddr,
    session: Session,
    download: Download,
    datagrams: u64,
}

impl Fetch {
    fn connect(
        options: &Options,
        target: &Target,
        peer: SocketAddr,
        download: Download,
    ) -> Result<Self> {
        let socket = socket_towards(peer).map_err(|error| Unreachable::told(peer, &error))?;
        let tls = tls::client(options.ca.as_deref())?;
        let mut config = transport::client(tls, !options.insecure, options.offers())?;
        let id = transport::connection_id()?;
        let mut connection =
            quiche::connect(target.name(), &id, socket.local(), peer, &mut config)?;
        if let Some(address) = target.address() {
            tls::demand_address(&mut connection, address)?;
        }
        Ok(Self {
            socket,
            peer,
            session: Session::new(connection, false),
            download,
            datagrams: 0,
        })
    }

    async fn run(&mut self, patience: Duration) -> Result<()> {
        let alarm = Alarm::new()?;
        let mut buffer = vec![0; RECEIVE_BUFFER];
        let give_up = Instant::now() + patience;
        loop {
            let mut flushed = self.receive(&mut buffer).await?;
            self.session.wake(Instant::now());
            self.advance()?;
            if !self.session.connection.is_established() && Instant::now() >= give_up {
                bail!(Unreachable::silent(self.peer, patience));
            }
            if self.download.is_complete() {
                return Ok(());
            }
            if flushed == Flushed::Everything {
                flushed = self.flush().await?;
            }
            let next = match flushed {
                Flushed::ABatch => Instant::now(),
                Flushed::Everything => self.wake_at(give_up),
            };
            tokio::select! {
                biased;
                readable = self.socket.readable() => readable?,
                woken = alarm.wait_until(next) => woken?,
            }
        }
    }

    /// Takes what has come of the file. It is whole even if the server closed the connection right
    /// behind it, so there is no look at the connection before.
    fn advance(&mut self) -> Result<()> {
        self.download.advance(&mut self.session.connection)?;
        self.download.stop_if_due(Instant::now());
        if self.download.is_complete() {
            return Ok(());
        }
        self.check()
    }

    fn wake_at(&self, give_up: Instant) -> Instant {
        let connecting = !self.session.connection.is_established();
        let patience = connecting.then_some(give_up);
        let times = self.session.wake_at().into_iter().chain(patience);
        let times = times.chain(self.download.ends_at());
        // A connection without a timer has ended, which is looked into at once.
        times.min().unwrap_or_else(Instant::now)
    }

    /// Takes what has arrived, and acknowledges each datagram before it looks at the next.
    async fn receive(&mut self, buffer: &mut [u8]) -> Result<Flushed> {
        let local = self.socket.local();
        for _ in 0..BATCH {
            let received = match self.socket.try_receive(buffer) {
                Ok(Some(received)) => received,
                Ok(None) => return Ok(Flushed::Everything),
                Err(error) => {
                    self.on_refusal(&error)?;
                    continue;
                }
            };
            self.datagrams += 1;
            self.session
                .receive(&mut buffer[..received.length], &received, local);
            if self.flush().await? == Flushed::ABatch {
                break;
            }
        }
        Ok(Flushed::ABatch)
    }

    async fn flush(&mut self) -> Result<Flushed> {
        match self.session.flush(&self.socket).await {
            Ok(flushed) => Ok(flushed),
            Err(error) => self.on_refusal(&error).map(|()| Flushed::ABatch),
        }
    }

    /// An error before the handshake is done means that the address is no good. After it, one that
    /// tells of a lost datagram is passed over.
    fn on_refusal(&self, error: &io::Error) -> Result<()> {
        if !self.session.connection.is_established() {
            bail!(Unreachable::told(self.peer, error));
        }
        if !reach::is_loss(error) {
            bail!("the way to {} is closed: {error}", self.peer);
        }
        Ok(())
    }

    /// Says why there will be no file, once it is certain.
    fn check(&self) -> Result<()> {
        let connection = &self.session.connection;
        if let Some(error) = connection.local_error() {
            bail!("{}", describe(error, "this side closed the connection"));
        }
        if let Some(error) = connection.peer_error() {
            bail!("{}", describe(error, "the server closed the connection"));
        }
        if connection.is_timed_out() {
            bail!("the server has fallen silent");
        }
        if connection.is_closed() || connection.is_draining() {
            bail!("the connection was closed before the file was complete");
        }
        Ok(())
    }

    /// Tells the server, as far as there is one to tell.
    async fn close(&mut self, complete: bool) {
        let code = if complete { NO_ERROR } else { CANCELLED };
        // Errors mean that it is closed already, or that it cannot be reached.
        let _ = self.session.connection.close(true, code, b"");
        let _ = self.flush().await;
    }

    fn finish(self) -> Result<Fetched> {
        let (bytes, span) = self.download.finish()?;
        let seconds = span.as_secs_f64();
        Ok(Fetched {
            bytes,
            seconds,
            goodput_bps: bytes as f64 * 8.0 / seconds.max(1e-9),
            datagrams: self.datagrams,
            sent_datagrams: self.session.connection.stats().sent as u64,
        })
    }
}

/// A socket for datagrams to this address, and from there.
fn socket_towards(peer: SocketAddr) -> io::Result<Socket> {
    let mut socket = Socket::bind(any_address(peer))?;
    socket.send_whole()?;
    socket.connect(peer)?;
    Ok(socket)
}

/// The wildcard address of the other one's family.
fn any_address(peer: SocketAddr) -> SocketAddr {
    let wildcard = match peer.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(wildcard, 0)
}

/// TLS alerts are the errors from 0x100 on of the transport (RFC 9001, section 4.8).
fn describe(error: &quiche::ConnectionError, what: &str) -> String {
    const ALERTS: std::ops::Range<u64> = 0x100..0x200;
    let reason = String::from_utf8_lossy(&error.reason);
    let hint = if !error.is_app && ALERTS.contains(&error.error_code) {
        "; a TLS alert: for a self-signed certificate there are --ca and --insecure"
    } else {
        ""
    };
    format!("{what}: error {:#x} {reason}{hint}", error.error_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::carry;
    use crate::serve::{self, Server};
    use clap::Parser;
    use scripted::Scripted;
    use std::future::pending;

    /// A client that has heard all from a server, and then that the server closed the connection.
    fn closed_upon(scripted: Scripted) -> Fetch {
        let Scripted {
            mut pair, download, ..
        } = scripted;
        carry(&mut pair.server, &mut pair.client);
        let closed = pair.server.close(true, NO_ERROR, b"the server ends");
        closed.expect("it is open");
        carry(&mut pair.server, &mut pair.client);
        assert!(pair.client.is_draining());
        Fetch {
            socket: Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port"),
            peer: (Ipv4Addr::LOCALHOST, 4433).into(),
            session: Session::new(pair.client, false),
            download,
            datagrams: 0,
        }
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[derive(Parser)]
    struct ServeLine {
        #[command(flatten)]
        options: serve::Options,
    }

    /// Where nobody listens.
    fn abandoned() -> SocketAddr {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.local_addr().expect("it has one")
    }

    #[tokio::test]
    async fn an_address_where_nobody_answers_gives_way_to_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("file"), "all of it").expect("a file");
        let root = folder.path().to_str().expect("a readable path");
        let line = ["serve", "--listen", "127.0.0.1:0", "--root", root];
        let server = Server::bind(&ServeLine::parse_from(line).options).expect("it can listen");
        let options = Line::parse_from(["fetch", "https://localhost/file", "--insecure"]).options;
        let target = options.target().expect("complete");
        let peers = [abandoned(), server.local(), abandoned()];
        let mut outcome = None;
        let fetching = async {
            let fetched = fetch_from_any(&peers, &options, &target, &mut pending()).await;
            outcome = Some(fetched);
        };
        server.run(fetching).await.expect("it ends well");
        let fetched = outcome
            .expect("it was asked")
            .expect("the second one has it");
        assert_eq!(fetched.bytes, 9);

        let peers = [abandoned(), abandoned()];
        let nobody = fetch_from_any(&peers, &options, &target, &mut pending()).await;
        let said = nobody.expect_err("nobody is there").to_string();
        for peer in peers {
            let reason = format!("nobody listens at {peer} (UDP)");
            assert!(said.contains(&reason), "{said}");
        }
    }

    #[tokio::test]
    async fn a_file_is_whole_though_the_server_closes_right_behind_it() {
        let mut scripted = Scripted::asked();
        scripted.answer();
        let mut fetch = closed_upon(scripted);
        fetch.advance().expect("all of it has come");
        let fetched = fetch.finish().expect("it is complete");
        assert_eq!(fetched.bytes, scripted::BODY.len() as u64);

        let mut fetch = closed_upon(Scripted::asked());
        let error = fetch.advance().expect_err("nothing has come");
        let error = error.to_string();
        assert!(error.contains("the server ends"), "{error}");
    }
}
