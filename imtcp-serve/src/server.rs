//! The server: its sockets, its connections, and its end.

use crate::connection::{self, Phase};
use crate::csv::{CsvFile, ESTIMATES, Estimates, SLOTS};
use crate::dashboard::{self, Watch};
use crate::folder::Folder;
use crate::metrics::{self, Counts};
use crate::options::{ControllerKind, Options, QlogCompression};
use crate::required::{Policy, Rules};
use crate::site::{Live, Site};
use crate::tls::Identity;
use anyhow::{Context, Result, anyhow};
use futures::StreamExt;
use imtcp_cc::quiche::{Detail, Factory};
use imtcp_cc::units::Bytes;
use imtcp_examples::families::Families;
use imtcp_examples::socket::send_whole;
use std::fs;
use std::future::pending;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::quiche::cc;
use tokio_quiche::settings::{self, CertificateKind, Hooks, QuicSettings, TlsCertificatePaths};
use tokio_quiche::{ConnectionParams, QuicConnectionStream, listen};

/// Addresses and connection IDs of a client at the same time. Each new port of a client is a path
/// to quiche, and takes one.
const CONNECTION_IDS: u64 = 8;

/// A handshake that lasts longer has no other end.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// After the last connection was told to close, so long for it to do so. It takes three probe
/// timeouts.
const CLOSING: Duration = Duration::from_secs(3);

/// A running server.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where its metrics are, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// Where its dashboard is, if anywhere.
    pub dashboard: Option<SocketAddr>,
    site: Arc<Site>,
    estimates: Option<Arc<CsvFile>>,
    phase: watch::Sender<Phase>,
    accepting: JoinHandle<()>,
    pages: Vec<JoinHandle<()>>,
    drain: Duration,
}

impl Server {
    /// Starts one, in a runtime of tokio's.
    ///
    /// # Errors
    /// Says what it lacks: a folder, a file, an address.
    pub async fn start(options: &Options) -> Result<Self> {
        options.check()?;
        let csv = |path: &Option<_>, columns| {
            let file = path
                .as_deref()
                .map(|path: &Path| CsvFile::create(path, columns));
            file.transpose()
        };
        let estimates = csv(&options.estimates, ESTIMATES)?.map(Arc::new);
        let (release, why) = options.release.chosen();
        tracing::info!(release = release.name(), why, "release times");
        let site = Arc::new(Site {
            folder: Folder::open(&options.root)?,
            policy: policy(options)?,
            release,
            controller: options.cc.name(),
            promise: options.promise,
            patience: options.patience,
            counts: Counts::default(),
            live: Arc::new(Live::default()),
            slots: csv(&options.slots, SLOTS)?,
        });
        let (address, incoming) = open(options, &site, estimates.as_ref()).await?;
        let mut pages = Vec::new();
        let metrics = match options.metrics {
            Some(at) => Some(open_metrics(at, &site, &mut pages).await?),
            None => None,
        };
        let dashboard = match options.dashboard {
            Some(at) => Some(open_dashboard(at, &site, &mut pages).await?),
            None => None,
        };
        let (phase, watched) = watch::channel(Phase::Serving);
        let accepting = tokio::spawn(accept(incoming, Arc::clone(&site), watched));
        Ok(Self {
            address,
            metrics,
            dashboard,
            site,
            estimates,
            phase,
            accepting,
            pages,
            drain: options.drain,
        })
    }

    /// Ends it: no new connections, the answers that have begun, 503 to what comes late, and then
    /// the end of whatever is left. Completes qlogs and CSV files.
    pub async fn stop(self) {
        self.stop_unless(pending()).await;
    }

    /// The same. Once `hurried` is done no answer is waited for any more.
    pub async fn stop_unless(mut self, hurried: impl Future<Output = ()>) {
        tracing::info!(open = self.site.live.all().len(), "ending");
        self.phase.send_replace(Phase::Draining);
        let is_drained = tokio::select! {
            _ = &mut self.accepting => true,
            () = tokio::time::sleep(self.drain) => false,
            () = hurried => false,
        };
        if !is_drained {
            tracing::warn!(open = self.site.live.all().len(), "closing what is left");
            self.phase.send_replace(Phase::Closing);
            // Whoever has not closed by then never will.
            let _ = tokio::time::timeout(CLOSING, &mut self.accepting).await;
        }
        self.accepting.abort();
        self.site.counts.distances.tell(self.site.release.name());
        self.pages.iter().for_each(JoinHandle::abort);
        let files = [self.estimates.as_deref(), self.site.slots.as_ref()];
        files.into_iter().flatten().for_each(CsvFile::finish);
    }
}

/// Takes connections until the phase changes, and then waits for the last of them to end.
async fn accept(
    mut incoming: QuicConnectionStream<DefaultMetrics>,
    site: Arc<Site>,
    mut phase: watch::Receiver<Phase>,
) {
    let mut connections = JoinSet::new();
    let watched = phase.clone();
    loop {
        tokio::select! {
            accepted = incoming.next() => match accepted {
                Some(Ok(accepted)) => {
                    let (site, watched) = (Arc::clone(&site), watched.clone());
                    connections.spawn(connection::run(accepted, site, watched));
                }
                // Not a packet of ours, or of nobody's.
                Some(Err(error)) => tracing::debug!(%error, "no connection"),
                None => {
                    tracing::error!("the socket is gone");
                    break;
                }
            },
            Some(ended) = connections.join_next() => tell_panic(ended),
            _ = phase.changed() => break,
        }
    }
    // tokio-quiche carries on with the connections that there are.
    drop(incoming);
    while let Some(ended) = connections.join_next().await {
        tell_panic(ended);
    }
}

