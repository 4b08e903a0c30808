//! A client of tokio-quiche's own, and a server over loopback.

#![allow(dead_code, reason = "each test file uses a part")]

use futures::SinkExt;
use imtcp_serve::{Options, Server};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::oneshot;
use tokio_quiche::http3::driver::{
    ClientH3Event, H3Event, InboundFrame, InboundFrameStream, NewClientRequest, OutboundFrame,
    OutboundFrameSender,
};
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::quic::connect_with_config;
use tokio_quiche::quiche::h3::{Header, NameValue};
use tokio_quiche::socket::Socket;
use tokio_quiche::{ClientH3Controller, ClientH3Driver, ConnectionParams, QuicConnection};

/// What has not happened by then never happens.
const PATIENCE: Duration = Duration::from_secs(60);

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(PATIENCE, future).await;
    outcome.expect("it never happened")
}

/// Bytes that tell their place.
pub fn pattern(length: usize) -> Vec<u8> {
    (0_u32..).flat_map(u32::to_le_bytes).take(length).collect()
}

/// A server of files of its own.
pub struct Site {
    pub folder: TempDir,
    pub server: Server,
}

impl Site {
    /// With these files, and these arguments beside the necessary ones.
    pub async fn start(files: &[(&str, &[u8])], arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        std::fs::create_dir(&root).expect("made");
        for (name, content) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("made");
            std::fs::write(path, content).expect("written");
        }
        let options = options(&folder, arguments);
        let server = Server::start(&options).await.expect("started");
        Self { folder, server }
    }

    /// What Prometheus would read.
    pub async fn metrics(&self) -> BTreeMap<String, f64> {
        metrics(self.server.metrics.expect("asked for")).await
    }

    /// Waits until this is so.
    pub async fn until(&self, what: &str, holds: impl Fn(&BTreeMap<String, f64>) -> bool) {
        let wait = async {
            while !holds(&self.metrics().await) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, wait).await;
        assert!(waited.is_ok(), "{what}: {:#?}", self.metrics().await);
    }
}

/// The command line of a server in this folder.
pub fn line(folder: &TempDir, arguments: &[&str]) -> Vec<String> {
    let inside = |name: &str| folder.path().join(name).display().to_string();
    let mut line = vec!["--root".to_owned(), inside("root")];
    line.extend(["--tls-dir".to_owned(), inside("tls")]);
    let rest = ["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    line.extend(rest.iter().chain(arguments).map(|word| (*word).to_owned()));
    line
}

fn options(folder: &TempDir, arguments: &[&str]) -> Options {
    let line = line(folder, arguments);
    let line = ["imtcp-serve".to_owned()].into_iter().chain(line);
    <Options as clap::Parser>::try_parse_from(line).expect("good arguments")
}

/// The samples of a page of metrics.
pub async fn metrics(address: SocketAddr) -> BTreeMap<String, f64> {
    let page = plain_get(address, "/metrics").await;
    let samples = page.lines().filter_map(|line| line.rsplit_once(' '));
    samples
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}

/// A request over plain HTTP.
pub async fn plain_get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut page = String::new();
    stream.read_to_string(&mut page).await.expect("read");
    page
}

/// The one sample whose name begins so.
pub fn sample(metrics: &BTreeMap<String, f64>, name: &str) -> f64 {
    let found: Vec<_> = metrics
        .iter()
        .filter(|(key, _)| key.starts_with(name))
        .collect();
    match found.as_slice() {
        [(_, value)] => **value,
        _ => panic!("not one {name}: {metrics:#?}"),
    }
}

/// A client with one connection.
pub struct Client {
    controller: ClientH3Controller,
    pub connection: QuicConnection,
    requests: u64,
}

/// An answer whose content is still to come.
pub struct Coming {
    pub status: u16,
    pub fields: BTreeMap<String, String>,
    frames: InboundFrameStream,
    fin: bool,
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub fields: BTreeMap<String, String>,
    pub content: Vec<u8>,
}

impl Client {
    pub async fn connect(server: SocketAddr) -> Self {
        Self::with_window(server, 10).await
    }

