//! The client.

use anyhow::{Context, Result, ensure};
use bytes::Buf;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, KeyLogFile, SignatureScheme};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Tickets come after the handshake.
const TICKET_PATIENCE: Duration = Duration::from_millis(500);

pub async fn run(case: &str, provider: Arc<CryptoProvider>) -> Result<()> {
    let urls = std::env::args().skip(1).map(|word| Url::parse(&word));
    let urls = urls.collect::<Result<Vec<_>, _>>()?;
    ensure!(!urls.is_empty(), "nothing is asked for");
    let mut tls = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(NoVerifier(provider)))
        .with_no_client_auth();
    let protocol = if case == "http3" {
        crate::H3
    } else {
        crate::HQ
    };
    tls.alpn_protocols = vec![protocol.to_vec()];
    tls.key_log = Arc::new(KeyLogFile::new());
    tls.enable_early_data = case == "zerortt";
    let crypto = QuicClientConfig::with_initial(Arc::new(tls), crate::initial_suite()?)?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    let mut transport = quinn::TransportConfig::default();
    transport.max_idle_timeout(Some(Duration::from_secs(30).try_into()?));
    // Its probes are longer than all of the requests, and the runner counts them in 0-RTT's case.
    transport.mtu_discovery_config(None);
    config.transport_config(Arc::new(transport));

    let batches: Vec<&[Url]> = match case {
        "resumption" | "zerortt" if urls.len() > 1 => vec![&urls[..1], &urls[1..]],
        "multiconnect" => urls.chunks(1).collect(),
        _ => vec![&urls],
    };
    for (number, batch) in batches.into_iter().enumerate() {
        let resumes = matches!(case, "resumption" | "zerortt");
        fetch_all(case, &config, batch).await?;
        if resumes && number == 0 {
            tokio::time::sleep(TICKET_PATIENCE).await;
        }
    }
    Ok(())
}

/// One connection.
async fn fetch_all(case: &str, config: &quinn::ClientConfig, urls: &[Url]) -> Result<()> {
    let host = urls[0].host_str().context("no host")?;
    let port = urls[0].port_or_known_default().unwrap_or(443);
    let mut found = tokio::net::lookup_host((host, port)).await?;
    let address = found.next().context("no address")?;
    let any: SocketAddr = if address.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    }
    .parse()?;
    let mut endpoint = quinn::Endpoint::client(any)?;
    endpoint.set_default_client_config(config.clone());
    let connecting = endpoint.connect(address, host)?;
    let connection = if case == "zerortt" {
        match connecting.into_0rtt() {
            Ok((connection, _)) => connection,
            Err(connecting) => connecting.await?,
        }
    } else {
        connecting.await?
    };
    if case == "http3" {
        fetch_http3(&connection, urls).await?;
    } else {
        let mut tasks = tokio::task::JoinSet::new();
        for url in urls.to_vec() {
            let connection = connection.clone();
            tasks.spawn(async move { fetch(&connection, &url).await });
        }
        if case == "keyupdate" {
            tokio::time::sleep(Duration::from_millis(300)).await;
            connection.force_key_update();
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
    }
    if matches!(case, "resumption" | "zerortt") {
        tokio::time::sleep(TICKET_PATIENCE).await;
    }
    connection.close(0_u8.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

async fn fetch(connection: &quinn::Connection, url: &Url) -> Result<()> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(format!("GET {}\r\n", url.path()).as_bytes())
        .await?;
    send.finish()?;
    let body = receive.read_to_end(1 << 30).await?;
    save(url, &body).await
}

async fn fetch_http3(connection: &quinn::Connection, urls: &[Url]) -> Result<()> {
    let connection = h3_quinn::Connection::new(connection.clone());
    let (mut driver, mut requests) = h3::client::new(connection).await?;
    let driver =
        tokio::spawn(
            async move { std::future::poll_fn(|context| driver.poll_close(context)).await },
        );
    for url in urls {
        let request = http::Request::get(url.as_str()).body(())?;
        let mut stream = requests.send_request(request).await?;
        stream.finish().await?;
        let response = stream.recv_response().await?;
        ensure!(response.status() == 200, "status {}", response.status());
        let mut body = Vec::new();
        while let Some(mut data) = stream.recv_data().await? {
            body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
        }
        save(url, &body).await?;
    }
    drop(requests);
    driver.abort();
    Ok(())
}

async fn save(url: &Url, body: &[u8]) -> Result<()> {
    let path = format!("/downloads{}", url.path());
    tokio::fs::write(&path, body).await.with_context(|| path)
}

/// The matrix makes certificates that nobody trusts.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
