//! quiche's configuration for both ends.

use crate::case::Case;
use crate::environment::Parameters;
use anyhow::Result;
use boring::ssl::SslContextBuilder;
use imtcp_cc::quiche::{Factory, RECEIVE_TIMESTAMPS_PER_ACK};
use imtcp_cc::units::Bytes;
use quiche::ConnectionId;
use std::sync::Arc;
use std::time::Duration;

/// UDP payload of the largest packet: fits into an Ethernet frame over IPv6 with room to spare.
pub const DATAGRAM: usize = 1350;

/// Datagrams taken, or sent, before the other direction gets its turn.
pub const BATCH: usize = 64;

/// Bytes of a connection id; packets with a short header do not say.
pub const CONNECTION_ID: usize = 16;

/// HTTP/0.9 over QUIC, as the runner calls it.
pub const HQ: &[u8] = b"hq-interop";

/// IPv4 and UDP. Over IPv6 each packet has 20 bytes more, which no case is about.
const HEADERS: u64 = 28;
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Requests at a time on one connection. The runner allows up to 1000.
const REQUESTS: u64 = 100;
/// Streams of HTTP/3's own.
const CONTROL_STREAMS: u64 = 8;
/// What a client may send in requests.
const REQUEST_BYTES: u64 = 64 << 10;
/// What a client takes ahead of the program: far above 10 Mbit/s at 1.5 s.
const RESPONSE_BYTES: u64 = 16 << 20;
/// Identifiers that the other side may keep for paths to come.
const CONNECTION_IDS: u64 = 4;
/// The round trip that is assumed before the first is measured. A third of what RFC 9002 proposes:
/// where packets are lost, a handshake repeats what is missing after 0.3 s and not after a second,
/// and quic-go's client gives a server 5 s.
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// The shortest delay that a server may ask for.
const MIN_ACK_DELAY: Duration = Duration::from_micros(100);

/// The server's configuration.
///
/// # Errors
/// quiche's.
pub fn server(
    tls: SslContextBuilder,
    case: Case,
    parameters: Parameters,
    logs_keys: bool,
) -> Result<quiche::Config> {
    let mut config = common(tls, parameters, logs_keys)?;
    config.set_application_protos(&match case {
        Case::Http3 => vec![b"h3".as_slice()],
        _ => vec![HQ, b"h3"],
    })?;
    config.set_initial_max_data(REQUESTS * REQUEST_BYTES);
    config.set_initial_max_stream_data_bidi_remote(REQUEST_BYTES);
    config.set_initial_max_streams_bidi(REQUESTS);
    if case == Case::ZeroRtt {
        config.enable_early_data();
    }
    Ok(config)
}

/// The client's configuration.
///
/// # Errors
/// quiche's.
pub fn client(
    tls: SslContextBuilder,
    case: Case,
    parameters: Parameters,
    logs_keys: bool,
) -> Result<quiche::Config> {
    let mut config = common(tls, parameters, logs_keys)?;
    let speaks_http3 = case == Case::Http3 || parameters.http3;
    config.set_application_protos(&[if speaks_http3 { b"h3" } else { HQ }])?;
    config.verify_peer(false);
    config.set_initial_max_data(RESPONSE_BYTES);
    config.set_initial_max_stream_data_bidi_local(RESPONSE_BYTES);
    config.set_max_connection_window(RESPONSE_BYTES);
    config.set_max_stream_window(RESPONSE_BYTES);
    if case == Case::ZeroRtt {
        config.enable_early_data();
    }
    Ok(config)
}

fn common(
    tls: SslContextBuilder,
    parameters: Parameters,
    logs_keys: bool,
) -> Result<quiche::Config> {
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls)?;
    config.set_max_idle_timeout(IDLE_TIMEOUT.as_millis().try_into()?);
    config.set_max_recv_udp_payload_size(DATAGRAM);
    config.set_max_send_udp_payload_size(DATAGRAM);
    config.set_initial_max_stream_data_uni(REQUEST_BYTES);
    config.set_initial_max_streams_uni(CONTROL_STREAMS);
    config.set_active_connection_id_limit(CONNECTION_IDS);
    config.set_initial_rtt(INITIAL_RTT);
    config.enable_ack_frequency(MIN_ACK_DELAY);
    if parameters.receive_timestamps {
        config.enable_receive_timestamps(true);
        config.set_max_receive_timestamps_per_ack(RECEIVE_TIMESTAMPS_PER_ACK);
    }
    if logs_keys {
        config.log_keys();
    }
    if parameters.cubic {
        config.set_cc_algorithm(quiche::CongestionControlAlgorithm::CUBIC);
        return Ok(config);
    }
    let measuring = imtcp_cc::Config::builder()
        .header_overhead(Bytes::new(HEADERS))
        .takes_marks(true)
        .build()?;
    config.set_congestion_controller(Arc::new(Factory::new(measuring)));
    Ok(config)
}

/// A connection id that nobody can guess.
///
/// # Errors
/// The system has no randomness.
pub fn connection_id() -> Result<ConnectionId<'static>> {
    let mut bytes = vec![0; CONNECTION_ID];
    boring::rand::rand_bytes(&mut bytes)?;
    Ok(ConnectionId::from_vec(bytes))
}

/// Gives the other side identifiers for paths to come, as many as it keeps.
///
/// # Errors
/// The system has no randomness.
pub fn offer_identifiers(
    connection: &mut quiche::Connection,
) -> Result<Vec<ConnectionId<'static>>> {
    let mut offered = Vec::new();
    while connection.is_established() && connection.scids_left() > 0 {
        let id = connection_id()?;
        let mut token = [0; 16];
        boring::rand::rand_bytes(&mut token)?;
        if connection
            .new_scid(&id, u128::from_be_bytes(token), false)
            .is_err()
        {
            break;
        }
        offered.push(id);
    }
    Ok(offered)
}
