//! quinn goes on to new keys in the middle of a transfer, while quiche holds data.

use crate::servers::{quinn, tls};
use crate::world::{World, client_config};
use bytes::BytesMut;
use imtcp_cc::units::Timestamp;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::crypto::{
    CryptoError, ExportKeyingMaterialError, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, TransportError};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const UPDATES: u64 = 5;
/// What the application writes at a time. A full window would never be held back.
const WRITE: usize = 15_000;
const WRITES: u64 = 250;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_origin(Duration::from_millis(millis))
}

/// Packets that the server sealed with one generation of keys, and those of the client that it
/// opened.
#[derive(Debug, Default)]
struct Uses {
    sealed: AtomicU64,
    opened: AtomicU64,
}

/// The generations that follow the first, in their order.
#[derive(Clone, Default)]
struct Generations(Arc<Mutex<Vec<Arc<Uses>>>>);

impl Generations {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Uses>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// TLS whose keys count what is done with them.
struct Counted<T> {
    tls: T,
    generations: Generations,
}

impl ServerConfig for Counted<Arc<QuicServerConfig>> {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.tls.initial_keys(version, id)
    }

    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.tls.retry_tag(version, id, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        parameters: &TransportParameters,
    ) -> Box<dyn Session> {
        Box::new(Counted {
            tls: self.tls.clone().start_session(version, parameters),
            generations: self.generations.clone(),
        })
    }
}

impl Session for Counted<Box<dyn Session>> {
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let KeyPair { local, remote } = self.tls.next_1rtt_keys()?;
        let uses = Arc::new(Uses::default());
        self.generations.all().push(uses.clone());
        Some(KeyPair {
            local: Box::new(CountedKey(local, uses.clone())),
            remote: Box::new(CountedKey(remote, uses)),
        })
    }

    fn initial_keys(&self, id: &ConnectionId, side: quinn_proto::Side) -> Keys {
        self.tls.initial_keys(id, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.tls.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.tls.peer_identity()
    }

    fn early_crypto(
        &self,
    ) -> Option<(Box<dyn quinn_proto::crypto::HeaderKey>, Box<dyn PacketKey>)> {
        self.tls.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.tls.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    fn read_handshake(&mut self, buffer: &[u8]) -> Result<bool, TransportError> {
        self.tls.read_handshake(buffer)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.tls.transport_parameters()
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<Keys> {
        self.tls.write_handshake(buffer)
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.tls.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.tls.export_keying_material(output, label, context)
    }
}

struct CountedKey(Box<dyn PacketKey>, Arc<Uses>);

impl PacketKey for CountedKey {
    fn encrypt(&self, packet: u64, buffer: &mut [u8], header_length: usize) {
        self.1.sealed.fetch_add(1, Ordering::Relaxed);
        self.0.encrypt(packet, buffer, header_length);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.0.decrypt(packet, header, payload)?;
        self.1.opened.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}

#[test]
fn keys_are_followed_while_data_is_held() {
    let generations = Generations::default();
    let tls = QuicServerConfig::try_from(tls()).expect("TLS has AES-128");
    let counted = Counted {
        tls: Arc::new(tls),
        generations: generations.clone(),
    };
    let server = quinn::Stack::with_crypto(Arc::new(counted), None);
    // Another test of this process may have been first.
    imtcp_cc::quiche::register(imtcp_cc::Config::default()).expect("the same");
    let mut config = client_config();
    config.set_cc_algorithm_name("imtcp").expect("it is known");
    let mut world = World::new(Box::new(server), config);
    for write in 0..WRITES {
        world.upload_at(at(200 + 20 * write), WRITE);
    }
    for update in 0..UPDATES {
        world.update_keys_at(at(500 + 700 * update));
    }
    world.run_until(at(10_000));
    let written = WRITES * WRITE as u64;
    assert_eq!(world.seen.uploaded, written, "every byte arrives");
    assert_eq!(world.seen.updates, UPDATES, "each while data was held");
    let generations = generations.all();
    println!("{generations:?}");
    // The last generation is made in advance.
    let [used @ .., _] = generations.as_slice() else {
        panic!("no generation follows the first");
    };
    assert_eq!(used.len() as u64, UPDATES);
    for uses in used {
        assert!(uses.sealed.load(Ordering::Relaxed) > 100, "{uses:?}");
        assert!(uses.opened.load(Ordering::Relaxed) > 100, "{uses:?}");
    }
}
