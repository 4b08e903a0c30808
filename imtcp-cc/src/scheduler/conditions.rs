//! What is needed to begin a measurement.

use super::StoreTimer;
use crate::measurement::range::SearchRange;
use crate::path::ack::EchoCadence;
use crate::transport::RoundTrip;
use crate::units::{Bandwidth, Bytes};
use std::time::Duration;

/// What is needed to begin a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    /// The range to search; `None` while nothing is known of the path, or while no measurement is
    /// due.
    pub(crate) range: Option<SearchRange>,
    /// The available bandwidth, in IP-layer bits per second (the paper's A). The store timer
    /// follows from it.
    pub(crate) available: Option<Bandwidth>,
    /// The capacity that dispersions show, in IP-layer bits per second.
    pub(crate) shown_capacity: Option<Bandwidth>,
    /// The window divided by the smoothed RTT: the highest rate at which packets become ready, in
    /// bits of UDP payload per second.
    pub(crate) window_rate: Option<Bandwidth>,
    pub(crate) rtt: RoundTrip,
    /// The size of a full packet on the wire.
    pub(crate) packet: Bytes,
    /// The longest time for which a packet may be held back. Neither the store timer T nor a gap
    /// inside a stream is longer.
    pub(crate) longest_hold: Duration,
    /// By how much a timer of this host is usually late.
    pub(crate) lateness: Duration,
    /// How the peer acknowledges.
    pub(crate) cadence: EchoCadence,
    /// Whether each probe costs an acknowledgement that the peer would not send without it.
    pub(crate) costly: bool,
    /// Whether a measurement may begin. False in loss recovery (IM 3.5.3), and while no packet may
    /// be held back.
    pub(crate) allowed: bool,
}

impl Conditions {
    /// The part of a range that streams can be sent at: no gap inside a stream is longer than the
    /// longest hold.
    pub(super) fn sendable(&self, range: SearchRange) -> SearchRange {
        let slowest = Bandwidth::from_bytes_over(self.packet, self.longest_hold);
        let Some(slowest) = slowest.filter(|slowest| range.low() < *slowest) else {
            return range;
        };
        SearchRange::spanning(slowest, range.high().max(slowest.saturating_add(slowest)))
    }

    /// The store timer: T = (M / A)(N - 1) + 4 D_RTT, in nanoseconds (IM 3.4.2).
    ///
    /// The paper takes the available bandwidth A for the connection's own rate, because
    /// self-clocking ties the two together. If the window allows less than A, packets become ready
    /// more slowly, so the lower rate is used. With A alone, a range that is far too high would
    /// keep T too short to fill any stream, and the range would never change.
    pub(super) fn store_limit(
        &self,
        timer: StoreTimer,
        range: &SearchRange,
        stream_packets: u32,
    ) -> Duration {
        match timer {
            StoreTimer::Fixed(limit) => limit,
            StoreTimer::Adaptive => {
                let available = self.available.unwrap_or(range.low());
                let rate = available.min(self.window_rate.unwrap_or(available));
                let gap = rate.time_for(self.packet).min(self.longest_hold);
                let filling = gap.saturating_mul(stream_packets - 1);
                filling
                    .saturating_add(4 * self.rtt.variation)
                    .min(self.longest_hold)
            }
        }
    }
}
