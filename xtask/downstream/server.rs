//! A server as a stranger to this project would write it, on tokio-quiche as it is published:
//! `GET /BYTES` is answered with so many bytes, and what is posted is taken. Every 100 ms it prints
//! what the controller says of the path.
//!
//! server ADDRESS:PORT CONTROLLER FOLDER-OF-CERTIFICATES

#[allow(dead_code, reason = "this server asks for no rate; what README shows has to compile")]
mod readme;

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use imtcp_cc::quiche::register;
use imtcp_tokio_quiche::promise;
use tokio::net::UdpSocket;
use tokio_quiche::http3::driver::{
    InboundFrame, IncomingH3Headers, OutboundFrame, RequestSender, ServerH3Command,
    ServerH3Controller, ServerH3Event,
};
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::quic::QuicCommand;
use tokio_quiche::quiche::h3::{Header, NameValue};
use tokio_quiche::settings::{CertificateKind, Hooks, QuicSettings, TlsCertificatePaths};
use tokio_quiche::{ConnectionParams, QuicResult, ServerH3Driver, listen};

type Commands = RequestSender<ServerH3Command, QuicCommand>;

const CHUNK: usize = 60_000;

#[tokio::main]
async fn main() -> QuicResult<()> {
    register(imtcp_cc::Config::default())?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, controller, folder] = arguments.as_slice() else {
        return Err("usage: server ADDRESS:PORT CONTROLLER FOLDER-OF-CERTIFICATES".into());
    };
    let mut settings = QuicSettings::default();
    settings.cc_algorithm = controller.clone();
    // Each new port of a client is a path to quiche. With the default, 2, there is no third.
    settings.active_connection_id_limit = 16;
    let (certificate, key) = (format!("{folder}/cert.pem"), format!("{folder}/key.pem"));
    let paths = TlsCertificatePaths {
        cert: &certificate,
        private_key: &key,
        kind: CertificateKind::X509,
    };
    let socket = UdpSocket::bind(address).await?;
    let params = ConnectionParams::new_server(settings, paths, Hooks::default());
    let mut listeners = listen([socket], params, DefaultMetrics)?;
    eprintln!("listening on {address}");
    while let Some(connection) = listeners[0].next().await {
        let (driver, controller) = ServerH3Driver::new(Http3Settings::default());
        match connection {
            Ok(connection) => _ = connection.start(driver),
            Err(error) => eprintln!("no connection: {error}"),
        }
        tokio::spawn(serve(controller));
    }
    Ok(())
}

/// The latest estimates, until the connection is gone; nothing under a controller of quiche's.
async fn print_estimates(commands: Commands) {
    let Ok(promise) = promise(&commands).await else {
        return;
    };
    while !promise.has_ended() {
        if let Some(estimate) = promise.estimate() {
            println!("estimate {}", estimate.available.as_bps());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn serve(mut controller: ServerH3Controller) {
    tokio::spawn(print_estimates(controller.cmd_sender()));
    while let Some(event) = controller.event_receiver_mut().recv().await {
        if let ServerH3Event::Headers {
            incoming_headers, ..
        } = event
        {
            tokio::spawn(answer(incoming_headers));
        }
    }
}

async fn answer(mut request: IncomingH3Headers) -> Option<()> {
    let path = request
        .headers
        .iter()
        .find(|header| header.name() == b":path")?;
    let path = String::from_utf8_lossy(path.value());
    let mut left: usize = path.trim_start_matches('/').parse().unwrap_or(0);
    while !request.read_fin {
        match request.recv.recv().await? {
            InboundFrame::Body(_, fin) => request.read_fin = fin,
            InboundFrame::Datagram(_) => {}
        }
    }
    let status = Header::new(b":status", b"200");
    let headers = OutboundFrame::Headers(vec![status], None);
    request.send.send(headers).await.ok()?;
    while left > 0 {
        let chunk = vec![7; left.min(CHUNK)];
        left -= chunk.len();
        let body = OutboundFrame::Body(chunk.into(), false);
        request.send.send(body).await.ok()?;
    }
    request
        .send
        .send(OutboundFrame::Body(Vec::new().into(), true))
        .await
        .ok()
}
