//! noq, which grew out of quinn, as a client. It keeps a cadence of acknowledgements of its own.

use super::foreign::Ids;
use crate::endpoint::SERVER;
use family::{Unadvertised, without_ack_frequency};
use noq_proto as proto;
use noq_proto::crypto::{ClientConfig, Session};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

#[path = "quinn_family.rs"]
#[allow(clippy::duplicate_mod, reason = "the same calls, other types")]
mod family;

pub(super) use family::prepare;

/// How many datagrams a call may write.
const ONE_DATAGRAM: NonZeroUsize = NonZeroUsize::MIN;

fn endpoint_without_server(config: Arc<EndpointConfig>) -> Endpoint {
    Endpoint::new(config, None, false)
}

fn draw_ids_from(config: &mut EndpointConfig, ids: Ids) {
    config.cid_generator(Arc::new(move || Box::new(ids.clone())));
}

fn deliver(
    endpoint: &mut Endpoint,
    now: Instant,
    (payload, ecn): (&[u8], Option<EcnCodepoint>),
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    let path = FourTuple::new(SERVER, None);
    endpoint.handle(now, path, ecn, payload.into(), answer)
}

impl ClientConfig for Unadvertised {
    fn start_session(
        &self,
        version: u32,
        server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let parameters = without_ack_frequency(parameters);
        self.0.start_session(version, server_name, &parameters)
    }
}
