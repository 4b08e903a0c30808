//! quinn as a client. It keeps a cadence of acknowledgements of its own.

use super::foreign::Ids;
use crate::endpoint::SERVER;
use family::{Unadvertised, without_ack_frequency};
use quinn_proto as proto;
use quinn_proto::crypto::{ClientConfig, Session};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig};
use std::sync::Arc;
use std::time::Instant;

#[path = "quinn_family.rs"]
#[allow(clippy::duplicate_mod, reason = "the same calls, other types")]
mod family;

pub(super) use family::prepare;

/// How many datagrams a call may write.
const ONE_DATAGRAM: usize = 1;

fn endpoint_without_server(config: Arc<EndpointConfig>) -> Endpoint {
    Endpoint::new(config, None, false, None)
}

fn draw_ids_from(config: &mut EndpointConfig, ids: Ids) {
    config.cid_generator(move || Box::new(ids.clone()));
}

fn deliver(
    endpoint: &mut Endpoint,
    now: Instant,
    (payload, ecn): (&[u8], Option<EcnCodepoint>),
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, SERVER, None, ecn, payload.into(), answer)
}

impl ClientConfig for Unadvertised {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let tls = self.0.clone();
        tls.start_session(version, server_name, &without_ack_frequency(parameters))
    }
}