    /// With a first window of so many packets.
    pub async fn with_window(server: SocketAddr, packets: usize) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let socket = socket.expect("a port");
        socket.connect(server).await.expect("a route");
        let socket: Socket<_, _> = socket.try_into().expect("a socket");
        let mut params = ConnectionParams::default();
        params.settings.initial_congestion_window_packets = packets;
        let (driver, controller) = ClientH3Driver::new(Http3Settings::default());
        let connected = connect_with_config(socket, Some("localhost"), &params, driver);
        let connection = within(connected).await.expect("a handshake");
        Self {
            controller,
            connection,
            requests: 0,
        }
    }

    pub async fn get(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, fields, None).await
    }

    pub async fn ask(
        &mut self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        let coming = self.begin(method, path, fields, body).await;
        coming.expect("the connection is there").read().await
    }

    /// Sends a request, and waits for the fields of the answer. `None` if the connection ends.
    pub async fn begin(
        &mut self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Option<Coming> {
        let given = self.request(method, path, fields, body.is_some())?;
        let Some(body) = body else {
            return within(self.answer()).await;
        };
        let mut writer = within(given).await.ok()?;
        let frame = OutboundFrame::Body(body.to_vec().into(), true);
        within(writer.send(frame)).await.ok()?;
        within(self.answer()).await
    }

    /// Sends a request whose end is still to come, and waits for the fields of the answer. Dropping
    /// the sender takes the request back.
    pub async fn begin_open(&mut self, path: &str) -> Option<(Coming, OutboundFrameSender)> {
        let given = self.request("GET", path, &[], true)?;
        let writer = within(given).await.ok()?;
        Some((within(self.answer()).await?, writer))
    }

    /// Sends the fields of a request. What is returned brings the sender of its content, if there
    /// is to be any.
    fn request(
        &mut self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        has_content: bool,
    ) -> Option<oneshot::Receiver<OutboundFrameSender>> {
        let fixed = [
            (":method", method),
            (":scheme", "https"),
            (":authority", "localhost"),
            (":path", path),
        ];
        let fields = fixed.iter().chain(fields);
        let header = |(name, value): &(&str, &str)| Header::new(name.as_bytes(), value.as_bytes());
        let (give, given) = oneshot::channel();
        let request = NewClientRequest {
            request_id: self.requests,
            headers: fields.map(header).collect(),
            body_writer: has_content.then_some(give),
        };
        self.requests += 1;
        self.controller.request_sender().send(request).ok()?;
        Some(given)
    }

    async fn answer(&mut self) -> Option<Coming> {
        loop {
            let event = self.controller.event_receiver_mut().recv().await?;
            let ClientH3Event::Core(H3Event::IncomingHeaders(incoming)) = event else {
                continue;
            };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let mut fields: BTreeMap<_, _> = incoming
                .headers
                .iter()
                .map(|header| (text(header.name()), text(header.value())))
                .collect();
            let status = fields.remove(":status").expect("a status");
            return Some(Coming {
                status: status.parse().expect("a number"),
                fields,
                frames: incoming.recv,
                fin: incoming.read_fin,
            });
        }
    }
}

impl Coming {
    /// Some of the content; `None` at its end.
    pub async fn some(&mut self) -> Option<Vec<u8>> {
        while !self.fin {
            match within(self.frames.recv()).await {
                Some(InboundFrame::Body(part, fin)) => {
                    self.fin = fin;
                    return Some(part.to_vec());
                }
                Some(InboundFrame::Datagram(_)) => {}
                None => return None,
            }
        }
        None
    }

    pub async fn read(mut self) -> Answer {
        let mut content = Vec::new();
        while let Some(part) = self.some().await {
            content.extend(part);
        }
        let Self { status, fields, .. } = self;
        Answer {
            status,
            fields,
            content,
        }
    }
}

impl Answer {
    pub fn field(&self, name: &str) -> &str {
        let value = self.fields.get(name);
        value.unwrap_or_else(|| panic!("no {name} in {:?}", self.fields))
    }
}
