//! A server and a client on stock tokio-quiche. The server's controller is chosen by its name; at
//! the end the server tells what it found behind the name.

use std::error::Error;
use std::io;
use std::time::Duration;

use futures::StreamExt;
use imtcp_cc::quiche::{Controller, NAME, register};
use tokio::net::UdpSocket;
use tokio::sync::oneshot;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::quic::{HandshakeInfo, QuicheConnection, connect_with_config};
use tokio_quiche::settings::{CertificateKind, Hooks, QuicSettings, TlsCertificatePaths};
use tokio_quiche::socket::Socket;
use tokio_quiche::{ApplicationOverQuic, ConnectionParams, QuicResult, listen, quiche};

const BYTES: usize = 1_000_000;
const PROTOCOL: &[u8] = b"downstream";
/// The first bidirectional stream of the client.
const STREAM: u64 = 0;

/// What was seen on the server's connection when all was sent.
struct Report {
    /// The controller's phase, if the connection has our controller.
    phase: Option<String>,
    packets: usize,
    lost: usize,
}

/// Answers the client's request with [`BYTES`] bytes.
struct Server {
    left: usize,
    requested: bool,
    report: Option<oneshot::Sender<Report>>,
}

/// Asks, and counts what comes.
struct Client {
    asked: bool,
    received: usize,
    done: Option<oneshot::Sender<usize>>,
}

fn report(connection: &QuicheConnection) -> Report {
    let stats = connection.stats();
    let controller = connection.congestion_controller::<Controller>();
    Report {
        phase: controller.map(|controller| format!("{:?}", controller.core().phase())),
        packets: stats.sent,
        lost: stats.lost,
    }
}

impl ApplicationOverQuic for Server {
    fn on_conn_established(
        &mut self,
        _: &mut QuicheConnection,
        _: &HandshakeInfo,
    ) -> QuicResult<()> {
        Ok(())
    }

    fn should_act(&self) -> bool {
        true
    }

    async fn wait_for_data(&mut self, _: &mut QuicheConnection) -> QuicResult<()> {
        // Packets and timers are all that this application waits for.
        std::future::pending().await
    }

    fn process_reads(&mut self, connection: &mut QuicheConnection) -> QuicResult<()> {
        let mut buffer = [0; 64];
        while let Ok((_, fin)) = connection.stream_recv(STREAM, &mut buffer) {
            self.requested |= fin;
        }
        Ok(())
    }

    fn process_writes(&mut self, connection: &mut QuicheConnection) -> QuicResult<()> {
        while self.requested && self.left > 0 {
            let chunk = vec![7; self.left];
            match connection.stream_send(STREAM, &chunk, true) {
                Ok(sent) => self.left -= sent,
                Err(quiche::Error::Done) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if self.left == 0
            && let Some(sender) = self.report.take()
        {
            // The main task may have given up already.
            let _ = sender.send(report(connection));
        }
        Ok(())
    }
}

impl ApplicationOverQuic for Client {
    fn on_conn_established(
        &mut self,
        _: &mut QuicheConnection,
        _: &HandshakeInfo,
    ) -> QuicResult<()> {
        Ok(())
    }

    fn should_act(&self) -> bool {
        true
    }

    async fn wait_for_data(&mut self, _: &mut QuicheConnection) -> QuicResult<()> {
        std::future::pending().await
    }

    fn process_reads(&mut self, connection: &mut QuicheConnection) -> QuicResult<()> {
        let mut buffer = [0; 65_536];
        while let Ok((size, fin)) = connection.stream_recv(STREAM, &mut buffer) {
            self.received += size;
            if fin && let Some(sender) = self.done.take() {
                let _ = sender.send(self.received);
            }
        }
        Ok(())
    }

    fn process_writes(&mut self, connection: &mut QuicheConnection) -> QuicResult<()> {
        if !self.asked {
            connection.stream_send(STREAM, b"please", true)?;
            self.asked = true;
        }
        Ok(())
    }
}

fn settings(algorithm: &str) -> QuicSettings {
    let mut settings = QuicSettings::default();
    settings.alpn = vec![PROTOCOL.to_vec()];
    settings.cc_algorithm = algorithm.to_owned();
    settings.disable_client_ip_validation = true;
    settings.max_idle_timeout = Some(Duration::from_secs(10));
    settings
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    register(imtcp_cc::Config::default())?;

    let folder = std::env::args()
        .nth(1)
        .ok_or("usage: two-lines FOLDER-OF-CERTIFICATES")?;
    let (certificate, key) = (format!("{folder}/cert.pem"), format!("{folder}/key.pem"));
    let paths = TlsCertificatePaths {
        cert: &certificate,
        private_key: &key,
        kind: CertificateKind::X509,
    };
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    let address = socket.local_addr()?;
    let params = ConnectionParams::new_server(settings(NAME), paths, Hooks::default());
    let mut listeners = listen([socket], params, DefaultMetrics)?;
    let mut incoming = listeners
        .pop()
        .ok_or_else(|| io::Error::other("no listener"))?;

    let (report, reported) = oneshot::channel();
    let server = tokio::spawn(async move {
        let connection = incoming
            .next()
            .await
            .ok_or_else(|| io::Error::other("no connection"))??;
        connection.start(Server {
            left: BYTES,
            requested: false,
            report: Some(report),
        });
        // Keeps the listener alive.
        std::future::pending::<io::Result<()>>().await
    });

    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    socket.connect(address).await?;
    let socket: Socket<_, _> = socket.try_into()?;
    let (done, received) = oneshot::channel();
    let client = Client {
        asked: false,
        received: 0,
        done: Some(done),
    };
    let params = ConnectionParams::new_client(settings("cubic"), None, Hooks::default());
    let connection = connect_with_config(socket, Some("quic.test"), &params, client).await?;

    let limit = Duration::from_secs(30);
    let received = tokio::time::timeout(limit, received).await??;
    let report = tokio::time::timeout(limit, reported).await??;
    drop(connection);
    server.abort();
    let Report {
        phase,
        packets,
        lost,
    } = report;
    println!(
        "{received} of {BYTES} bytes over loopback, {packets} packets sent by then, {lost} lost"
    );
    let phase = phase.ok_or_else(|| format!("the controller is not the one named `{NAME}`"))?;
    if received != BYTES {
        return Err("the transfer is not complete".into());
    }
    println!("stock tokio-quiche found the controller by its name, `{NAME}` (in {phase})");
    Ok(())
}
