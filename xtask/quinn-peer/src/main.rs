//! quinn as an endpoint of the interop runner: what it is told comes from the environment.

mod client;
mod server;

use anyhow::{Context, Result};
use rustls::CipherSuite;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring;
use rustls::quic::Suite;
use std::process::ExitCode;
use std::sync::Arc;

const CASES: [&str; 10] = [
    "handshake",
    "transfer",
    "chacha20",
    "keyupdate",
    "retry",
    "resumption",
    "zerortt",
    "multiconnect",
    "http3",
    "ecn",
];

/// HTTP/0.9, and HTTP/3.
const HQ: &[u8] = b"hq-interop";
const H3: &[u8] = b"h3";

fn main() -> ExitCode {
    let case = std::env::var("TESTCASE").unwrap_or_default();
    if !CASES.contains(&case.as_str()) {
        eprintln!("unsupported: {case}");
        return ExitCode::from(127);
    }
    match run(&case) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(case: &str) -> Result<()> {
    let provider = Arc::new(provider(case));
    match std::env::var("ROLE").context("ROLE is not set")?.as_str() {
        "client" => client::run(case, provider).await,
        _ => server::run(case, provider).await,
    }
}

/// AES-128-GCM of another provider: quinn needs it for Initial packets, whatever TLS may use.
fn initial_suite() -> Result<Suite> {
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    let suite = suite.and_then(|suite| suite.quic_suite());
    suite.context("rustls has no QUIC")
}

/// What TLS may use.
fn provider(case: &str) -> CryptoProvider {
    let mut provider = ring::default_provider();
    if case == "chacha20" {
        let only = CipherSuite::TLS13_CHACHA20_POLY1305_SHA256;
        provider.cipher_suites.retain(|suite| suite.suite() == only);
    }
    provider
}
