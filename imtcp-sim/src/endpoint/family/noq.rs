//! noq, which grew out of quinn. As a client it keeps a cadence of acknowledgements of its own.

use super::foreign::Ids;
use crate::endpoint::server::Account;
use crate::scenario::Foreign;
use noq_proto as proto;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig};
use noq_proto::crypto::{ClientConfig, Session};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{
    ConnectError, Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple,
    PathId, ServerConfig,
};
use shared::client::{Unadvertised, without_ack_frequency};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

#[path = "shared/mod.rs"]
#[allow(clippy::duplicate_mod, reason = "the same calls, other types")]
mod shared;

pub(in crate::endpoint) use shared::{client, server};

/// How many datagrams a call may write.
const ONE_DATAGRAM: NonZeroUsize = NonZeroUsize::MIN;

fn endpoint_without_server(config: Arc<EndpointConfig>) -> Endpoint {
    Endpoint::new(config, None, false)
}

fn endpoint_with_server(config: Arc<EndpointConfig>, server: Arc<ServerConfig>) -> Endpoint {
    Endpoint::new(config, Some(server), false)
}

/// noq has two of the controllers.
fn controller(kind: Foreign) -> Option<Arc<dyn ControllerFactory + Send + Sync>> {
    match kind {
        Foreign::NoqCubic => Some(Arc::new(CubicConfig::default())),
        Foreign::NoqBbr3 => Some(Arc::new(Bbr3Config::default())),
        Foreign::QuinnCubic | Foreign::QuinnBbr => None,
    }
}

/// BBRv3 tells an estimate of the bandwidth.
fn account(connection: &mut Connection) -> Account {
    let Some(path) = connection.path_stats(PathId::ZERO) else {
        return Account::default();
    };
    Account {
        window: path.cwnd,
        smoothed_rtt: path.rtt,
        sent_packets: path.sent_packets,
        sent_bytes: path.udp_tx.bytes,
        lost_packets: path.lost_packets,
        retransmitted_bytes: path.lost_bytes,
        told_bps: path.bandwidth_estimate,
    }
}

fn draw_ids_from(config: &mut EndpointConfig, ids: Ids) {
    config.cid_generator(Arc::new(move || Box::new(ids.clone())));
}

fn deliver(
    endpoint: &mut Endpoint,
    (now, from): (Instant, SocketAddr),
    (payload, ecn): (&[u8], Option<EcnCodepoint>),
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    let path = FourTuple::new(from, None);
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
