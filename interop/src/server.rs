//! The server: any number of connections, over IPv4 and IPv6.

use crate::case::Case;
use crate::connection::Client;
use crate::environment::Environment;
use crate::logs::Logs;
use crate::session;
use crate::socket::Socket;
use crate::stranger::Stranger;
use crate::tls;
use crate::token::{Peer, Tokens};
use crate::transport::{self, BATCH, CONNECTION_ID, DATAGRAM};
use anyhow::{Context, Result};
use imtcp_examples::alarm::Alarm;
use imtcp_examples::serve::files::Root;
use quiche::ConnectionId;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// The largest number of connections at a time.
const MOST_CLIENTS: usize = 1000;

/// A datagram that opens a connection is at least so long (RFC 9000, section 14.1).
const LEAST_INITIAL: usize = 1200;

/// The token of an Initial packet is of no worth (RFC 9000, section 20.1).
const INVALID_TOKEN: u64 = 0x0b;

/// Without connections there is nothing to wake up for.
const IDLE: Duration = Duration::from_secs(3600);

/// Serves until `shutdown` is done, then closes all connections and completes their logs.
///
/// # Errors
/// A file or a folder is missing, the port is taken, or the system fails.
pub async fn run(
    environment: &Environment,
    case: Case,
    shutdown: impl Future<Output = ()>,
) -> Result<()> {
    let mut server = Server::open(environment, case)?;
    tokio::pin!(shutdown);
    let alarm = Alarm::new()?;
    loop {
        let next = server.turn().await?;
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            readable = readable(&server.sockets) => readable?,
            woken = alarm.wait_until(next) => woken?,
        }
    }
    server.say_farewell().await;
    Ok(())
}

/// Waits for a datagram on any of them.
async fn readable(sockets: &[Socket]) -> std::io::Result<()> {
    match sockets {
        [one, other, ..] => tokio::select! {
            readable = one.readable() => readable,
            readable = other.readable() => readable,
        },
        [one] => one.readable().await,
        [] => std::future::pending().await,
    }
}

struct Server {
    sockets: Vec<Socket>,
    config: quiche::Config,
    http: quiche::h3::Config,
    root: Root,
    logs: Logs,
    /// Where the case asks for addresses to be confirmed.
    tokens: Option<Tokens>,
    clients: BTreeMap<u64, Client>,
    routes: HashMap<ConnectionId<'static>, u64>,
    /// Connections so far.
    count: u64,
    /// Answers that belong to no connection.
    answers: VecDeque<(usize, Vec<u8>, quiche::SendInfo)>,
}

impl Server {
    fn open(environment: &Environment, case: Case) -> Result<Self> {
        let logs = Logs::open(environment)?;
        let root = Root::open(&environment.www())?;
        let tls = tls::server(environment, case)?;
        let any = [
            IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        ];
        let mut sockets = Vec::new();
        for address in any {
            match Socket::bind(SocketAddr::new(address, environment.port)) {
                Ok(socket) => sockets.push(socket),
                // A machine may have no IPv6.
                Err(error) if !sockets.is_empty() => eprintln!("{error:#}"),
                Err(error) => return Err(error),
            }
        }
        eprintln!("listening on port {}", environment.port);
        let tokens = (case == Case::Retry).then(|| Tokens::new(Instant::now()));
        let tokens = tokens.transpose()?;
        Ok(Self {
            sockets,
            config: transport::server(tls, case, environment.parameters, logs.has_keys())?,
            http: quiche::h3::Config::new()?,
            root,
            logs,
            tokens,
            clients: BTreeMap::new(),
            routes: HashMap::new(),
            count: 0,
            answers: VecDeque::new(),
        })
    }

    /// Takes what has arrived, and lets every connection act that has something to do. Returns when
    /// there is more.
    async fn turn(&mut self) -> Result<Instant> {
        for index in 0..self.sockets.len() {
            self.receive(index)?;
        }
        while let Some((index, bytes, info)) = self.answers.pop_front() {
            self.sockets[index]
                .send(&bytes, &info, quiche::ecn::Mark::NotEct)
                .await?;
        }
        let mut next = Instant::now() + IDLE;
        for (number, client) in &mut self.clients {
            let woken = session::wake(&mut client.connection, Instant::now());
            if woken || client.has_work {
                let socket = &self.sockets[client.socket];
                client.has_work = client.work(socket, &self.http, &self.root).await?;
                for id in transport::offer_identifiers(&mut client.connection)? {
                    self.routes.insert(id, *number);
                    client.has_work = true;
                }
                while let Some(id) = client.connection.retired_scid_next() {
                    self.routes.remove(&id);
                }
            }
            if client.has_work {
                next = Instant::now();
            } else if let Some(wake) = client.connection.timeout_instant() {
                next = next.min(wake);
            }
        }
        self.forget_closed();
        Ok(next)
    }

    /// Their qlogs are complete then.
    fn forget_closed(&mut self) {
        let clients = &mut self.clients;
        let before = clients.len();
        clients.retain(|_, client| !client.connection.is_closed());
        if clients.len() < before {
            self.routes.retain(|_, number| clients.contains_key(number));
        }
    }

