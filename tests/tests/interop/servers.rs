//! quinn and noq as servers: connections that send a stream.

use quinn_proto::rustls;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
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
    /// Goes on to the next generation of keys. Ignored while the last update is not over.
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
    let certificate = CertificateDer::from_pem_slice(include_bytes!("../../data/cert.pem"));
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../data/key.pem"));
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

/// The two have one interface but for a few calls.
macro_rules! server {
    ($module:ident, $proto:ident, $endpoint:expr, $remote:expr, $datagrams:expr, $lost:expr) => {
        pub mod $module {
            use super::*;
            use $proto::crypto::rustls::QuicServerConfig;
            use $proto::{
                AckFrequencyConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint,
                EndpointConfig, ServerConfig, StreamId, TransportConfig, VarInt, crypto,
            };

            pub struct Stack {
                endpoint: Endpoint,
                connection: Option<(ConnectionHandle, Connection)>,
                stream: Option<StreamId>,
                /// The client's.
                incoming: Option<StreamId>,
                /// Every datagram of the client's comes marked as congested.
                pub congested: bool,
            }

            impl Stack {
                pub fn new(asks: Option<Asks>) -> Self {
                    let tls = QuicServerConfig::try_from(tls()).expect("TLS has AES-128");
                    Self::with_crypto(Arc::new(tls), asks)
                }

                pub fn with_crypto(tls: Arc<dyn crypto::ServerConfig>, asks: Option<Asks>) -> Self {
                    let mut transport = TransportConfig::default();
                    transport.mtu_discovery_config(None).initial_mtu(PACKET);
                    transport.ack_frequency_config(asks.map(|asks| {
                        let mut config = AckFrequencyConfig::default();
                        config
                            .ack_eliciting_threshold(VarInt::from_u32(asks.threshold))
                            .max_ack_delay(Some(asks.max_ack_delay));
                        config
                    }));
                    let mut server = ServerConfig::with_crypto(tls);
                    server.transport = Arc::new(transport);
                    let mut endpoint = EndpointConfig::default();
                    endpoint.rng_seed(Some([7; 32]));
                    Self {
                        endpoint: $endpoint(Arc::new(endpoint), Some(Arc::new(server))),
                        connection: None,
                        stream: None,
                        incoming: None,
                        congested: false,
                    }
                }

                fn exchange_events(&mut self) {
                    let Some((handle, connection)) = &mut self.connection else {
                        return;
                    };
                    while let Some(event) = connection.poll_endpoint_events() {
                        if let Some(event) = self.endpoint.handle_event(*handle, event) {
                            connection.handle_event(event);
                        }
                    }
                    while connection.poll().is_some() {}
                }
            }

            impl Server for Stack {
                fn receive(&mut self, now: Instant, payload: &[u8]) {
                    let mut answer = Vec::new();
                    let mark = self.congested.then_some($proto::EcnCodepoint::Ce);
                    let event = $remote(&mut self.endpoint, now, mark, payload, &mut answer);
                    match event {
                        Some(DatagramEvent::NewConnection(incoming)) => {
                            let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                            self.connection = accepted.ok();
                        }
                        Some(DatagramEvent::ConnectionEvent(_, event)) => {
                            if let Some((_, connection)) = &mut self.connection {
                                connection.handle_event(event);
                            }
                        }
                        other => assert!(
                            other.is_none(),
                            "{} answered by itself",
                            stringify!($module)
                        ),
                    }
                    self.exchange_events();
                }

                fn transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
                    let (_, connection) = self.connection.as_mut()?;
                    let mut buffer = Vec::new();
                    let transmit = connection.poll_transmit(now, $datagrams, &mut buffer);
                    transmit.map(|_| buffer)
                }

                fn due(&mut self) -> Option<Instant> {
                    self.connection.as_mut()?.1.poll_timeout()
                }

                fn on_time(&mut self, now: Instant) {
                    if let Some((_, connection)) = &mut self.connection {
                        connection.handle_timeout(now);
                    }
                    self.exchange_events();
                }

                fn write(&mut self, bytes: usize) -> Option<usize> {
                    let (_, connection) = self.connection.as_mut()?;
                    if connection.is_handshaking() {
                        return None;
                    }
                    let opened = self.stream.or_else(|| connection.streams().open(Dir::Uni));
                    self.stream = opened;
                    let data = vec![0; bytes];
                    // Blocked is a number of bytes as well: none.
                    Some(connection.send_stream(opened?).write(&data).unwrap_or(0))
                }

                fn read(&mut self) -> u64 {
                    let Some((_, connection)) = &mut self.connection else {
                        return 0;
                    };
                    let accepted = || connection.streams().accept(Dir::Uni);
                    self.incoming = self.incoming.or_else(accepted);
                    let Some(stream) = self.incoming else {
                        return 0;
                    };
                    let mut receiving = connection.recv_stream(stream);
                    let Ok(mut chunks) = receiving.read(true) else {
                        return 0;
                    };
                    let mut bytes = 0;
                    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                        bytes += chunk.bytes.len() as u64;
                    }
                    // Whoever reads asks for datagrams afterwards anyway.
                    let _ = chunks.finalize();
                    bytes
                }

                fn update_keys(&mut self) {
                    if let Some((_, connection)) = &mut self.connection {
                        connection.force_key_update();
                    }
                }

                fn frames(&mut self) -> Frames {
                    let Some((_, connection)) = &mut self.connection else {
                        return Frames::default();
                    };
                    let stats = connection.stats();
                    Frames {
                        acks: stats.frame_rx.acks,
                        ack_frequency: stats.frame_tx.ack_frequency,
                        lost_packets: $lost(&stats),
                    }
                }
            }
        }
    };
}

server!(
    quinn,
    quinn_proto,
    |config, server| quinn_proto::Endpoint::new(config, server, false, None),
    |endpoint: &mut quinn_proto::Endpoint, now, mark, payload: &[u8], answer| {
        endpoint.handle(now, CLIENT, None, mark, payload.into(), answer)
    },
    1,
    |stats: &quinn_proto::ConnectionStats| stats.path.lost_packets
);
server!(
    noq,
    noq_proto,
    |config, server| noq_proto::Endpoint::new(config, server, false),
    |endpoint: &mut noq_proto::Endpoint, now, mark, payload: &[u8], answer| {
        let path = noq_proto::FourTuple::new(CLIENT, None);
        endpoint.handle(now, path, mark, payload.into(), answer)
    },
    NonZeroUsize::MIN,
    |stats: &noq_proto::ConnectionStats| stats.lost_packets
);
