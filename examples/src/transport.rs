//! quiche's configuration for both ends.

use anyhow::Result;
use boring::ssl::SslContextBuilder;
use std::time::Duration;

/// UDP payload of the largest packet: fits into an Ethernet frame over IPv6 with room to spare.
pub(crate) const DATAGRAM: usize = 1350;

/// What every path carries (RFC 9000, section 14).
const EVERY_PATH: usize = 1200;

/// The largest UDP payload that there can be. quiche tells peers that it takes [`DATAGRAM`], and
/// takes what is longer all the same.
pub(crate) const RECEIVE_BUFFER: usize = 65_535;

/// Datagrams taken, or sent, before the other direction gets its turn.
pub(crate) const BATCH: usize = 64;

const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Requests at a time on one connection.
const REQUESTS: u64 = 100;
/// HTTP/3 needs three streams of its own in each direction (RFC 9114, section 6.2), and there may
/// be reserved ones besides.
const CONTROL_STREAMS: u64 = 8;
/// What a client may send in requests that nobody reads in full.
const REQUEST_BYTES: u64 = 64 << 10;
/// What a client takes ahead of the program: 1 Gbit/s at 130 ms.
const RESPONSE_BYTES: u64 = 16 << 20;
/// How far the application may fill the connection beyond the free window: one window ahead, so
/// that no packet is short because the file was read too late.
const SEND_CAPACITY_FACTOR: f64 = 2.0;
/// Acknowledgement delays in units of 1 µs, the finest there is: an arrival is known no better
/// than the delay of its acknowledgement.
const ACK_DELAY_EXPONENT: u64 = 0;
/// The shortest delay that a server may ask for: the client's timer wakes it within 40 µs and,
/// where the cores are busy, somewhat later.
const MIN_ACK_DELAY: Duration = Duration::from_micros(100);

pub(crate) fn server(tls: SslContextBuilder) -> Result<quiche::Config> {
    let mut config = common(tls)?;
    // Larger packets than every path carries are tried first: none is divided on its way.
    config.set_max_send_udp_payload_size(DATAGRAM);
    config.discover_pmtu(true);
    config.set_initial_max_data(REQUESTS * REQUEST_BYTES);
    config.set_initial_max_stream_data_bidi_remote(REQUEST_BYTES);
    config.set_initial_max_streams_bidi(REQUESTS);
    config.set_send_capacity_factor(SEND_CAPACITY_FACTOR);
    Ok(config)
}

/// What a client lets servers know and decide about its acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offers {
    /// draft-ietf-quic-ack-frequency: how often there is one.
    pub(crate) ack_frequency: bool,
    /// draft-ietf-quic-receive-ts: when each packet arrived.
    pub(crate) receive_timestamps: bool,
}

pub(crate) fn client(
    tls: SslContextBuilder,
    verify: bool,
    offers: Offers,
) -> Result<quiche::Config> {
    let mut config = common(tls)?;
    config.verify_peer(verify);
    // It sends a request and acknowledgements.
    config.set_max_send_udp_payload_size(EVERY_PATH);
    if offers.ack_frequency {
        config.enable_ack_frequency(MIN_ACK_DELAY);
    }
    config.enable_receive_timestamps(offers.receive_timestamps);
    config.set_initial_max_data(RESPONSE_BYTES);
    config.set_initial_max_stream_data_bidi_local(RESPONSE_BYTES);
    config.set_max_connection_window(RESPONSE_BYTES);
    config.set_max_stream_window(RESPONSE_BYTES);
    Ok(config)
}

fn common(tls: SslContextBuilder) -> Result<quiche::Config> {
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls)?;
    config.set_application_protos(quiche::h3::APPLICATION_PROTOCOL)?;
    config.set_max_idle_timeout(IDLE_TIMEOUT.as_millis().try_into()?);
    config.set_max_recv_udp_payload_size(DATAGRAM);
    config.set_initial_max_stream_data_uni(REQUEST_BYTES);
    config.set_initial_max_streams_uni(CONTROL_STREAMS);
    config.set_disable_active_migration(true);
    config.set_ack_delay_exponent(ACK_DELAY_EXPONENT);
    // Unless it is asked for something else, the receiver answers each datagram at once.
    config.set_max_ack_delay(1);
    Ok(config)
}

/// Bytes of a connection id; packets with a short header do not say.
pub(crate) const CONNECTION_ID: usize = 16;

/// A connection id that nobody can guess.
pub(crate) fn connection_id() -> Result<quiche::ConnectionId<'static>> {
    let mut bytes = vec![0; CONNECTION_ID];
    boring::rand::rand_bytes(&mut bytes)?;
    Ok(quiche::ConnectionId::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use crate::pair::Pair;

    #[test]
    fn a_path_that_carries_less_than_ethernet_carries_the_file() {
        // As through a tunnel.
        let narrow = 1_280 - 48;
        let mut pair = Pair::over(narrow);
        // The first stream of a server's own.
        let (stream, body) = (3, [7; 5_000]);
        let written = pair.server.stream_send(stream, &body, true);
        assert_eq!(written, Ok(body.len()));
        pair.exchange_over(narrow);
        let mut taken = [0; 6_000];
        let came = pair.client.stream_recv(stream, &mut taken);
        assert_eq!(came, Ok((body.len(), true)));
    }
}