fn tell_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection");
    }
}

fn policy(options: &Options) -> Result<Policy> {
    let rules = options.rates.as_deref().map(Rules::read).transpose()?;
    Ok(Policy {
        period: options.period,
        most: options.most,
        steady: options.steady,
        rules: rules.unwrap_or_default(),
    })
}

async fn open(
    options: &Options,
    site: &Site,
    estimates: Option<&Arc<CsvFile>>,
) -> Result<(SocketAddr, QuicConnectionStream<DefaultMetrics>)> {
    let identity = match (&options.cert, &options.key) {
        (Some(certificate), Some(key)) => Identity::of_files(certificate, key)?,
        _ => Identity::kept_in(&options.tls_dir, options.listen.ip())?,
    };
    identity.check_beside(&options.root)?;
    let (certificate, key) = (text(&identity.certificate)?, text(&identity.key)?);
    let paths = TlsCertificatePaths {
        cert: certificate,
        private_key: key,
        kind: CertificateKind::X509,
    };
    let mut settings = QuicSettings::default();
    settings.cc_algorithm = controller(options, site, estimates)?;
    settings.active_connection_id_limit = CONNECTION_IDS;
    settings.disable_active_migration = false;
    settings.disable_client_ip_validation = options.no_retry;
    settings.max_idle_timeout = Some(options.idle);
    settings.handshake_timeout = Some(HANDSHAKE);
    settings.enable_dgram = false;
    // No datagram is divided on its way. So those of more than 1200 bytes are sent only after a
    // probe of that size was acknowledged.
    settings.discover_path_mtu = true;
    if let Some(folder) = &options.qlog {
        let made = fs::create_dir_all(folder);
        made.with_context(|| format!("cannot make {}", folder.display()))?;
        settings.qlog_dir = Some(text(folder)?.to_owned());
        settings.qlog_compression = match options.qlog_compression {
            QlogCompression::None => settings::QlogCompression::None,
            QlogCompression::Gzip => settings::QlogCompression::Gzip,
            QlogCompression::Zstd => settings::QlogCompression::Zstd,
        };
    }
    let socket = UdpSocket::bind(options.listen).await;
    let socket = socket.with_context(|| format!("cannot listen on UDP {}", options.listen))?;
    let address = socket.local_addr()?;
    let whole = send_whole(&socket, address);
    whole.context("the kernel does not promise to leave datagrams whole")?;
    let params = ConnectionParams::new_server(settings, paths, Hooks::default());
    let mut listeners = listen([socket], params, DefaultMetrics).with_context(|| {
        format!(
            "cannot serve with the certificate {certificate} and the key {key}; do they belong \
             together?"
        )
    })?;
    let incoming = listeners.pop().context("no listener for the socket")?;
    Ok((address, incoming))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .ok_or_else(|| anyhow!("the name {} is not UTF-8", path.display()))
}

/// The name under which quiche knows the controller.
fn controller(options: &Options, site: &Site, estimates: Option<&Arc<CsvFile>>) -> Result<String> {
    /// Servers of this process. Each has a configuration of its own.
    static SERVERS: AtomicU64 = AtomicU64::new(0);
    if let Some(name) = options.cc.built_in() {
        return Ok(name.to_owned());
    }
    let families = Families::new(|headers| {
        let config = imtcp_cc::Config::builder()
            .measurement(options.cc == ControllerKind::Imtcp)
            .header_overhead(Bytes::new(headers + options.link_header))
            .build()?;
        let distances = Arc::clone(&site.counts.distances);
        let mut factory = Factory::new(config).with_gap_observer(distances);
        if let Some(file) = estimates {
            let file = Arc::clone(file);
            factory = factory.with_subscribers(move |path| {
                let connection = Arc::clone(&path.connection);
                Arc::new(Estimates::new(connection, Arc::clone(&file)))
            });
        }
        if options.qlog_replay {
            factory = factory.with_qlog_detail(Detail::Replay);
        }
        Ok(factory)
    })?;
    let number = SERVERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("imtcp-serve-{number}");
    cc::register(&name, Arc::new(families))?;
    Ok(name)
}

async fn open_metrics(
    at: SocketAddr,
    site: &Site,
    pages: &mut Vec<JoinHandle<()>>,
) -> Result<SocketAddr> {
    let (address, listener) = bind(at, "metrics").await?;
    let registry = site.counts.registry(Arc::clone(&site.live));
    pages.push(tokio::spawn(metrics::serve(listener, registry)));
    Ok(address)
}

async fn open_dashboard(
    at: SocketAddr,
    site: &Arc<Site>,
    pages: &mut Vec<JoinHandle<()>>,
) -> Result<SocketAddr> {
    let (address, listener) = bind(at, "the dashboard").await?;
    let watch = Arc::new(Watch::new(Arc::clone(site)));
    pages.push(tokio::spawn(dashboard::serve(listener, watch)));
    Ok(address)
}

async fn bind(at: SocketAddr, what: &str) -> Result<(SocketAddr, TcpListener)> {
    let listener = TcpListener::bind(at).await;
    let listener = listener.with_context(|| format!("cannot serve {what} on {at}"))?;
    Ok((listener.local_addr()?, listener))
}
