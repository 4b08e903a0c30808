//! A server that advertises because its client does.

use std::mem::ManuallyDrop;
use std::time::Duration;

use super::advertised;
use super::parse_transport_params;
use super::MIN_ACK_DELAY;
use crate::tls::ExData;
use crate::tls::Handshake;

/// What an answer advertises: kGranularity (RFC 9002, section 6.1.2), which any event loop's timer
/// has to have.
const SHORTEST: Duration = Duration::from_millis(1);

/// The client's first message was read, and the server's parameters are not written yet. Adds
/// `min_ack_delay` to them if the controllers of this server ask, and the client would follow. A
/// client without the parameter is sent what it would be sent otherwise.
pub(crate) fn answer(mut handshake: ManuallyDrop<Handshake>, ex_data: &mut ExData) {
    if !ex_data.is_server || advertised(&ex_data.extension_params).is_some() || !asks(ex_data) {
        return;
    }
    let theirs = parse_transport_params(handshake.quic_transport_params(), true);
    if !theirs.is_ok_and(|delay| delay.is_some()) {
        return;
    }
    let params = &ex_data.local_transport_params;
    // It may not exceed max_ack_delay, and picoquic closes the connection for a 0.
    if Duration::from_millis(params.max_ack_delay) < SHORTEST {
        return;
    }
    let mut extended = ex_data.extension_params.clone();
    extended.push((MIN_ACK_DELAY, SHORTEST.as_micros() as u64));
    let is_set = handshake.set_quic_transport_params(params, ex_data.is_server, &extended);
    // Without an answer nothing is asked, and the connection is as good as without the extension.
    if is_set.is_ok() {
        ex_data.extension_params = extended;
    }
}

fn asks(ex_data: &ExData) -> bool {
    ex_data
        .recovery_config
        .congestion_controller
        .as_ref()
        .is_some_and(|factory| factory.0.requests_acks())
}
