//! The transport parameters (draft-ietf-quic-receive-ts-02, section 6).

use octets::Octets;
use octets::OctetsMut;

use crate::Error;
use crate::Result;
use crate::TransportParams;

/// The largest valid exponent: a unit of 2^20 microseconds, about a second.
pub const MAX_EXPONENT: u64 = 20;

/// max_receive_timestamps_per_ack, the draft's temporary value.
const MAX_PER_ACK_ID: u64 = 0x4ac07;
/// receive_timestamps_exponent, the draft's temporary value.
const EXPONENT_ID: u64 = 0x4ac26;

/// What an endpoint says in its transport parameters about the receive timestamps it would like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// max_receive_timestamps_per_ack, if it was there.
    pub(super) max_per_ack: Option<u64>,
    /// receive_timestamps_exponent, if it was there; above the limit only while `max_per_ack` is
    /// not.
    pub(super) exponent: Option<u64>,
}

impl Parameters {
    /// The most timestamps that one ACK frame may bring; 0 when none are wanted.
    pub fn max_per_ack(&self) -> u64 {
        self.max_per_ack.unwrap_or(0)
    }

    /// The exponent `e` of the unit, 2^e microseconds; 0 when none are wanted.
    pub fn exponent(&self) -> u32 {
        match (self.max_per_ack, self.exponent) {
            // Without the other parameter this one is ignored, whatever it says.
            (Some(_), Some(exponent)) => exponent.min(MAX_EXPONENT) as u32,
            _ => 0,
        }
    }

    /// Takes in the parameter `id` if it is one of the two; whether it is.
    pub(crate) fn decode(&mut self, id: u64, value: &mut Octets) -> Result<bool> {
        let field = match id {
            MAX_PER_ACK_ID => &mut self.max_per_ack,
            EXPONENT_ID => &mut self.exponent,
            _ => return Ok(false),
        };
        let number = value
            .get_varint()
            .map_err(|_| Error::InvalidTransportParam)?;
        if value.cap() > 0 {
            return Err(Error::InvalidTransportParam);
        }
        *field = Some(number);
        self.check()?;
        Ok(true)
    }

    /// Looks at both, since either may come first.
    fn check(&self) -> Result<()> {
        match (self.max_per_ack, self.exponent) {
            (Some(_), Some(exponent)) if exponent > MAX_EXPONENT => {
                Err(Error::InvalidTransportParam)
            }
            _ => Ok(()),
        }
    }

    /// Writes what the peer has to know: nothing when no timestamps are wanted, and no default.
    pub(crate) fn encode(&self, b: &mut OctetsMut) -> Result<()> {
        if self.max_per_ack() == 0 {
            return Ok(());
        }
        encode_one(b, MAX_PER_ACK_ID, self.max_per_ack())?;
        match self.exponent() {
            0 => Ok(()),
            exponent => encode_one(b, EXPONENT_ID, exponent.into()),
        }
    }
}

fn encode_one(b: &mut OctetsMut, id: u64, value: u64) -> Result<()> {
    TransportParams::encode_param(b, id, octets::varint_len(value))?;
    b.put_varint(value)?;
    Ok(())
}