    fn receive(&mut self, index: usize) -> Result<()> {
        for _ in 0..BATCH {
            let Self {
                sockets, clients, ..
            } = self;
            let mut strangers = Vec::new();
            let routes = &self.routes;
            let has_some = sockets[index].try_receive(|datagram| {
                let id = quiche::Header::from_slice(datagram.bytes, CONNECTION_ID);
                let number = id.ok().and_then(|header| routes.get(&header.dcid));
                match number.and_then(|number| clients.get_mut(number)) {
                    Some(client) => client.receive(datagram),
                    None => strangers.push(Stranger::new(&datagram)),
                }
            });
            for stranger in strangers {
                self.on_stranger(index, stranger);
            }
            if !has_some.context("cannot receive")? {
                break;
            }
        }
        Ok(())
    }

    fn on_stranger(&mut self, index: usize, mut stranger: Stranger) {
        // Two datagrams of one client may have been read together.
        let header = quiche::Header::from_slice(&mut stranger.bytes, CONNECTION_ID);
        let Ok(header) = header else { return };
        let known = self.routes.get(&header.dcid).copied();
        let number = match known {
            Some(number) => Some(number),
            None => match self.admit(index, &stranger, &header) {
                Ok(number) => number,
                Err(error) => {
                    eprintln!("no connection for {}: {error:#}", stranger.from);
                    None
                }
            },
        };
        if let Some(client) = number.and_then(|number| self.clients.get_mut(&number)) {
            client.receive(stranger.datagram());
        }
    }

    /// The number of a new connection, or none where the answer is another one or silence.
    fn admit(
        &mut self,
        index: usize,
        stranger: &Stranger,
        header: &quiche::Header<'_>,
    ) -> Result<Option<u64>> {
        let is_long = header.ty != quiche::Type::Short;
        if !is_long || stranger.bytes.len() < LEAST_INITIAL {
            return Ok(None);
        }
        if !quiche::version_is_supported(header.version) {
            if header.ty != quiche::Type::VersionNegotiation {
                self.answer(index, stranger, |out| {
                    quiche::negotiate_version(&header.scid, &header.dcid, out)
                })?;
            }
            return Ok(None);
        }
        if header.ty != quiche::Type::Initial || self.clients.len() == MOST_CLIENTS {
            return Ok(None);
        }
        let Some(tokens) = &self.tokens else {
            return self.accept(index, stranger, header, None).map(Some);
        };
        let address = stranger.from.ip();
        let token = header.token.as_deref().unwrap_or_default();
        let ours = &*header.dcid;
        if let Some(original) = tokens.open(&Peer { address, ours }, token, Instant::now()) {
            return self
                .accept(index, stranger, header, Some(original))
                .map(Some);
        }
        if !token.is_empty() {
            self.refuse(index, stranger)?;
            return Ok(None);
        }
        let ours = transport::connection_id()?;
        let peer = Peer {
            address,
            ours: &ours,
        };
        let token = tokens.seal(&peer, &header.dcid, Instant::now())?;
        self.answer(index, stranger, |out| {
            quiche::retry(
                &header.scid,
                &header.dcid,
                &ours,
                &token,
                header.version,
                out,
            )
        })?;
        Ok(None)
    }

    /// Closes the connection that an Initial with a token of no worth would open, and forgets it.
    /// Tokens of this server come in Retry packets alone, and a client takes no second one of those
    /// (RFC 9000, section 8.1.2). So it would wait until it gives up.
    fn refuse(&mut self, index: usize, stranger: &Stranger) -> Result<()> {
        let ours = transport::connection_id()?;
        let (to, from) = (stranger.to, stranger.from);
        let mut connection = quiche::accept(&ours, None, to, from, &mut self.config)?;
        // The answer is encrypted by what this packet tells.
        let mut bytes = stranger.bytes.clone();
        connection.recv(&mut bytes, quiche::RecvInfo { from, to })?;
        connection.close(
            false,
            INVALID_TOKEN,
            b"the token is too old, or not this server's",
        )?;
        self.answer(index, stranger, |out| {
            connection.send(out).map(|(length, _)| length)
        })
    }

    fn answer(
        &mut self,
        index: usize,
        stranger: &Stranger,
        write: impl FnOnce(&mut [u8]) -> quiche::Result<usize>,
    ) -> Result<()> {
        let mut bytes = vec![0; DATAGRAM];
        let length = write(&mut bytes)?;
        bytes.truncate(length);
        let info = quiche::SendInfo {
            from: stranger.to,
            to: stranger.from,
            at: Instant::now(),
        };
        self.answers.push_back((index, bytes, info));
        Ok(())
    }

    fn accept(
        &mut self,
        index: usize,
        stranger: &Stranger,
        header: &quiche::Header<'_>,
        original: Option<ConnectionId<'static>>,
    ) -> Result<u64> {
        // After a Retry the client uses the identifier that it was given there.
        let ours = match &original {
            Some(_) => header.dcid.clone().into_owned(),
            None => transport::connection_id()?,
        };
        let (local, peer) = (stranger.to, stranger.from);
        let mut connection =
            quiche::accept(&ours, original.as_ref(), local, peer, &mut self.config)?;
        self.logs.attach(&mut connection)?;
        self.count += 1;
        self.routes.insert(ours, self.count);
        self.routes
            .insert(header.dcid.clone().into_owned(), self.count);
        self.clients
            .insert(self.count, Client::new(connection, index));
        Ok(self.count)
    }

    /// Dropping the connections completes their qlogs.
    async fn say_farewell(mut self) {
        for client in self.clients.values_mut() {
            client.say_farewell();
            // An error means that it cannot be reached.
            let socket = &self.sockets[client.socket];
            let _ = session::flush(&mut client.connection, socket).await;
        }
    }
}
