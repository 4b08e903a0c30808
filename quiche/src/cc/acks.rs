//! What a controller may ask of the peer's acknowledgements (draft-ietf-quic-ack-frequency-14).

use std::time::Duration;

/// How the peer acknowledges, from its transport parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAcks {
    /// The shortest delay that may be requested (transport parameter `min_ack_delay`, section 3).
    /// `None`: none are sent. The peer does not understand them, or this side has not advertised
    /// that it does ([`Factory::requests_acks()`](super::Factory::requests_acks)).
    pub min_ack_delay: Option<Duration>,
    /// The longest time it holds an acknowledgement back until told otherwise (transport parameter
    /// `max_ack_delay`, RFC 9000, section 18.2).
    pub max_ack_delay: Duration,
}

/// A request to the peer: when to acknowledge from now on (ACK_FREQUENCY frame, section 4).
///
/// Values outside the ranges below are clamped. The peer SHOULD follow a request and need not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFrequency {
    /// The number of ack-eliciting packets that may arrive without an acknowledgement; the next one
    /// elicits it. 0 acknowledges each packet, 1 every second. At most 2^62 - 1.
    pub ack_eliciting_threshold: u64,
    /// The longest time the peer may hold an acknowledgement back: from its
    /// [`min_ack_delay`](PeerAcks::min_ack_delay) to just below 2^14 ms, in whole microseconds.
    pub max_ack_delay: Duration,
    /// How far packets may be reordered before the peer acknowledges at once (section 6.2): 1 for
    /// any reordering, 0 for never. Best the packet threshold of loss detection. At most 2^62 - 1.
    pub reordering_threshold: u64,
}
