//! A server of files over HTTP/3, with any number of connections on one socket.
//!
//! One task does everything. At each turn it takes what has arrived, wakes the connections whose
//! time has come, sends what may leave, and only then fills up what was sent; then it sleeps until
//! the next datagram or the next time that a connection has named.

mod client;
pub mod files;
pub mod frames;
mod options;
mod qlog_file;
mod report;
pub mod responses;
mod routes;
mod undertaking;

pub use options::Options;
pub use report::Report;

use crate::acknowledgements::Acknowledgements;
use crate::alarm::Alarm;
use crate::controller::{Instruments, install};
use crate::estimates::EstimateLog;
use crate::output::say;
use crate::session::{Flushed, Session};
use crate::slots::SlotLog;
use crate::socket::{Received, Socket};
use crate::timing::ReleaseTiming;
use crate::tls;
use crate::transport::{self, BATCH, CONNECTION_ID, DATAGRAM, RECEIVE_BUFFER};
use anyhow::{Context, Result};
use client::Client;
use files::Root;
use frames::Frames;
use qlog_file::QlogFile;
use quiche::ConnectionId;
use routes::Routes;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use undertaking::Undertaking;

/// Connections at a time; who comes then is not answered.
const MOST_CLIENTS: usize = 1024;

/// The shortest datagram that may open a connection (RFC 9000, section 14.1).
const LEAST_INITIAL: usize = 1200;

/// How long closing connections may take to say so.
const FAREWELL: Duration = Duration::from_millis(200);

/// H3_NO_ERROR (RFC 9114, section 8.1).
const NO_ERROR: u64 = 0x100;

/// Waits this long when no connection has named a time.
const IDLE: Duration = Duration::from_secs(3600);

/// A server that listens.
pub struct Server {
    socket: Socket,
    config: quiche::Config,
    http: quiche::h3::Config,
    root: Root,
    qlog: Option<PathBuf>,
    paced_by_caller: bool,
    frames: Option<Frames>,
    /// What each connection begins with.
    undertaking: Option<Undertaking>,
    instruments: Instruments,
    routes: Routes,
    report: Report,
    buffer: Vec<u8>,
}

