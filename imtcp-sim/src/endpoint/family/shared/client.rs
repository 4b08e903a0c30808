//! The client.

use super::super::{ONE_DATAGRAM, endpoint_without_server};
use super::{codepoint, deliver, endpoint_config, exchange_events, proto, transport};
use crate::endpoint::client::{Client, Dial};
use crate::endpoint::family::foreign::{self, Refusal, SERVER_NAME};
use crate::endpoint::{Moment, SERVER};
use crate::network::Ecn;
use crate::random::Random;
use crate::scenario::Flow;
use imtcp_cc::units::Timestamp;
use proto::crypto;
use proto::crypto::rustls::QuicClientConfig;
use proto::transport_parameters::TransportParameters;
use proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, DatagramEvent, Dir, Endpoint, Side,
    StreamId,
};
use std::collections::VecDeque;
use std::sync::Arc;

struct FamilyClient {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    /// The server's, once it has been opened.
    stream: Option<StreamId>,
    /// Datagrams that the endpoint answered by itself.
    answers: VecDeque<Vec<u8>>,
}

pub(in crate::endpoint) fn prepare(flow: &Flow, mut random: Random) -> Result<Dial, Refusal> {
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

fn client_config(flow: &Flow, random: &mut Random) -> Result<ClientConfig, Refusal> {
    let tls = QuicClientConfig::try_from(foreign::client_tls()?).map_err(|_| Refusal::Cipher)?;
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

/// TLS that does not offer the acknowledgement-frequency extension, for which there is no setting.
/// Its session starts with the parameters of [`without_ack_frequency`].
pub(in crate::endpoint::family) struct Unadvertised(
    pub(in crate::endpoint::family) Arc<QuicClientConfig>,
);

/// The parameters, without the one that offers the acknowledgement-frequency extension.
pub(in crate::endpoint::family) fn without_ack_frequency(
    parameters: &TransportParameters,
) -> TransportParameters {
    let mut encoded = Vec::new();
    parameters.write(&mut encoded);
    foreign::without_ack_frequency(&encoded)
        .and_then(|fewer| TransportParameters::read(Side::Server, &mut fewer.as_slice()).ok())
        .expect("the stack wrote these parameters itself")
}

impl FamilyClient {
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
        match deliver(&mut self.endpoint, (now, SERVER), arrived, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection.handle_event(event),
            Some(DatagramEvent::Response(_)) => self.answers.push_back(answer),
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            None => {}
        }
        exchange_events(&mut self.endpoint, self.handle, &mut self.connection);
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
        exchange_events(&mut self.endpoint, self.handle, &mut self.connection);
    }

    fn read(&mut self) -> u64 {
        let mut bytes = self.read_stream();
        while let Some(datagram) = self.connection.datagrams().recv() {
            bytes += datagram.len() as u64;
        }
        bytes
    }
}
