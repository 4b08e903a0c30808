//! quinn and noq as servers: connections that send a stream.

pub mod noq;
pub mod quinn;

use quinn_proto::rustls;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 50_000);
pub const PROTOCOL: &[u8] = b"interop";
/// UDP payload of a full packet.
pub const PACKET: u16 = 1350;

/// What a server asks of its client in ACK_FREQUENCY frames.
#[derive(Clone, Copy, Debug)]
pub struct Asks {
    /// Ack-eliciting packets that may come without an acknowledgement.
    pub threshold: u32,
    pub max_ack_delay: Duration,
}

/// A server that sends one stream.
pub trait Server {
    fn receive(&mut self, now: Instant, payload: &[u8]);
    fn transmit(&mut self, now: Instant) -> Option<Vec<u8>>;
    fn due(&mut self) -> Option<Instant>;
    fn on_time(&mut self, now: Instant);
    /// Writes up to so many bytes and says how many were taken. None before the handshake is over.
    fn write(&mut self, bytes: usize) -> Option<usize>;
    /// Reads what has come on the client's streams, and says how much it was.
    fn read(&mut self) -> u64;
    /// Goes on to the next generation of keys. Does nothing while the last update is not over.
    fn update_keys(&mut self);
    /// ACK frames received, and ACK_FREQUENCY frames sent.
    fn frames(&mut self) -> Frames;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    pub acks: u64,
    pub ack_frequency: u64,
    pub lost_packets: u64,
}

pub fn tls() -> rustls::ServerConfig {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("../../../data/cert.pem"));
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../../data/key.pem"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.expect("a certificate")],
            key.expect("a key"),
        )
        .expect("the key is the certificate's");
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls
}
