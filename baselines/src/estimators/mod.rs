//! Bandwidth estimators of the literature.
//!
//! They are fed what a transport tells the library's own core, and they are passive: they choose no
//! release times. What each of them estimates differs.
//!
//! | Name | Estimates | Source |
//! |---|---|---|
//! | `rce` | the bottleneck's capacity less evenly spread traffic | Palazzi |
//! | `dft-sent`, `dft-acks` | the bandwidth that the connection uses | Capone and Martignon, 2001 |
//! | `westwood` | the same, with a bias where gaps vary | Mascolo et al., 2001 |
//! | `hoe` | the bottleneck's capacity, from three acknowledgements | Hoe, 1996 |
//! | `tcp-rab` | the rate at which packets arrive, by the receiver's clock | Tang et al., 2004 |
//! | `cprobe` | the rate at which trains arrive | Carter and Crovella, 1996 |
//! | `packet-pair` | the bottleneck's capacity | Keshav, 1991 |
//!
//! All rates count the bytes that the events name. Who wants rates of IP packets feeds sizes of IP
//! packets, as [`crate::observe`] does.

mod cprobe;
mod dft;
mod hoe;
mod packet_pair;
mod rce;
mod tcp_rab;
mod westwood;

pub use cprobe::Cprobe;
pub use dft::{Dft, DoubleFilter};
pub use hoe::Hoe;
pub use packet_pair::PacketPair;
pub use rce::Rce;
pub use tcp_rab::TcpRab;
pub use westwood::Westwood;

use imtcp_cc::transport::{Acked, SentPacket};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::fmt::Debug;

/// Watches a connection and estimates a bandwidth. Estimators read no clock, take any input without
/// a panic, and need bounded memory. Times that run backwards count as no time.
pub trait Estimator: Debug + Send + Sync {
    /// A packet that counts as in flight left.
    fn on_sent(&mut self, _now: Timestamp, _packet: &SentPacket) {}

    /// An acknowledgement came.
    fn on_acked(&mut self, acked: &Acked<'_>);

    /// The present estimate in bits per second; `None` until there is one.
    fn estimate(&self) -> Option<Bandwidth>;
}

/// The estimators by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// [`Rce`].
    Rce,
    /// [`Dft`] on the packets that leave.
    DftSent,
    /// [`Dft`] on acknowledgements.
    DftAcks,
    /// [`Westwood`].
    Westwood,
    /// [`Hoe`].
    Hoe,
    /// [`TcpRab`].
    TcpRab,
    /// [`Cprobe`].
    Cprobe,
    /// [`PacketPair`].
    PacketPair,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Rce,
        Self::DftSent,
        Self::DftAcks,
        Self::Westwood,
        Self::Hoe,
        Self::TcpRab,
        Self::Cprobe,
        Self::PacketPair,
    ];

    /// Its name in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rce => "rce",
            Self::DftSent => "dft-sent",
            Self::DftAcks => "dft-acks",
            Self::Westwood => "westwood",
            Self::Hoe => "hoe",
            Self::TcpRab => "tcp-rab",
            Self::Cprobe => "cprobe",
            Self::PacketPair => "packet-pair",
        }
    }

    /// An estimator that has seen nothing yet.
    pub fn build(self) -> Box<dyn Estimator> {
        match self {
            Self::Rce => Box::new(Rce::default()),
            Self::DftSent => Box::new(Dft::of_sent_packets()),
            Self::DftAcks => Box::new(Dft::of_acknowledgements()),
            Self::Westwood => Box::new(Westwood::default()),
            Self::Hoe => Box::new(Hoe::default()),
            Self::TcpRab => Box::new(TcpRab::default()),
            Self::Cprobe => Box::new(Cprobe::default()),
            Self::PacketPair => Box::new(PacketPair::default()),
        }
    }
}

/// The bytes that an acknowledgement newly covers.
fn bytes_of(acked: &Acked<'_>) -> Bytes {
    let sizes = acked.packets.iter().map(|packet| packet.size);
    sizes.fold(Bytes::ZERO, |sum, size| sum + size)
}

/// A computed rate in bits per second; `None` if it is not a number or not finite.
fn finite(bits_per_second: f64) -> Option<Bandwidth> {
    let is_rate = bits_per_second.is_finite() && bits_per_second >= 0.0;
    is_rate.then(|| Bandwidth::from_bps_f64(bits_per_second))
}

#[cfg(test)]
mod testing;
