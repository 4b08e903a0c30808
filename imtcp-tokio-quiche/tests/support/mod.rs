//! A server and a client of tokio-quiche's own, over loopback.

mod relay;

use futures::{SinkExt, StreamExt};
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::UdpSocket;
use tokio_quiche::http3::driver::{
    ClientH3Event, H3Event, InboundFrame, IncomingH3Headers, NewClientRequest, OutboundFrame,
    ServerEventStream, ServerH3Controller, ServerH3Event,
};
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::quiche::h3::Header;
use tokio_quiche::settings::{CertificateKind, Hooks, QuicSettings, TlsCertificatePaths};
use tokio_quiche::{
    ConnectionParams, InitialQuicConnection, QuicConnectionStream, ServerH3Driver, listen,
};

pub use relay::relay;

const CHUNK: usize = 60_000;

/// Connections as they come.
pub type Incoming = QuicConnectionStream<DefaultMetrics>;

/// A server whose connections have the controller of this name.
pub async fn server(algorithm: &str) -> (SocketAddr, Incoming) {
    let mut settings = QuicSettings::default();
    settings.cc_algorithm = algorithm.to_owned();
    // A new port of the client is another path to quiche, and takes a connection ID.
    settings.active_connection_id_limit = 8;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../quiche/tests/data");
    let (certificate, key) = (format!("{folder}/cert.pem"), format!("{folder}/key.pem"));
    let paths = TlsCertificatePaths {
        cert: &certificate,
        private_key: &key,
        kind: CertificateKind::X509,
    };
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let address = socket.local_addr().expect("its address");
    let params = ConnectionParams::new_server(settings, paths, Hooks::default());
    let mut listeners = listen([socket], params, DefaultMetrics).expect("a known algorithm");
    (address, listeners.pop().expect("one for a socket"))
}

/// The next connection, before its handshake.
pub async fn next(incoming: &mut Incoming) -> InitialQuicConnection<UdpSocket, DefaultMetrics> {
    let connection = incoming.next().await.expect("the server listens");
    connection.expect("a first packet of QUIC")
}

/// The next connection, whose requests are answered without an end.
pub async fn accept(incoming: &mut Incoming) -> ServerH3Controller {
    let (driver, mut controller) = ServerH3Driver::new(Http3Settings::default());
    next(incoming).await.start(driver);
    tokio::spawn(answer_all(controller.take_event_receiver()));
    controller
}

async fn answer_all(mut events: ServerEventStream) {
    while let Some(event) = events.recv().await {
        if let ServerH3Event::Headers {
            incoming_headers, ..
        } = event
        {
            tokio::spawn(answer(incoming_headers));
        }
    }
}

async fn answer(mut request: IncomingH3Headers) -> Option<()> {
    let status = Header::new(b":status", b"200");
    let mut frame = OutboundFrame::Headers(vec![status], None);
    loop {
        request.send.send(frame).await.ok()?;
        frame = OutboundFrame::Body(vec![7; CHUNK].into(), false);
    }
}

/// A client that asks the server for something and reads the answer until it is aborted, or the
/// server closes the connection.
pub async fn read_on(server: SocketAddr) {
    read_from(Ipv4Addr::LOCALHOST, server).await;
}

/// The same, from this address of the host's.
pub async fn read_from(own: Ipv4Addr, server: SocketAddr) {
    let socket = UdpSocket::bind((own, 0)).await.expect("a port");
    socket.connect(server).await.expect("a route");
    let connected = tokio_quiche::quic::connect(socket, Some("quic.test")).await;
    let (_connection, mut controller) = connected.expect("a handshake");
    let fields = [(":method", "GET"), (":scheme", "https"), (":path", "/")];
    let mut headers: Vec<_> = fields
        .iter()
        .map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes()))
        .collect();
    headers.push(Header::new(b":authority", b"quic.test"));
    let request = NewClientRequest {
        request_id: 0,
        headers,
        body_writer: None,
    };
    controller
        .request_sender()
        .send(request)
        .expect("the connection is there");
    while let Some(event) = controller.event_receiver_mut().recv().await {
        if let ClientH3Event::Core(H3Event::IncomingHeaders(mut response)) = event {
            while let Some(InboundFrame::Body(..)) = response.recv.recv().await {}
        }
    }
}
