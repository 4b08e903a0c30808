//! One client of the crowd.

use super::roaming::Roaming;
use anyhow::{Context, Result, anyhow, bail, ensure};
use http::Uri;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;
use tokio::time::timeout;
use tokio_quiche::http3::driver::{
    ClientH3Event, H3Event, InboundFrame, IncomingH3Headers, NewClientRequest,
};
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::quic::connect_with_config;
use tokio_quiche::quiche::h3::{Header, NameValue};
use tokio_quiche::settings::{Hooks, QuicSettings};
use tokio_quiche::socket::{Socket, SocketCapabilities};
use tokio_quiche::{ClientH3Controller, ClientH3Driver, ConnectionParams, QuicConnection};

/// What has not come after so long is counted as an error.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longer than any pause of a crowd.
const IDLE: Duration = Duration::from_secs(120);

/// A client with one connection.
pub struct Visitor {
    /// Its port.
    pub roaming: Roaming,
    controller: ClientH3Controller,
    /// Dropping it ends the connection.
    _connection: QuicConnection,
    authority: String,
    requests: u64,
}

/// The address of the server that an `https://` address names.
///
/// # Errors
/// It names none.
pub fn server(url: &Uri) -> Result<SocketAddr> {
    ensure!(
        url.scheme_str() == Some("https"),
        "{url} is not an `https://` address"
    );
    let host = url.host().context("the address names no server")?;
    let port = url.port_u16().unwrap_or(443);
    let mut found = (host.trim_matches(['[', ']']), port).to_socket_addrs()?;
    let address = found.next();
    address.with_context(|| format!("{host} has no address"))
}

impl Visitor {
    /// Connects, without looking at the certificate.
    ///
    /// # Errors
    /// Nobody answers.
    pub async fn come(url: &Uri) -> Result<Self> {
        let server = server(url)?;
        let roaming = Roaming::towards(server).await?;
        let socket = Socket {
            send: roaming.clone(),
            recv: roaming.clone(),
            local_addr: roaming.address()?,
            peer_addr: server,
            capabilities: SocketCapabilities::default(),
        };
        let mut settings = QuicSettings::default();
        settings.max_idle_timeout = Some(IDLE);
        settings.active_connection_id_limit = 8;
        let params = ConnectionParams::new_client(settings, None, Hooks::default());
        let (driver, controller) = ClientH3Driver::new(Http3Settings::default());
        let connecting = connect_with_config(socket, url.host(), &params, driver);
        let connected = timeout(PATIENCE, connecting).await;
        let connected = connected.with_context(|| format!("{server} does not answer"))?;
        Ok(Self {
            roaming,
            controller,
            _connection: connected.map_err(|error| anyhow!("no connection: {error}"))?,
            authority: url.authority().map(ToString::to_string).unwrap_or_default(),
            requests: 0,
        })
    }

    /// Gets a file and throws it away. `on_part` hears how much has come.
    ///
    /// # Errors
    /// It does not come, or is no success.
    pub async fn get(&mut self, path: &str, mut on_part: impl FnMut(u64)) -> Result<u64> {
        let headers = vec![
            Header::new(b":method", b"GET"),
            Header::new(b":scheme", b"https"),
            Header::new(b":authority", self.authority.as_bytes()),
            Header::new(b":path", path.as_bytes()),
        ];
        let request = NewClientRequest {
            request_id: self.requests,
            headers,
            body_writer: None,
        };
        self.requests += 1;
        let sent = self.controller.request_sender().send(request);
        sent.ok().context("the connection is gone")?;
        let mut coming = within(self.answer()).await??;
        let (mut bytes, mut is_complete) = (0_u64, coming.read_fin);
        while !is_complete {
            match within(coming.recv.recv()).await? {
                Some(InboundFrame::Body(part, fin)) => {
                    bytes += u64::try_from(part.len())?;
                    is_complete = fin;
                    on_part(bytes);
                }
                Some(InboundFrame::Datagram(_)) => {}
                None => bail!("{path}: it ended after {bytes} bytes"),
            }
        }
        Ok(bytes)
    }

    async fn answer(&mut self) -> Result<IncomingH3Headers> {
        loop {
            let event = self.controller.event_receiver_mut().recv().await;
            let event = event.context("the connection ended without an answer")?;
            if let ClientH3Event::Core(H3Event::IncomingHeaders(answer)) = event {
                let status = answer.headers.first().map(|field| field.value().to_vec());
                ensure!(
                    status.as_deref() == Some(b"200"),
                    "the server answered {}",
                    String::from_utf8_lossy(&status.unwrap_or_default())
                );
                return Ok(answer);
            }
        }
    }
}

async fn within<T>(future: impl Future<Output = T>) -> Result<T> {
    let outcome = timeout(PATIENCE, future).await;
    outcome.context("the server sent nothing for a minute")
}
