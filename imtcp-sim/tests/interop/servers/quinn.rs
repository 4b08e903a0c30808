//! quinn as a server.

use crate::servers::CLIENT;
use proto::{ConnectionStats, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, ServerConfig};
use quinn_proto as proto;
use std::sync::Arc;
use std::time::Instant;

#[path = "quinn_family.rs"]
#[allow(clippy::duplicate_mod, reason = "the same calls, other types")]
mod family;

pub use family::Stack;

/// How many datagrams a call may write.
const ONE_DATAGRAM: usize = 1;

fn endpoint_with_server(config: Arc<EndpointConfig>, server: Arc<ServerConfig>) -> Endpoint {
    Endpoint::new(config, Some(server), false, None)
}

fn deliver(
    endpoint: &mut Endpoint,
    now: Instant,
    mark: Option<EcnCodepoint>,
    payload: &[u8],
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, CLIENT, None, mark, payload.into(), answer)
}

fn lost_packets(stats: &ConnectionStats) -> u64 {
    stats.path.lost_packets
}
