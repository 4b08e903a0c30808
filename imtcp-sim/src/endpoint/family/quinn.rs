//! quinn. As a client it keeps a cadence of acknowledgements of its own.

use super::foreign::Ids;
use crate::endpoint::server::Account;
use crate::scenario::Foreign;
use quinn_proto as proto;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig};
use quinn_proto::crypto::{ClientConfig, Session};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ConnectError, Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, ServerConfig,
};
use shared::client::{Unadvertised, without_ack_frequency};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

#[path = "shared/mod.rs"]
#[allow(clippy::duplicate_mod, reason = "the same calls, other types")]
mod shared;

pub(in crate::endpoint) use shared::{client, server};

/// How many datagrams a call may write.
const ONE_DATAGRAM: usize = 1;

fn endpoint_without_server(config: Arc<EndpointConfig>) -> Endpoint {
    Endpoint::new(config, None, false, None)
}

fn endpoint_with_server(config: Arc<EndpointConfig>, server: Arc<ServerConfig>) -> Endpoint {
    Endpoint::new(config, Some(server), false, None)
}

/// quinn has two of the controllers.
fn controller(kind: Foreign) -> Option<Arc<dyn ControllerFactory + Send + Sync>> {
    match kind {
        Foreign::QuinnCubic => Some(Arc::new(CubicConfig::default())),
        Foreign::QuinnBbr => Some(Arc::new(BbrConfig::default())),
        Foreign::NoqCubic | Foreign::NoqBbr3 => None,
    }
}

/// BBR tells its pacing rate, which is zero before it knows one.
fn account(connection: &mut Connection) -> Account {
    let stats = connection.stats();
    let path = stats.path;
    let metrics = connection.congestion_state().metrics();
    Account {
        window: path.cwnd,
        smoothed_rtt: path.rtt,
        sent_packets: path.sent_packets,
        sent_bytes: stats.udp_tx.bytes,
        lost_packets: path.lost_packets,
        retransmitted_bytes: path.lost_bytes,
        told_bps: metrics.pacing_rate.filter(|rate| *rate > 0),
    }
}

fn draw_ids_from(config: &mut EndpointConfig, ids: Ids) {
    config.cid_generator(move || Box::new(ids.clone()));
}

fn deliver(
    endpoint: &mut Endpoint,
    (now, from): (Instant, SocketAddr),
    (payload, ecn): (&[u8], Option<EcnCodepoint>),
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, from, None, ecn, payload.into(), answer)
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
