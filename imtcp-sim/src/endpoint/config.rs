//! quiche's configuration for both sides of a flow.

use super::{CLIENT, IDLE_TIMEOUT, Tap};
use crate::scenario::{Acknowledge, Controller, Flow};
use baselines::estimators::Kind as Observer;
use baselines::observe::Watching;
use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod};
use boring::x509::X509;
use imtcp_cc::quiche::{Factory, RECEIVE_TIMESTAMPS_PER_ACK, RememberedPath};
use std::sync::Arc;
use std::time::Duration;

/// A self-signed RSA certificate for tests. All RSA signatures have one length. The length of
/// elliptic ones varies by a byte or two, which would move every later packet.
pub(super) const CERTIFICATE: &[u8] = include_bytes!("../../data/cert.pem");
pub(super) const KEY: &[u8] = include_bytes!("../../data/key.pem");

pub(super) const PROTOCOL: &[u8] = b"imtcp-sim";
/// The `min_ack_delay` that the client offers. quinn offers the same.
const MIN_ACK_DELAY: Duration = Duration::from_millis(1);
/// Datagrams that may wait on either side; beyond it quiche drops the oldest.
const DATAGRAM_QUEUE: usize = 4096;
/// How far the application may fill the connection beyond the free window. One window ahead means
/// that a packet is never short because the application was late, whatever the controller holds.
const SEND_CAPACITY_FACTOR: f64 = 2.0;

/// The server's side, and the factory of its controllers if they are of this project. `process` is
/// a factory of the process that the server belongs to, if it is not one of its own.
pub(super) fn server(
    flow: &Flow,
    tap: &Arc<Tap>,
    process: Option<&Factory>,
) -> Result<(quiche::Config, Option<Factory>), quiche::Error> {
    let mut tls = SslContextBuilder::new(SslMethod::tls()).map_err(|_| quiche::Error::TlsFail)?;
    let certificate = X509::from_pem(CERTIFICATE).map_err(|_| quiche::Error::TlsFail)?;
    let key = PKey::private_key_from_pem(KEY).map_err(|_| quiche::Error::TlsFail)?;
    tls.set_certificate(&certificate)
        .map_err(|_| quiche::Error::TlsFail)?;
    tls.set_private_key(&key)
        .map_err(|_| quiche::Error::TlsFail)?;
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls)?;
    common(&mut config, flow)?;
    let mut own = None;
    match flow.controller {
        Controller::Reno => config.set_cc_algorithm_name("reno")?,
        Controller::Cubic => config.set_cc_algorithm_name("cubic")?,
        Controller::Bbr2 => config.set_cc_algorithm_name("bbr2_gcongestion")?,
        Controller::Baseline(kind) => {
            let factory = Arc::new(baselines::controllers::Factory(kind));
            config.set_congestion_controller(observed(factory, flow));
        }
        Controller::Registered(name) => config.set_cc_algorithm_name(name)?,
        // It is a controller of another stack.
        Controller::Foreign(_) => return Err(quiche::Error::CongestionControl),
        Controller::Imtcp => {
            let factory = Factory::new(flow.imtcp.clone()).with_subscriber(tap.clone());
            let factory = match process {
                Some(process) => factory.beside(process),
                None => factory,
            };
            if let Some(path) = flow.remembered {
                let (network, age) = (CLIENT.ip(), Duration::ZERO);
                let path = RememberedPath { network, path, age };
                factory.remember(&path, quiche::clock::now());
            }
            config.set_congestion_controller(observed(Arc::new(factory.clone()), flow));
            own = Some(factory);
        }
    }
    config.set_send_capacity_factor(SEND_CAPACITY_FACTOR);
    if flow.receiver.receive_timestamps {
        config.set_max_receive_timestamps_per_ack(RECEIVE_TIMESTAMPS_PER_ACK);
    }
    Ok((config, own))
}

/// The same, watched by the estimators of the literature where the flow wants that.
pub(super) fn observed(
    factory: Arc<dyn quiche::cc::Factory>,
    flow: &Flow,
) -> Arc<dyn quiche::cc::Factory> {
    match flow.observers {
        true => Arc::new(Watching::new(factory, &Observer::ALL)),
        false => factory,
    }
}

pub(super) fn client(flow: &Flow) -> Result<quiche::Config, quiche::Error> {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
    common(&mut config, flow)?;
    config.verify_peer(false);
    let delay_ms = flow.receiver.delay.as_millis();
    config.set_max_ack_delay(u64::try_from(delay_ms).unwrap_or(u64::MAX));
    if flow.receiver.ack_frequency {
        config.enable_ack_frequency(MIN_ACK_DELAY);
        match flow.receiver.acknowledge {
            // The default, which acknowledges what came whenever it is asked for a datagram.
            Acknowledge::Every(1) => {}
            Acknowledge::Every(count) => config.set_delayed_acks(u64::from(count) - 1),
            Acknowledge::Tcp => config.set_delayed_acks(1),
            Acknowledge::Timer => config.set_delayed_acks(u64::MAX),
        }
    }
    config.enable_receive_timestamps(flow.receiver.receive_timestamps);
    let window = flow.flow_control.get();
    config.set_initial_max_data(window);
    config.set_initial_max_stream_data_uni(window);
    config.set_initial_max_streams_uni(1);
    config.set_max_connection_window(window);
    config.set_max_stream_window(window);
    Ok(config)
}

fn common(config: &mut quiche::Config, flow: &Flow) -> Result<(), quiche::Error> {
    let packet = usize::try_from(flow.packet.get()).unwrap_or(usize::MAX);
    config.set_application_protos(&[PROTOCOL])?;
    let idle_ms = IDLE_TIMEOUT.as_millis();
    config.set_max_idle_timeout(u64::try_from(idle_ms).unwrap_or(u64::MAX));
    config.set_max_recv_udp_payload_size(packet);
    config.set_max_send_udp_payload_size(packet);
    config.set_disable_active_migration(true);
    config.enable_dgram(true, DATAGRAM_QUEUE, DATAGRAM_QUEUE);
    // GREASE and path MTU discovery would add packets and sizes that no scenario asks for.
    config.grease(false);
    config.discover_pmtu(false);
    Ok(())
}
