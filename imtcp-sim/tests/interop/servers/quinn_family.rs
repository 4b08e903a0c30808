//! The server of quinn and of noq, which grew out of quinn. Their types have the same names and
//! almost the same calls, but are different types. So `quinn.rs` and `noq.rs` each include this
//! file as a module of their own, call their stack `proto`, and make the calls that differ.

use super::{ONE_DATAGRAM, deliver, endpoint_with_server, lost_packets, proto};
use crate::servers::{Asks, Frames, PACKET, Server, tls};
use proto::crypto::rustls::QuicServerConfig;
use proto::{
    AckFrequencyConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, ServerConfig, StreamId, TransportConfig, VarInt, crypto,
};
use std::sync::Arc;
use std::time::Instant;

pub struct Stack {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    /// The client's stream.
    incoming: Option<StreamId>,
    /// Every datagram from the client comes marked as congested.
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
            endpoint: endpoint_with_server(Arc::new(endpoint), Arc::new(server)),
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
        let mark = self.congested.then_some(EcnCodepoint::Ce);
        let event = deliver(&mut self.endpoint, now, mark, payload, &mut answer);
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
            other => assert!(other.is_none(), "{} answered by itself", module_path!()),
        }
        self.exchange_events();
    }

    fn transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        let (_, connection) = self.connection.as_mut()?;
        let mut buffer = Vec::new();
        let transmit = connection.poll_transmit(now, ONE_DATAGRAM, &mut buffer);
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
        // A stream that is blocked takes no bytes.
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
        // The caller asks for datagrams after reading in any case.
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
            lost_packets: lost_packets(&stats),
        }
    }
}
