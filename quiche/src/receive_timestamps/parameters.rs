//! The transport parameters (draft-ietf-quic-receive-ts-02, section 6).

use crate::extension_params;
use crate::Error;
use crate::Result;

/// The largest valid exponent: a unit of 2^20 microseconds, about a second.
pub const MAX_EXPONENT: u64 = 20;

/// max_receive_timestamps_per_ack, the draft's temporary value.
const MAX_PER_ACK_ID: u64 = 0x4ac07;
/// receive_timestamps_exponent, the draft's temporary value.
const EXPONENT_ID: u64 = 0x4ac26;

/// What an endpoint says in its transport parameters about the receive timestamps it would like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// max_receive_timestamps_per_ack; 0 when it was not there.
    pub(super) max_per_ack: u64,
    /// receive_timestamps_exponent, at most [`MAX_EXPONENT`].
    pub(super) exponent: u64,
}

impl Parameters {
    /// The most timestamps that one ACK frame may bring; 0 when none are wanted.
    pub fn max_per_ack(&self) -> u64 {
        self.max_per_ack
    }

    /// The exponent `e` of the unit, 2^e microseconds.
    pub fn exponent(&self) -> u32 {
        self.exponent.min(MAX_EXPONENT) as u32
    }

    /// What the peer's encoded transport parameters say.
    ///
    /// # Errors
    /// [`Error::InvalidTransportParam`] when a value is not an integer, or the exponent above
    /// [`MAX_EXPONENT`]. An exponent by itself is ignored, whatever it says.
    pub(super) fn find(raw: &[u8]) -> Result<Self> {
        let max_per_ack = extension_params::find(raw, MAX_PER_ACK_ID)?;
        if max_per_ack.is_none() {
            return Ok(Self::default());
        }
        let exponent = extension_params::find(raw, EXPONENT_ID)?;
        if exponent.is_some_and(|exponent| exponent > MAX_EXPONENT) {
            return Err(Error::InvalidTransportParam);
        }
        Ok(Self {
            max_per_ack: max_per_ack.unwrap_or(0),
            exponent: exponent.unwrap_or(0),
        })
    }

    /// What the peer has to know, by ID and value: nothing when no timestamps are wanted, and no
    /// default.
    pub(super) fn to_send(self) -> impl Iterator<Item = (u64, u64)> {
        let max = (self.max_per_ack > 0).then_some((MAX_PER_ACK_ID, self.max_per_ack));
        let exponent = (self.exponent > 0).then_some((EXPONENT_ID, self.exponent));
        max.into_iter().chain(exponent.filter(|_| max.is_some()))
    }
}
