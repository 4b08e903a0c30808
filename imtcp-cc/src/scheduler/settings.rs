//! The settings of the scheduler. They stay the same for the whole life of a path.

use crate::units::Bytes;
use std::time::Duration;

/// Header and protection of a 1-RTT packet that carries one STREAM frame (RFC 9000,
/// sections 17.3.1 and 19.8; RFC 9001, section 5.3): flags 1, connection ID up to 20, packet
/// number 2, tag 16; type 1, stream ID 2, offset 4, length 2. For streams below 1 GiB this is
/// never less than the real overhead, so a promise delivers too much rather than too little.
pub(crate) const PACKET_OVERHEAD: Bytes = Bytes::new(48);

/// The rule for how many packets must be ready before a stream starts (m of IM 3.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTarget {
    /// The number starts at [`crate::Config::stream_packets`]. It falls by one after two successful
    /// measurements in a row, but not below 2. It rises by one when a stream breaks.
    Dynamic,
    /// The number is always this, in packets.
    Fixed(u32),
}

/// The rule for how long packets may wait for a stream to fill (T of IM 3.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTimer {
    /// T = (M / A)(N - 1) + 4 D_RTT, in nanoseconds: M is the packet size, A the available
    /// bandwidth, N the number of packets of a stream, D_RTT the mean deviation of the round trip.
    Adaptive,
    /// The timer is always this long.
    Fixed(Duration),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulerSettings {
    /// Whether anything is measured.
    pub(crate) measurement: bool,
    /// Whether the driving estimator reads all packets, as the default one does. Packets then leave
    /// in trains, measurements are rarer if the window is small, and a transfer that its window
    /// limits is only watched. The paper's estimator reads the packets of streams alone.
    pub(crate) reads_all_packets: bool,
    /// The number of packets of a stream (IM 3.2.3, the paper's N).
    pub(crate) stream_packets: u32,
    /// The number of sub-ranges of a search range (IM 3.2.2, the paper's k). It is the largest
    /// number of streams of a measurement.
    pub(crate) sub_ranges: u32,
    pub(crate) store_target: StoreTarget,
    pub(crate) store_timer: StoreTimer,
    /// The shortest time between the starts of two measurements, in smoothed RTTs (IM 3.3).
    pub(crate) measurement_interval_rtts: u32,
    /// The longest time for which measuring may hold a packet back.
    pub(crate) longest_hold: Duration,
    /// Whether the controller asks the peer to change how it acknowledges.
    pub(crate) ack_frequency: bool,
    /// Whether packets outside of streams and trains are spaced.
    pub(crate) pacing: bool,
}
