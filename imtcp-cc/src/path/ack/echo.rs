//! One packet and its echo.

use super::EchoQuality;
use crate::units::{Bytes, Timestamp};

/// The fate of one packet of ours, whether probe or not, as plain data for the estimators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// The QUIC packet number (RFC 9000, section 12.3).
    pub packet_number: u64,
    /// The packet's size on the wire, IP and UDP headers included.
    pub size: Bytes,
    /// When the packet really left (S of IM 3.2.3).
    pub sent: Timestamp,
    /// When the packet's acknowledgement came in (R of IM 3.2.3). For a lost packet, when the loss
    /// was declared.
    pub arrived: Timestamp,
    /// How far that time can be trusted.
    pub quality: EchoQuality,
}
