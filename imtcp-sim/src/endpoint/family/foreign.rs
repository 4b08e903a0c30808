//! What quinn and its descendants have in common. Their TLS is rustls. All that they draw can be
//! seeded, except keys and nonces of TLS, whose lengths never vary, and what their BBRs draw.

use crate::endpoint::config;
use crate::random::{Random, component_seed};
use imtcp_cc::units::Bytes;
use quinn_proto::coding::Codec;
use quinn_proto::{VarInt, rustls};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

/// What the client asks for; a name that nobody can have (RFC 2606).
pub(super) const SERVER_NAME: &str = "imtcp-sim.invalid";
/// How long the connection ids are that the clients choose for themselves.
pub(super) const ID_LENGTH: usize = 8;
/// QUIC datagrams that may wait to be read, in bytes. They are read as they come.
pub(super) const DATAGRAM_BUFFER: usize = 1 << 20;
/// The transport parameter `min_ack_delay` (draft-ietf-quic-ack-frequency, section 3).
const MIN_ACK_DELAY: u64 = 0xff04_de1b;

/// Why a side cannot be configured.
#[derive(Debug, thiserror::Error)]
pub(in crate::endpoint) enum Refusal {
    /// TLS refuses.
    #[error("TLS: {0}")]
    Tls(#[from] Error),
    /// TLS has no cipher for Initial packets.
    #[error("TLS has no AES-128-GCM, which QUIC begins with")]
    Cipher,
    /// The stack has no such controller.
    #[error("it has no such controller")]
    Controller,
    /// QUIC has no encoding for a number, or the number is below its least value.
    #[error("{0} is out of range")]
    OutOfRange(&'static str),
}

/// TLS of the simulator's server.
pub(super) fn server_tls() -> Result<rustls::ServerConfig, Error> {
    let bad_encoding = |_| CertificateError::BadEncoding;
    let certificate = CertificateDer::from_pem_slice(config::CERTIFICATE).map_err(bad_encoding)?;
    let key = PrivateKeyDer::from_pem_slice(config::KEY).map_err(bad_encoding)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    tls.alpn_protocols = vec![config::PROTOCOL.to_vec()];
    // Tickets carry the time of the machine.
    tls.send_tls13_tickets = 0;
    Ok(tls)
}

/// TLS that talks to the simulator's server and to no other.
pub(super) fn client_tls() -> Result<rustls::ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(OneServer::new(&provider)?);
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    tls.alpn_protocols = vec![config::PROTOCOL.to_vec()];
    tls.resumption = Resumption::disabled();
    Ok(tls)
}

/// Accepts the simulator's certificate. It is self-signed, which rustls takes from no server.
#[derive(Debug)]
struct OneServer {
    certificate: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl OneServer {
    fn new(provider: &CryptoProvider) -> Result<Self, Error> {
        let certificate = CertificateDer::from_pem_slice(config::CERTIFICATE)
            .map_err(|_| CertificateError::BadEncoding)?;
        Ok(Self {
            certificate,
            algorithms: provider.signature_verification_algorithms,
        })
    }
}

impl ServerCertVerifier for OneServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *end_entity != self.certificate {
            return Err(CertificateError::UnknownIssuer.into());
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Draws connection ids.
#[derive(Clone, Debug)]
pub(super) struct Ids(pub(super) Random);

impl Ids {
    pub(super) fn draw(&mut self) -> [u8; ID_LENGTH] {
        self.0.bytes()
    }
}

/// Makes the tokens of stateless resets. They show in qlogs, so they are drawn from the seed. They
/// need not be secret here.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResetKey(u64);

impl ResetKey {
    pub(super) const LENGTH: usize = 32;

    pub(super) fn new(random: &mut Random) -> Self {
        Self(u64::from_le_bytes(random.bytes()))
    }

    pub(super) fn sign(self, id: &[u8]) -> [u8; Self::LENGTH] {
        let name = format!("reset {id:02x?}");
        Random::for_component(component_seed(self.0, &name), &name).bytes()
    }
}

/// A size of datagrams as these stacks count it.
pub(super) fn datagram_size(size: Bytes) -> Result<u16, Refusal> {
    u16::try_from(size.get()).map_err(|_| Refusal::OutOfRange("packet"))
}

/// Encoded transport parameters without the one that offers the acknowledgement-frequency
/// extension, which these stacks always send. None if they are malformed.
pub(super) fn without_ack_frequency(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut kept = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while !rest.is_empty() {
        let from = rest;
        let id = VarInt::decode(&mut rest).ok()?.into_inner();
        let length = VarInt::decode(&mut rest).ok()?.into_inner();
        let length = usize::try_from(length).ok()?;
        rest = rest.get(length..)?;
        if id != MIN_ACK_DELAY {
            kept.extend_from_slice(&from[..from.len() - rest.len()]);
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids 1 and 4 beside `min_ack_delay`, whose id takes eight bytes.
    const ENCODED: [u8; 17] = [
        0x01, 0x01, 0x19, // max_idle_timeout
        0xc0, 0, 0, 0, 0xff, 0x04, 0xde, 0x1b, 0x02, 0x43, 0xe8, // min_ack_delay, 1000 us
        0x04, 0x01, 0x3f, // initial_max_data
    ];

    #[test]
    fn one_parameter_is_left_out_and_the_others_stay() {
        let kept = without_ack_frequency(&ENCODED).expect("it is well-formed");
        assert_eq!(kept, [0x01, 0x01, 0x19, 0x04, 0x01, 0x3f]);
    }

    #[test]
    fn truncated_parameters_are_malformed() {
        assert_eq!(without_ack_frequency(&ENCODED[..13]), None);
        assert_eq!(without_ack_frequency(&ENCODED[..1]), None);
    }
}
