//! Asks a server for a file over HTTP/3, several times over one connection if wanted, and prints
//! what it says. The content is counted and thrown away.
//!
//! The server's certificate is not checked: this is for trials.

#![allow(clippy::disallowed_methods, reason = "it tells how long an answer took")]

use anyhow::{Context, Result, bail};
use clap::Parser;
use http::Uri;
use imtcp_serve::connect;
use std::time::{Duration, Instant};
use tokio_quiche::ClientH3Controller;
use tokio_quiche::http3::driver::{ClientH3Event, H3Event, InboundFrame, NewClientRequest};
use tokio_quiche::quiche::h3::{Header, NameValue};

/// A server that says nothing for so long is not there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks a server for a file over HTTP/3, and prints what it says.
#[derive(Parser)]
struct Options {
    /// What to ask for: `https://127.0.0.1:4433/file`.
    url: Uri,

    /// A field of the request, as `name: value`; any number of them.
    #[arg(long, value_name = "FIELD")]
    field: Vec<String>,

    /// GET, HEAD or another method.
    #[arg(long, default_value = "GET")]
    method: String,

    /// How often to ask.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    times: u64,

    /// How long to wait in between.
    #[arg(long, value_name = "SPAN", default_value = "0 s", value_parser = span)]
    pause: Duration,
}

fn span(text: &str) -> Result<Duration, quantity::QuantityError> {
    let (nanos, _) = quantity::parse(text, quantity::SPANS)?;
    Ok(Duration::from_nanos(nanos))
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let host = options.url.host().context("the address names no server")?;
    let addresses = connect::addresses(host, options.url.port_u16().unwrap_or(443))?;
    let (_connection, mut controller) = connect::connect(&addresses, host, PATIENCE).await?;
    for number in 0..options.times {
        if number > 0 {
            tokio::time::sleep(options.pause).await;
        }
        ask(&mut controller, &options, number).await?;
    }
    Ok(())
}

async fn ask(controller: &mut ClientH3Controller, options: &Options, number: u64) -> Result<()> {
    let began = Instant::now();
    let path = options
        .url
        .path_and_query()
        .map_or("/", |path| path.as_str());
    let authority = options.url.authority().map_or("", |name| name.as_str());
    let mut headers = vec![
        Header::new(b":method", options.method.as_bytes()),
        Header::new(b":scheme", b"https"),
        Header::new(b":authority", authority.as_bytes()),
        Header::new(b":path", path.as_bytes()),
    ];
    for field in &options.field {
        let Some((name, value)) = field.split_once(':') else {
            bail!("`{field}` is no field; write `name: value`");
        };
        let name = name.trim().to_ascii_lowercase();
        headers.push(Header::new(name.as_bytes(), value.trim().as_bytes()));
    }
    let request = NewClientRequest {
        request_id: number,
        headers,
        body_writer: None,
    };
    let sent = controller.request_sender().send(request);
    sent.ok().context("the connection is gone")?;
    let mut answer = loop {
        let event = controller.event_receiver_mut().recv().await;
        match event.context("the connection ended without an answer")? {
            ClientH3Event::Core(H3Event::IncomingHeaders(answer)) => break answer,
            _ => continue,
        }
    };
    for header in &answer.headers {
        let text = String::from_utf8_lossy;
        println!("{}: {}", text(header.name()), text(header.value()));
    }
    let (mut bytes, mut is_complete) = (0, answer.read_fin);
    while !is_complete {
        match answer.recv.recv().await {
            Some(InboundFrame::Body(part, fin)) => {
                bytes += part.len();
                is_complete = fin;
            }
            Some(InboundFrame::Datagram(_)) => {}
            None => bail!("the answer ended after {bytes} bytes"),
        }
    }
    println!(
        "({bytes} bytes in {:.3} s)\n",
        began.elapsed().as_secs_f64()
    );
    Ok(())
}
