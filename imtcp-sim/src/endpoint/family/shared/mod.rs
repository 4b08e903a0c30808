//! What both sides have in common: connection ids, tokens and the transport's settings.

pub(in crate::endpoint) mod client;
pub(in crate::endpoint) mod server;

use super::{deliver, draw_ids_from, proto};
use crate::endpoint::family::foreign::{self, DATAGRAM_BUFFER, ID_LENGTH, Ids, Refusal, ResetKey};
use crate::endpoint::{IDLE_TIMEOUT, TIMED_OUT};
use crate::network::Ecn;
use crate::random::Random;
use crate::scenario::Flow;
use proto::crypto::{CryptoError, HmacKey};
use proto::{
    Connection, ConnectionError, ConnectionHandle, ConnectionId, ConnectionIdGenerator,
    EcnCodepoint, Endpoint, EndpointConfig, Event, IdleTimeout, TransportConfig, VarInt,
};
use std::sync::Arc;
use std::time::Duration;

fn endpoint_config(flow: &Flow, random: &mut Random) -> Result<EndpointConfig, Refusal> {
    let mut config = EndpointConfig::new(Arc::new(ResetKey::new(random)));
    draw_ids_from(&mut config, Ids(random.fork()));
    config
        .rng_seed(Some(random.bytes()))
        .max_udp_payload_size(foreign::datagram_size(flow.packet)?)
        .map_err(|_| Refusal::OutOfRange("packet"))?;
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

/// The ECN field, as the stack calls it.
fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotCapable => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Experienced => Some(EcnCodepoint::Ce),
    }
}

/// Connection and endpoint tell each other about connection ids. Says why the connection ended, if
/// it has.
fn exchange_events(
    endpoint: &mut Endpoint,
    handle: ConnectionHandle,
    connection: &mut Connection,
) -> Option<String> {
    while let Some(event) = connection.poll_endpoint_events() {
        if let Some(event) = endpoint.handle_event(handle, event) {
            connection.handle_event(event);
        }
    }
    let mut ended = None;
    // The application learns nothing from other events that reading does not show.
    while let Some(event) = connection.poll() {
        if let Event::ConnectionLost { reason } = event {
            ended = Some(match reason {
                ConnectionError::TimedOut => TIMED_OUT.to_owned(),
                reason => reason.to_string(),
            });
        }
    }
    ended
}