impl Server {
    /// Opens everything that `options` name and begins to listen.
    ///
    /// # Errors
    /// Names the option that cannot be met.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn bind(options: &Options) -> Result<Self> {
        let root = Root::open(&options.root)?;
        let identity = options.identity()?;
        if let Some(folder) = &options.qlog {
            fs::create_dir_all(folder).with_context(|| {
                format!("cannot make the folder of qlogs, {}", folder.display())
            })?;
        }
        let requirement = options.requirement()?;
        let slots = match requirement {
            Some(_) => Some(Arc::new(SlotLog::create(options.slots.as_deref())?)),
            None => None,
        };
        let undertaking = requirement.zip(slots.clone());
        let estimates = options.estimates.as_deref();
        let instruments = Instruments {
            estimates: estimates
                .map(EstimateLog::create)
                .transpose()?
                .map(Arc::new),
            slots,
            timing: Arc::new(Mutex::new(ReleaseTiming::default())),
            acknowledgements: Arc::new(Mutex::new(Acknowledgements::default())),
            detail: options.detail(),
        };
        let mut config = transport::server(tls::server(&identity)?)?;
        install(
            options.controller,
            options.link_header,
            instruments.clone(),
            &mut config,
        )?;
        let socket = Socket::bind(options.listen)
            .with_context(|| format!("cannot listen on {}", options.listen))?;
        let whole = socket.send_whole();
        whole.context("the kernel does not promise to leave datagrams whole")?;
        Ok(Self {
            socket,
            config,
            http: quiche::h3::Config::new()?,
            root,
            qlog: options.qlog.clone(),
            paced_by_caller: options.controller.is_paced_by_caller(),
            frames: options.frames,
            undertaking: undertaking.map(|(requirement, log)| Undertaking::new(requirement, log)),
            instruments,
            routes: Routes::default(),
            report: Report::default(),
            buffer: vec![0; RECEIVE_BUFFER],
        })
    }

    /// The address it listens on.
    pub fn local(&self) -> SocketAddr {
        self.socket.local()
    }

    /// Serves until `shutdown` is done, then closes all connections.
    ///
    /// # Errors
    /// The socket or a log fails. A connection that fails is only that connection's matter.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) -> Result<Report> {
        tokio::pin!(shutdown);
        let alarm = Alarm::new()?;
        loop {
            self.receive().await?;
            let next = self.serve().await;
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                readable = self.socket.readable() => readable?,
                woken = alarm.wait_until(next) => woken?,
            }
        }
        self.say_farewell(&alarm).await?;
        self.finish()
    }

    /// Takes what has arrived, each datagram as of its own time.
    async fn receive(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..BATCH {
            let received = self.socket.try_receive(&mut buffer);
            let Some(received) = received.context("cannot receive")? else {
                break;
            };
            let datagram = &mut buffer[..received.length];
            self.on_datagram(datagram, &received).await;
        }
        self.buffer = buffer;
        Ok(())
    }

    async fn on_datagram(&mut self, datagram: &mut [u8], received: &Received) {
        let Ok(header) = quiche::Header::from_slice(datagram, CONNECTION_ID) else {
            return;
        };
        if let Some(client) = self.routes.find(&header.dcid) {
            client
                .session
                .receive(datagram, received, self.socket.local());
            client.has_work = true;
            return;
        }
        if header.ty == quiche::Type::Short || datagram.len() < LEAST_INITIAL {
            return;
        }
        if !quiche::version_is_supported(header.version) {
            self.negotiate_version(&header, received.from).await;
            return;
        }
        if header.ty != quiche::Type::Initial || self.routes.len() == MOST_CLIENTS {
            return;
        }
        let asked = header.dcid.into_owned();
        if let Err(error) = self.accept(asked, datagram, received) {
            say(format_args!(
                "no connection for {}: {error:#}",
                received.from
            ));
        }
    }

    /// Tells a client which versions there are (RFC 9000, section 6.1).
    async fn negotiate_version(&self, header: &quiche::Header<'_>, to: SocketAddr) {
        // That is an answer itself.
        if header.ty == quiche::Type::VersionNegotiation {
            return;
        }
        let mut datagram = [0; DATAGRAM];
        let written = quiche::negotiate_version(&header.scid, &header.dcid, &mut datagram);
        if let Ok(length) = written {
            // Who does not hear it asks again.
            let _ = self.socket.send(&datagram[..length], to).await;
        }
    }

    /// Begins a connection with its first datagram, which is for the id that the client `asked`
    /// for.
    fn accept(
        &mut self,
        asked: ConnectionId<'static>,
        datagram: &mut [u8],
        received: &Received,
    ) -> Result<()> {
        let id = transport::connection_id()?;
        let local = self.socket.local();
        let mut connection = quiche::accept(&id, None, local, received.from, &mut self.config)?;
        let log = self.begin_log(&mut connection, received.from)?;
        let mut session = Session::new(connection, self.paced_by_caller);
        session.receive(datagram, received, local);
        // A datagram that no client of this version made ends it at once, and leaves nothing.
        if session.connection.is_closed() {
            drop(session);
            return match log {
                Some(path) => fs::remove_file(&path)
                    .with_context(|| format!("cannot remove the qlog {}", path.display())),
                None => Ok(()),
            };
        }
        self.report.connections += 1;
        let client = Client::new(session, self.frames, self.undertaking.clone());
        self.routes.insert(client, [id, asked]);
        Ok(())
    }

    /// The connection's qlog, if there is to be one. It has the first datagram, too.
    fn begin_log(
        &self,
        connection: &mut quiche::Connection,
        from: SocketAddr,
    ) -> Result<Option<PathBuf>> {
        let Some(folder) = &self.qlog else {
            return Ok(None);
        };
        let path = folder.join(format!("{}.sqlog", connection.trace_id()));
        let file = QlogFile::create(&path)
            .with_context(|| format!("cannot create the qlog {}", path.display()))?;
        let title = "imtcp-examples serve".to_owned();
        connection.set_qlog(Box::new(file), title, from.to_string());
        Ok(Some(path))
    }

    /// Lets every connection that has work do it. Returns when there is some again.
    async fn serve(&mut self) -> Instant {
        let mut next = Instant::now() + IDLE;
        for client in self.routes.iter_mut() {
            let woken = client.wake(Instant::now());
            if woken || client.has_work {
                let flushed = client.work(&self.socket, &self.http, &self.root).await;
                client.has_work = flushed == Flushed::ABatch;
            }
            if client.has_work {
                next = Instant::now();
            } else if let Some(wake) = client.wake_at() {
                next = next.min(wake);
            }
        }
        let report = &mut self.report;
        self.routes.remove_closed(|client| report.add(client));
        next
    }

    async fn say_farewell(&mut self, alarm: &Alarm) -> Result<()> {
        for client in self.routes.iter_mut() {
            // An error means that it is closing already.
            let _ = client
                .session
                .connection
                .close(true, NO_ERROR, b"the server ends");
            client.has_work = true;
        }
        let end = Instant::now() + FAREWELL;
        while !self.routes.is_empty() && Instant::now() < end {
            self.receive().await?;
            let next = self.serve().await;
            tokio::select! {
                biased;
                readable = self.socket.readable() => readable?,
                woken = alarm.wait_until(next.min(end)) => woken?,
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Report> {
        for client in self.routes.iter_mut() {
            self.report.add(client);
        }
        // Dropping a connection flushes its qlog.
        drop(self.routes);
        if let Some(estimates) = &self.instruments.estimates {
            estimates.finish()?;
        }
        if let Some(slots) = &self.instruments.slots {
            self.report.slots = Some(slots.finish()?);
        }
        let Instruments {
            timing,
            acknowledgements,
            ..
        } = &self.instruments;
        let timing = timing.lock().unwrap_or_else(PoisonError::into_inner);
        let acknowledgements = acknowledgements
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.report.timing = timing.summary();
        self.report.acknowledgements = (acknowledgements.frames > 0).then_some(*acknowledgements);
        Ok(self.report)
    }
}
