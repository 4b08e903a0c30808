//! The client of quinn and of noq, which grew out of quinn. Their types have the same names and
//! almost the same calls, but are different types. So `quinn.rs` and `noq.rs` each include this
//! file as a module of their own, call their stack `proto`, and make the calls that differ.

use super::{ONE_DATAGRAM, deliver, draw_ids_from, endpoint_without_server, proto};
use crate::endpoint::client::foreign::{
    self, DATAGRAM_BUFFER, ID_LENGTH, Ids, Refusal, ResetKey, SERVER_NAME,
};
use crate::endpoint::client::{Client, Dial};
use crate::endpoint::{IDLE_TIMEOUT, Moment, SERVER};
use crate::network::Ecn;
use crate::random::Random;
use crate::scenario::Flow;
use imtcp_cc::units::Timestamp;
use proto::crypto::rustls::QuicClientConfig;
use proto::crypto::{self, CryptoError, HmacKey};
use proto::transport_parameters::TransportParameters;
use proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    Dir, EcnCodepoint, Endpoint, EndpointConfig, IdleTimeout, Side, StreamId, TransportConfig,
    VarInt,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

struct FamilyClient {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    /// The server's, once it has been opened.
    stream: Option<StreamId>,
    /// Datagrams that the endpoint answered by itself.
    answers: VecDeque<Vec<u8>>,
}

pub(in crate::endpoint::client) fn prepare(
    flow: &Flow,
    mut random: Random,
) -> Result<Dial, Refusal> {
    let endpoint = Arc::new(endpoint_config(flow, &mut random)?);
    let client = client_config(flow, &mut random)?;
    Ok(Box::new(move |moment| {
        let mut endpoint = endpoint_without_server(endpoint);
        let connected = endpoint.connect(moment.instant(), client, SERVER, SERVER_NAME);
        let (handle, connection) = connected.ok()?;
        Some(Box::new(FamilyClient {
            endpoint,
            handle,
            connection,
            stream: None,
            answers: VecDeque::new(),
        }))
    }))
}

fn endpoint_config(flow: &Flow, random: &mut Random) -> Result<EndpointConfig, Refusal> {
    let mut config = EndpointConfig::new(Arc::new(ResetKey::new(random)));
    draw_ids_from(&mut config, Ids(random.fork()));
    config
        .rng_seed(Some(random.bytes()))
        .max_udp_payload_size(foreign::datagram_size(flow.packet)?)
        .map_err(|_| Refusal::OutOfRange("packet"))?;
    Ok(config)
}

fn client_config(flow: &Flow, random: &mut Random) -> Result<ClientConfig, Refusal> {
    let tls = QuicClientConfig::try_from(foreign::tls()?).map_err(|_| Refusal::Cipher)?;
    let tls: Arc<dyn crypto::ClientConfig> = if flow.receiver.ack_frequency {
        Arc::new(tls)
    } else {
        Arc::new(Unadvertised(Arc::new(tls)))
    };
    let mut config = ClientConfig::new(tls);
    let first: [u8; 20] = random.bytes();
    config.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first)));
    config.transport_config(Arc::new(transport(flow)?));
    Ok(config)
}

/// What the scenario says, and the stack's own defaults for the rest. Its `max_ack_delay` cannot be
/// set: it is 25 ms.
fn transport(flow: &Flow) -> Result<TransportConfig, Refusal> {
    let window = VarInt::from_u64(flow.flow_control.get())
        .map_err(|_| Refusal::OutOfRange("flow_control"))?;
    let idle =
        IdleTimeout::try_from(IDLE_TIMEOUT).map_err(|_| Refusal::OutOfRange("the idle timeout"))?;
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(Some(idle))
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(1))
        .receive_window(window)
        .stream_receive_window(window)
        .datagram_receive_buffer_size(Some(DATAGRAM_BUFFER))
        .initial_mtu(foreign::datagram_size(flow.packet)?)
        // It would add packets and sizes that no scenario asks for.
        .mtu_discovery_config(None);
    Ok(transport)
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.draw())
    }

    fn cid_len(&self) -> usize {
        ID_LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        signature.copy_from_slice(&ResetKey::sign(*self, data));
    }

    fn signature_len(&self) -> usize {
        Self::LENGTH
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if ResetKey::sign(*self, data) == signature {
            Ok(())
        } else {
            Err(CryptoError)
        }
    }
}

/// TLS that does not offer the acknowledgement-frequency extension, for which there is no setting.
/// Its session starts with the parameters of [`without_ack_frequency`].
pub(super) struct Unadvertised(pub(super) Arc<QuicClientConfig>);

/// The parameters, without the one that offers the acknowledgement-frequency extension.
pub(super) fn without_ack_frequency(parameters: &TransportParameters) -> TransportParameters {
    let mut encoded = Vec::new();
    parameters.write(&mut encoded);
    foreign::without_ack_frequency(&encoded)
        .and_then(|fewer| TransportParameters::read(Side::Server, &mut fewer.as_slice()).ok())
        .expect("the stack wrote these parameters itself")
}

/// The ECN field, as the stack calls it.
fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotCapable => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Experienced => Some(EcnCodepoint::Ce),
    }
}

impl FamilyClient {
    /// Connection and endpoint tell each other about connection ids.
    fn exchange_events(&mut self) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
        // The application learns nothing from these events that reading does not show.
        while self.connection.poll().is_some() {}
    }

    fn read_stream(&mut self) -> u64 {
        let accepted = || self.connection.streams().accept(Dir::Uni);
        let Some(stream) = self.stream.or_else(accepted) else {
            return 0;
        };
        self.stream = Some(stream);
        let mut receiving = self.connection.recv_stream(stream);
        // A stream that is read to its end exists no longer.
        let Ok(mut chunks) = receiving.read(true) else {
            return 0;
        };
        let mut bytes = 0;
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            bytes += chunk.bytes.len() as u64;
        }
        // The window has moved. The caller asks for datagrams after reading in any case.
        let _ = chunks.finalize();
        bytes
    }
}

impl Client for FamilyClient {
    fn receive(&mut self, moment: Moment<'_>, payload: &mut [u8], (_, ecn): (u64, Ecn)) {
        let now = moment.instant();
        let mut answer = Vec::new();
        let arrived = (&*payload, codepoint(ecn));
        match deliver(&mut self.endpoint, now, arrived, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection.handle_event(event),
            Some(DatagramEvent::Response(_)) => self.answers.push_back(answer),
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            None => {}
        }
        self.exchange_events();
    }

    fn transmit(&mut self, moment: Moment<'_>, buffer: &mut Vec<u8>) -> bool {
        buffer.clear();
        if let Some(answer) = self.answers.pop_front() {
            buffer.extend_from_slice(&answer);
            return true;
        }
        let now = moment.instant();
        let transmit = self.connection.poll_transmit(now, ONE_DATAGRAM, buffer);
        transmit.is_some()
    }

    fn due(&mut self, moment: Moment<'_>) -> Option<Timestamp> {
        let due = self.connection.poll_timeout()?;
        Some(moment.clock.timestamp(due))
    }

    fn on_time(&mut self, moment: Moment<'_>) {
        self.connection.handle_timeout(moment.instant());
        self.exchange_events();
    }

    fn read(&mut self) -> u64 {
        let mut bytes = self.read_stream();
        while let Some(datagram) = self.connection.datagrams().recv() {
            bytes += datagram.len() as u64;
        }
        bytes
    }
}
