//! A client of HTTP/3 with one connection. Nothing that it waits for can last for ever.

use crate::connect;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_quiche::http3::driver::{
    ClientH3Event, H3Event, InboundFrame, IncomingH3Headers, NewClientRequest,
};
use tokio_quiche::quiche::h3::{Header, NameValue};
use tokio_quiche::{ClientH3Controller, QuicConnection};
use url::Url;

/// Manifests are text, and no text is longer.
const LONGEST_TEXT: usize = 8 << 20;

/// A connection to one server.
pub struct Client {
    controller: ClientH3Controller,
    authority: String,
    requests: u64,
    patience: Duration,
    /// Dropping it ends the connection.
    _connection: QuicConnection,
}

/// An answer that is complete.
#[derive(Debug)]
pub struct Answer {
    /// The field `cmsd-dynamic`.
    pub cmsd: Option<String>,
    /// The content, if it was wanted.
    pub content: Vec<u8>,
    /// How long the content is.
    pub bytes: u64,
    /// From the request to the last byte.
    pub took: Duration,
}

impl Client {
    /// Connects. A server that then says nothing for `patience` is given up.
    ///
    /// # Errors
    /// Says what is wrong with the address, or that nobody answers there.
    pub async fn connect(url: &Url, patience: Duration) -> Result<Self> {
        ensure!(
            url.scheme() == "https",
            "{url} is not an `https://` address"
        );
        let host = url
            .host_str()
            .with_context(|| format!("{url} names no server"))?;
        let addresses = connect::addresses(host, url.port().unwrap_or(443))?;
        let (connection, controller) = connect::connect(&addresses, host, patience).await?;
        let authority = url.authority().to_owned();
        Ok(Self {
            controller,
            authority,
            requests: 0,
            patience,
            _connection: connection,
        })
    }

    /// Gets a text.
    ///
    /// # Errors
    /// It does not come, or is no success.
    pub async fn text(&mut self, url: &Url, fields: &[(&str, String)]) -> Result<Answer> {
        self.get(url, fields, LONGEST_TEXT).await
    }

    /// Gets a file, whose content is counted and thrown away.
    ///
    /// # Errors
    /// It does not come, or is no success.
    pub async fn file(&mut self, url: &Url, fields: &[(&str, String)]) -> Result<Answer> {
        self.get(url, fields, 0).await
    }

    /// Keeps up to `keep` bytes of the content; 0 keeps nothing and allows any length.
    async fn get(&mut self, url: &Url, fields: &[(&str, String)], keep: usize) -> Result<Answer> {
        ensure!(
            url.authority() == self.authority,
            "{url} is on another server than the manifest, which is not followed"
        );
        let began = Instant::now();
        self.send(url, fields)?;
        let silence = format!("{url}: the server sent nothing");
        let mut coming = within(self.patience, &silence, self.answer()).await??;
        let (status, cmsd) = read_fields(&coming.headers);
        ensure!(status == "200", "{url}: the server answered {status}");
        let (mut content, mut bytes, mut is_complete) = (Vec::new(), 0_u64, coming.read_fin);
        while !is_complete {
            match within(self.patience, &silence, coming.recv.recv()).await? {
                Some(InboundFrame::Body(part, fin)) => {
                    bytes += part.len() as u64;
                    if keep > 0 {
                        let length = content.len() + part.len();
                        ensure!(
                            length <= keep,
                            "{url}: a manifest of more than {keep} bytes"
                        );
                        content.extend_from_slice(&part);
                    }
                    is_complete = fin;
                }
                Some(InboundFrame::Datagram(_)) => {}
                None => bail!("{url}: the answer ended after {bytes} bytes"),
            }
        }
        Ok(Answer {
            cmsd,
            content,
            bytes,
            took: began.elapsed(),
        })
    }

    fn send(&mut self, url: &Url, fields: &[(&str, String)]) -> Result<()> {
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let fixed = [
            (":method", "GET"),
            (":scheme", "https"),
            (":authority", self.authority.as_str()),
            (":path", path.as_str()),
        ];
        let own = fields.iter().map(|(name, value)| (*name, value.as_str()));
        let all = fixed.into_iter().chain(own);
        let all = all.map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes()));
        let request = NewClientRequest {
            request_id: self.requests,
            headers: all.collect(),
            body_writer: None,
        };
        self.requests += 1;
        let sent = self.controller.request_sender().send(request);
        sent.ok()
            .with_context(|| format!("{url}: the connection is gone"))
    }

    async fn answer(&mut self) -> Result<IncomingH3Headers> {
        loop {
            let event = self.controller.event_receiver_mut().recv().await;
            match event.context("the connection ended without an answer")? {
                ClientH3Event::Core(H3Event::IncomingHeaders(answer)) => return Ok(answer),
                _ => continue,
            }
        }
    }
}

fn read_fields(fields: &[Header]) -> (String, Option<String>) {
    let value = |name: &[u8]| {
        let found = fields.iter().find(|field| field.name() == name);
        found.map(|field| String::from_utf8_lossy(field.value()).into_owned())
    };
    (
        value(b":status").unwrap_or_default(),
        value(b"cmsd-dynamic"),
    )
}

async fn within<T>(patience: Duration, what: &str, future: impl Future<Output = T>) -> Result<T> {
    let outcome = timeout(patience, future).await;
    outcome.map_err(|_| anyhow!("{what} for {:.1} s", patience.as_secs_f64()))
}
