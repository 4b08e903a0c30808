//! How the extension is switched on, and what was agreed upon.

use super::Parameters;
use super::MAX_EXPONENT;
use crate::BufFactory;
use crate::Config;
use crate::Connection;
use crate::Error;
use crate::Result;

/// What the application chose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    /// What the peer is asked for.
    pub(super) asked: Parameters,
    /// Whether a peer that asks is answered.
    pub(super) answers: bool,
}

impl Config {
    /// Asks the peer to tell when packets arrived, of up to `max` packets in each ACK frame
    /// (`max_receive_timestamps_per_ack`, draft-ietf-quic-receive-ts-02, section 6).
    ///
    /// The default is 0: nothing is asked, nothing is sent. A peer need not answer. Only a
    /// [congestion controller](crate::cc) is told the times.
    ///
    /// A peer that sends more is disconnected (PROTOCOL_VIOLATION), and so is one that sends any
    /// without having been asked (FRAME_ENCODING_ERROR: the frame is unknown then).
    pub fn set_max_receive_timestamps_per_ack(&mut self, max: u64) {
        self.receive_timestamps.asked.max_per_ack = max.min(octets::MAX_VAR_INT);
    }

    /// Asks for times in units of 2^`exponent` microseconds (`receive_timestamps_exponent`), 0 to
    /// [`MAX_EXPONENT`]. The default is 0.
    ///
    /// A larger unit makes shorter ACK frames: a gap between two packets takes one byte below 64
    /// units and two below 16384. It has no effect without
    /// [`set_max_receive_timestamps_per_ack()`](Self::set_max_receive_timestamps_per_ack).
    ///
    /// # Errors
    /// [`Error::InvalidTransportParam`] when `exponent` is larger than [`MAX_EXPONENT`].
    pub fn set_receive_timestamps_exponent(&mut self, exponent: u64) -> Result<()> {
        if exponent > MAX_EXPONENT {
            return Err(Error::InvalidTransportParam);
        }
        self.receive_timestamps.asked.exponent = exponent;
        Ok(())
    }

    /// Tells a peer that asks when its packets arrived. The default is `false`; towards a peer that
    /// does not ask it changes nothing.
    ///
    /// The times go into ACK frames that are sent anyway. An ACK frame grows by 3 bytes for its
    /// type, 7 for the first time (11 above 2^30 units, which is 18 minutes at exponent 0), and 1
    /// or 2 for each further packet. Each packet is reported twice. No packet is sent for it, and
    /// where data waits the frame takes an eighth of the packet at most.
    pub fn enable_receive_timestamps(&mut self, enabled: bool) {
        self.receive_timestamps.answers = enabled;
    }
}

impl<F: BufFactory> Connection<F> {
    /// What the peer asked for, when this side answers: what
    /// [`Config::enable_receive_timestamps()`] allows and the peer's transport parameters say.
    pub fn receive_timestamps_sent(&self) -> Option<Parameters> {
        self.receive_timestamps.answered()
    }

    /// The peer's transport parameters were received in this handshake. Where nothing was switched
    /// on they are unknown ones, and ignored. Those of a session that is resumed do not count,
    /// because the extension is about 1-RTT packets alone.
    pub(crate) fn on_peer_receive_timestamps_params(&mut self) -> Result<()> {
        if self.receive_timestamps.is_used() {
            let asked = Parameters::find(self.handshake.quic_transport_params())?;
            self.receive_timestamps.on_peer_parameters(asked);
        }
        Ok(())
    }

    /// Behaves from now on as if the peer had asked for this many timestamps in this unit, whether
    /// or not it did. So a test can give the other side a misbehaving peer.
    #[doc(hidden)]
    pub fn presume_receive_timestamps_asked(&mut self, max_per_ack: u64, exponent: u64) {
        self.receive_timestamps.on_peer_parameters(Parameters {
            max_per_ack,
            exponent,
        });
    }
}
