//! noq as a server.

use crate::servers::CLIENT;
use noq_proto as proto;
use proto::{ConnectionStats, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, ServerConfig};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

#[path = "quinn_family.rs"]
#[allow(clippy::duplicate_mod, reason = "the same calls, other types")]
mod family;

pub use family::Stack;

/// How many datagrams a call may write.
const ONE_DATAGRAM: NonZeroUsize = NonZeroUsize::MIN;

fn endpoint_with_server(config: Arc<EndpointConfig>, server: Arc<ServerConfig>) -> Endpoint {
    Endpoint::new(config, Some(server), false)
}

fn deliver(
    endpoint: &mut Endpoint,
    now: Instant,
    mark: Option<EcnCodepoint>,
    payload: &[u8],
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    let path = noq_proto::FourTuple::new(CLIENT, None);
    endpoint.handle(now, path, mark, payload.into(), answer)
}

fn lost_packets(stats: &ConnectionStats) -> u64 {
    stats.lost_packets
}
