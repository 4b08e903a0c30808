//! Transport parameters of extensions that upstream's `TransportParams` has no field for.
//!
//! They are kept out of that struct because code outside builds it field by field.

#![warn(clippy::all, missing_docs)]

use smallvec::SmallVec;

use crate::ack_frequency::AckFrequency;
use crate::receive_timestamps::ReceiveTimestamps;
use crate::Error;
use crate::Result;
use crate::TransportParams;

/// Pairs of ID and integer value.
pub(crate) type ExtensionParams = SmallVec<[(u64, u64); 4]>;

/// The parameters of all extensions, by ID and value.
pub(crate) fn all(
    ack_frequency: &AckFrequency,
    receive_timestamps: &ReceiveTimestamps,
) -> ExtensionParams {
    let mut params = ack_frequency.transport_params();
    params.extend(receive_timestamps.transport_params());
    params
}

/// Encodes upstream's parameters, and behind them those of extensions.
pub(crate) fn encode<'a>(
    params: &TransportParams,
    is_server: bool,
    extensions: &[(u64, u64)],
    out: &'a mut [u8],
) -> Result<&'a [u8]> {
    let mut length = TransportParams::encode(params, is_server, out)?.len();
    for &(id, value) in extensions {
        let mut rest = octets::OctetsMut::with_slice(&mut out[length..]);
        TransportParams::encode_param(&mut rest, id, octets::varint_len(value))?;
        rest.put_varint(value)?;
        length += rest.off();
    }
    Ok(&out[..length])
}

/// The value of an integer parameter in the peer's encoded list, which `TransportParams::decode()`
/// has found to be well formed and without duplicates.
///
/// # Errors
/// [`Error::InvalidTransportParam`] when the value is not exactly one variable-length integer.
pub(crate) fn find(raw: &[u8], wanted: u64) -> Result<Option<u64>> {
    let mut params = octets::Octets::with_slice(raw);
    while params.cap() > 0 {
        let id = params.get_varint()?;
        let mut value = params.get_bytes_with_varint_length()?;
        if id == wanted {
            let number = value.get_varint();
            return match number {
                Ok(number) if value.cap() == 0 => Ok(Some(number)),
                _ => Err(Error::InvalidTransportParam),
            };
        }
    }
    Ok(None)
}
