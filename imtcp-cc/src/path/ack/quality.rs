//! How far the time of an echo can be trusted.

use std::fmt;

/// How good the acknowledgement of a packet is as its echo. IM 3.2.3 assumes one acknowledgement
/// per packet; section 3.5.1 is about peers that acknowledge in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EchoQuality {
    /// The packet itself caused the acknowledgement, so its time is the packet's own.
    Single,
    /// A later packet caused the acknowledgement: the packet arrived, but nobody knows when.
    Aggregated,
    /// The packet was declared lost.
    Lost,
    /// A packet that was sent later was acknowledged earlier: the order changed on the way.
    Reordered,
}

impl EchoQuality {
    /// Whether the echo's time may enter delays and arrival rates.
    pub const fn is_timed(self) -> bool {
        matches!(self, Self::Single)
    }

    /// The name of the quality in qlog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Aggregated => "aggregated",
            Self::Lost => "lost",
            Self::Reordered => "reordered",
        }
    }

    /// Whether the packet reached the peer, at any time.
    pub const fn has_arrived(self) -> bool {
        !matches!(self, Self::Lost)
    }
}

impl fmt::Display for EchoQuality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
