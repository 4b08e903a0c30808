//! Datagrams of several packets (RFC 9000, section 12.2).

#![warn(clippy::all, missing_docs)]

use crate::packet::Header;
use crate::packet::Type;

/// How long the packet is with which this part of a datagram begins, if another one may follow it:
/// long headers tell, but those of Retry and Version Negotiation.
///
/// It does not matter whether the packet can be decrypted, nor whether that was tried before: what
/// header protection hides stands behind the length.
pub(crate) fn length(datagram: &mut [u8]) -> Option<usize> {
    let mut bytes = octets::OctetsMut::with_slice(datagram);
    // Short headers alone need the length of identifiers.
    let header = Header::from_bytes(&mut bytes, 0).ok()?;
    if !matches!(header.ty, Type::Initial | Type::ZeroRTT | Type::Handshake) {
        return None;
    }
    let payload = usize::try_from(bytes.get_varint().ok()?).ok()?;
    (payload <= bytes.cap()).then(|| bytes.off() + payload)
}
