//! The client: one connection after the other, each with the requests that the case gives it.

use crate::case::Case;
use crate::downloads::Downloads;
use crate::environment::Environment;
use crate::logs::Logs;
use crate::session::{self, Flushed};
use crate::socket::Socket;
use crate::transport::BATCH;
use crate::{hq, http, tls, transport};
use anyhow::{Context, Result, anyhow, bail, ensure};
use imtcp_examples::alarm::Alarm;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};
use url::Url;

/// How long a client waits for a ticket that continues its session.
const TICKET_PATIENCE: Duration = Duration::from_secs(5);

/// So much has come before the client updates its keys: both phases carry data.
const BEFORE_KEY_UPDATE: u64 = 200_000;

/// A client that waits for data and has nothing to acknowledge says that it is there after so long.
/// Behind an address translation that has forgotten its port, nothing reaches it before it speaks.
const SILENCE: Duration = Duration::from_secs(1);

/// `H3_NO_ERROR`.
const HTTP3_NO_ERROR: u64 = 0x100;

/// Fetches all that is asked for; `shutdown` ends it early.
///
/// # Errors
/// Names the connection's end, or the file that does not come.
pub async fn run(
    environment: &Environment,
    case: Case,
    shutdown: impl Future<Output = ()>,
) -> Result<()> {
    ensure!(!environment.requests.is_empty(), "REQUESTS is empty");
    let logs = Logs::open(environment)?;
    let tls = tls::client(case)?;
    let mut config = transport::client(tls, case, environment.parameters, logs.has_keys())?;
    tokio::pin!(shutdown);
    let mut ticket: Option<Vec<u8>> = None;
    for urls in connections(case, &environment.requests) {
        let mut connection = Fetch::connect(environment, case, urls, &mut config, &logs)
            .await
            .with_context(|| format!("cannot connect for {}", urls[0]))?;
        if let Some(ticket) = &ticket {
            connection.connection.set_session(ticket)?;
        }
        let outcome = tokio::select! {
            biased;
            () = &mut shutdown => Err(anyhow!("interrupted; not all files are there")),
            outcome = connection.run() => outcome,
        };
        connection.close().await;
        outcome?;
        ticket = connection.connection.session().map(<[u8]>::to_vec);
    }
    Ok(())
}

/// The requests of each connection.
fn connections(case: Case, requests: &[Url]) -> Vec<&[Url]> {
    match case {
        Case::Resumption | Case::ZeroRtt if requests.len() > 1 => {
            let (first, second) = requests.split_at(1);
            vec![first, second]
        }
        Case::MultiConnect => requests.chunks(1).collect(),
        _ => vec![requests],
    }
}

enum Requests {
    Hq(Box<hq::Requests>),
    Http3(Box<http::Requests>),
}

impl Requests {
    fn advance(&mut self, connection: &mut quiche::Connection) -> Result<()> {
        match self {
            Self::Hq(requests) => requests.advance(connection),
            Self::Http3(requests) => requests.advance(connection),
        }
    }

    fn downloads(&self) -> &Downloads {
        match self {
            Self::Hq(requests) => &requests.downloads,
            Self::Http3(requests) => &requests.downloads,
        }
    }
}

struct Fetch {
    socket: Socket,
    connection: quiche::Connection,
    requests: Requests,
    case: Case,
    /// Until when a ticket is waited for, once the files are there.
    ticket_by: Option<Instant>,
    has_updated_keys: bool,
    /// When something came last, or this side broke the silence.
    spoke_at: Instant,
}

