//! The server.

use anyhow::{Context, Result};
use bytes::Bytes;
use quinn::crypto::rustls::QuicServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{KeyLogFile, ServerConfig};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

pub async fn run(case: &str, provider: Arc<CryptoProvider>) -> Result<()> {
    let chain = CertificateDer::pem_file_iter("/certs/cert.pem")?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file("/certs/priv.key")?;
    let mut tls = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![crate::HQ.to_vec(), crate::H3.to_vec()];
    tls.key_log = Arc::new(KeyLogFile::new());
    tls.max_early_data_size = u32::MAX;
    let crypto = QuicServerConfig::with_initial(Arc::new(tls), crate::initial_suite()?)?;
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let endpoint = quinn::Endpoint::server(config, "[::]:443".parse()?)?;
    let retries = case == "retry";
    let mut terminated = signal(SignalKind::terminate())?;
    loop {
        let incoming = tokio::select! {
            _ = terminated.recv() => break,
            incoming = endpoint.accept() => incoming.context("no more connections")?,
        };
        if retries && !incoming.remote_address_validated() {
            incoming.retry()?;
            continue;
        }
        tokio::spawn(async move {
            if let Err(error) = serve(incoming).await {
                eprintln!("{error:#}");
            }
        });
    }
    endpoint.close(0_u8.into(), b"");
    Ok(())
}

async fn serve(incoming: quinn::Incoming) -> Result<()> {
    let mut connecting = incoming.accept()?;
    let data = connecting.handshake_data().await?;
    let data = data.downcast::<quinn::crypto::rustls::HandshakeData>();
    let protocol = data.ok().and_then(|data| data.protocol);
    let connection = match connecting.into_0rtt() {
        Ok((connection, _)) => connection,
        Err(connecting) => connecting.await?,
    };
    if protocol.as_deref() == Some(crate::H3) {
        return serve_http3(connection).await;
    }
    loop {
        let (mut send, mut receive) = match connection.accept_bi().await {
            Ok(streams) => streams,
            Err(quinn::ConnectionError::ApplicationClosed(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        tokio::spawn(async move {
            let request = receive.read_to_end(4096).await?;
            let request = String::from_utf8(request)?;
            let path = request.trim().strip_prefix("GET ").context("no GET")?;
            send.write_all(&tokio::fs::read(file(path)).await?).await?;
            send.finish()?;
            anyhow::Ok(())
        });
    }
}

async fn serve_http3(connection: quinn::Connection) -> Result<()> {
    let connection = h3_quinn::Connection::new(connection);
    let mut connection = h3::server::Connection::<_, Bytes>::new(connection).await?;
    while let Ok(Some(resolver)) = connection.accept().await {
        tokio::spawn(async move {
            let (request, mut stream) = resolver.resolve_request().await?;
            let body = tokio::fs::read(file(request.uri().path())).await?;
            stream.send_response(http::Response::new(())).await?;
            stream.send_data(Bytes::from(body)).await?;
            stream.finish().await?;
            anyhow::Ok(())
        });
    }
    Ok(())
}

/// The requests are the matrix's own.
fn file(path: &str) -> PathBuf {
    PathBuf::from("/www").join(path.trim_start_matches('/'))
}
