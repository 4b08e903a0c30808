//! Packet sizes on the wire.

use crate::random::Random;
use imtcp_cc::units::Bytes;

/// A distribution of IP packet sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Sizes with the share of all packets up to and including this one, ascending to 1.
    cumulative: Vec<(Bytes, f64)>,
    mean_bytes: f64,
}

impl Sizes {
    /// Packets of one size.
    pub fn fixed(size: Bytes) -> Self {
        Self::shares(&[(size, 1.0)])
    }

    /// The recorded mix that test equipment calls "simple IMIX": 7 packets of 40 bytes, 4 of 576
    /// and 1 of 1500 out of 12 (340.3 bytes on average); see RFC 6985 for the idea.
    pub fn mix() -> Self {
        Self::shares(&[
            (Bytes::new(40), 7.0),
            (Bytes::new(576), 4.0),
            (Bytes::new(1500), 1.0),
        ])
    }

    /// Sizes with their shares of all packets, in any proportion. Without any positive share this
    /// is one size of a full Ethernet packet.
    pub fn shares(shares: &[(Bytes, f64)]) -> Self {
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        if total <= 0.0 {
            return Self::fixed(Bytes::new(1500));
        }
        let mut below = 0.0;
        let cumulative = shares.iter().map(|(size, share)| {
            below += share / total;
            (*size, below)
        });
        Self {
            cumulative: cumulative.collect(),
            mean_bytes: shares
                .iter()
                .map(|(size, share)| size.as_f64() * share / total)
                .sum(),
        }
    }

    /// The mean size in bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.mean_bytes
    }

    /// The largest size.
    pub fn largest(&self) -> Bytes {
        self.cumulative
            .iter()
            .map(|(size, _)| *size)
            .max()
            .unwrap_or(Bytes::ZERO)
    }

    /// Draws a size.
    pub fn draw(&self, random: &mut Random) -> Bytes {
        if let [(only, _)] = self.cumulative[..] {
            return only;
        }
        let at = random.uniform();
        let hit = self.cumulative.iter().find(|(_, below)| at < *below);
        hit.map_or(self.largest(), |(size, _)| *size)
    }
}