impl Fetch {
    async fn connect(
        environment: &Environment,
        case: Case,
        urls: &[Url],
        config: &mut quiche::Config,
        logs: &Logs,
    ) -> Result<Self> {
        let peer = resolve(&urls[0]).await?;
        let any: SocketAddr = match peer {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        // Connected for a moment, to learn which address the system takes for this way.
        let probe = std::net::UdpSocket::bind(any)?;
        probe.connect(peer)?;
        let socket = Socket::bind(SocketAddr::new(probe.local_addr()?.ip(), 0))?;
        let id = transport::connection_id()?;
        let name = urls[0].domain();
        let mut connection = quiche::connect(name, &id, socket.local(), peer, config)?;
        logs.attach(&mut connection)?;
        let folder = environment.downloads();
        let requests = match case == Case::Http3 || environment.parameters.http3 {
            true => Requests::Http3(Box::new(http::Requests::new(urls, &folder))),
            false => Requests::Hq(Box::new(hq::Requests::new(urls, &folder))),
        };
        Ok(Self {
            socket,
            connection,
            requests,
            case,
            ticket_by: None,
            has_updated_keys: false,
            spoke_at: Instant::now(),
        })
    }

    async fn run(&mut self) -> Result<()> {
        let alarm = Alarm::new()?;
        // In 0-RTT the first packet has to be built before there is early data.
        let mut flushed = self.flush().await?;
        loop {
            if self.receive().await? == Flushed::ABatch {
                flushed = Flushed::ABatch;
            }
            session::wake(&mut self.connection, Instant::now());
            self.break_silence();
            // What has come is taken first: the server may close right behind the last bytes.
            if self.advance()? {
                return Ok(());
            }
            self.check()?;
            if flushed == Flushed::Everything {
                flushed = self.flush().await?;
            }
            let next = match flushed {
                Flushed::ABatch => Instant::now(),
                Flushed::Everything => self.wake_at(),
            };
            flushed = Flushed::Everything;
            tokio::select! {
                biased;
                readable = self.socket.readable() => readable?,
                woken = alarm.wait_until(next) => woken?,
            }
        }
    }

    /// True if all is done.
    fn advance(&mut self) -> Result<bool> {
        if !self.connection.is_established() && !self.connection.is_in_early_data() {
            return Ok(false);
        }
        self.requests.advance(&mut self.connection)?;
        transport::offer_identifiers(&mut self.connection)?;
        self.update_keys();
        if !self.requests.downloads().are_done() {
            return Ok(false);
        }
        if !matches!(self.case, Case::Resumption | Case::ZeroRtt) {
            return Ok(true);
        }
        let by = *self
            .ticket_by
            .get_or_insert_with(|| Instant::now() + TICKET_PATIENCE);
        Ok(self.connection.session().is_some() || Instant::now() >= by)
    }

    fn break_silence(&mut self) {
        let now = Instant::now();
        if self.connection.is_established() && now >= self.spoke_at + SILENCE {
            self.spoke_at = now;
            // An error means that it is ending, which shows elsewhere.
            let _ = self.connection.send_ack_eliciting();
        }
    }

    /// Once, in the middle of the transfer.
    fn update_keys(&mut self) {
        if self.case == Case::KeyUpdate
            && !self.has_updated_keys
            && self.connection.stats().recv_bytes > BEFORE_KEY_UPDATE
        {
            // Too early means that a later turn tries again.
            self.has_updated_keys = self.connection.update_keys().is_ok();
        }
    }

    fn wake_at(&self) -> Instant {
        let times = [
            self.connection.timeout_instant(),
            self.ticket_by,
            self.requests.downloads().next_burst(),
            self.connection
                .is_established()
                .then(|| self.spoke_at + SILENCE),
        ];
        // A connection without a timer has ended, which is looked into at once.
        let next = times.into_iter().flatten().min();
        next.unwrap_or_else(Instant::now)
    }

    /// Takes what has arrived, and acknowledges each datagram before it looks at the next.
    async fn receive(&mut self) -> Result<Flushed> {
        for _ in 0..BATCH {
            let connection = &mut self.connection;
            let has_some = self
                .socket
                .try_receive(|datagram| session::receive(connection, datagram));
            if !has_some.context("cannot receive")? {
                return Ok(Flushed::Everything);
            }
            self.spoke_at = Instant::now();
            if self.flush().await? == Flushed::ABatch {
                break;
            }
        }
        Ok(Flushed::ABatch)
    }

    async fn flush(&mut self) -> Result<Flushed> {
        Ok(session::flush(&mut self.connection, &self.socket).await?)
    }

    /// Says why there will be no file, once it is certain.
    fn check(&self) -> Result<()> {
        let connection = &self.connection;
        let errors = [
            ("the server", connection.peer_error()),
            ("we", connection.local_error()),
        ];
        for (who, error) in errors {
            if let Some(error) = error {
                let reason = String::from_utf8_lossy(&error.reason);
                bail!(
                    "{who} closed the connection: error {:#x} {reason}",
                    error.error_code
                );
            }
        }
        ensure!(!connection.is_timed_out(), "the server has fallen silent");
        ensure!(
            !connection.is_closed() && !connection.is_draining(),
            "the connection ended before all files were there"
        );
        Ok(())
    }

    /// Tells the server, as far as there is one to tell.
    async fn close(&mut self) {
        let code = match self.requests {
            Requests::Hq(_) => 0,
            Requests::Http3(_) => HTTP3_NO_ERROR,
        };
        // Errors mean that it is closed already, or that it cannot be reached.
        let _ = self.connection.close(true, code, b"");
        let _ = self.flush().await;
    }
}

async fn resolve(url: &Url) -> Result<SocketAddr> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or(443);
    let mut found = tokio::net::lookup_host((host, port))
        .await
        .with_context(|| format!("cannot find {host}"))?;
    found
        .next()
        .with_context(|| format!("{host} has no address"))
}
