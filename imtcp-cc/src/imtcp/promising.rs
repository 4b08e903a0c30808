//! From acknowledgements, window and estimates to the promise, and back to the window.

use super::ImTcp;
use crate::config::Config;
use crate::path::PathInfo;
use crate::promise::{Keeper, KeeperSettings, PathState, Promise, Steering};
use crate::transport::{AckInfo, AckedPacket, RoundTrip};
use crate::units::{Bandwidth, Bytes, Timestamp};
use crate::window::Phase;
use std::time::Duration;

impl ImTcp {
    /// The same for this path: the promise's handle tells which one it speaks of.
    #[must_use]
    pub fn on_path(mut self, path: PathInfo) -> Self {
        self.keeper.set_path(path);
        self
    }

    /// The same, as another path of a connection that has a promise: it becomes this path's when
    /// data takes this path. To be said before [`ImTcp::on_path`]. Only one path of a connection may
    /// be used at a time.
    #[must_use]
    pub fn sharing(mut self, promise: &Promise) -> Self {
        self.keeper.share(promise);
        self
    }

    /// The connection's data no longer takes this path. It does again if [`ImTcp::next_release`] is
    /// asked.
    pub fn on_path_left(&mut self, now: Timestamp) {
        let Self {
            keeper, reporter, ..
        } = self;
        keeper.on_path_left(&mut |event| reporter.emit(now, event));
    }

    /// The connection ends, and with it the promise. Otherwise it ends with the last controller of
    /// the connection.
    pub fn on_closed(&mut self, now: Timestamp) {
        let Self {
            keeper, reporter, ..
        } = self;
        keeper.on_closed(&mut |event| reporter.emit(now, event));
    }

    /// The handle of the promise of this path's connection, for any thread.
    pub fn promise(&self) -> Promise {
        self.keeper.handle()
    }

    /// The capacity that dispersions show. The most that was delivered is none: beside a slow
    /// source it would call everything faster impossible.
    fn shown_capacity(&self) -> Option<Bandwidth> {
        self.capacity.get().filter(|_| !self.capacity.is_bound())
    }

    /// P of PT (4): the capacity that dispersions show. It is that of the link itself, while RCE
    /// reads less the more evenly spread traffic there is; but a peer that acknowledges in large
    /// groups leaves no dispersions, and as a bound of what may be taken a value that is too small
    /// is a safe one.
    fn bound_of_taking(&self) -> Option<Bandwidth> {
        self.shown_capacity()
            .or_else(|| self.residual.get().max(self.capacity.get()))
    }

    pub(super) fn keeper(config: &Config) -> Keeper {
        Keeper::new(KeeperSettings {
            rule: config.slot_length(),
            ceiling: config.promise_ceiling(),
            packet_overhead: config.packet_overhead(),
            requirement: config.promise(),
        })
    }

    /// Before the window takes the acknowledgement: what slope it is to take.
    pub(super) fn steer(
        &mut self,
        now: Timestamp,
        info: &AckInfo,
        acked: impl Iterator<Item = AckedPacket> + Clone,
    ) {
        self.follow_residual(now, &info.rtt, acked.clone());
        let path = PathState {
            now,
            smoothed: info.rtt.smoothed.max(Duration::from_nanos(1)),
            window: self.window.window(),
            in_flight: info.bytes_in_flight,
            datagram: self.max_datagram,
            on_wire: self.on_wire(self.max_datagram),
            estimate: self.believed(),
            capacity: self.shown_capacity(),
            taking: self.bound_of_taking(),
            slow_start: self.window.phase() == Phase::SlowStart,
        };
        let Self {
            keeper, reporter, ..
        } = self;
        let sizes = acked.map(|packet| packet.size);
        let steering = keeper.on_ack(&path, sizes, &mut |event| reporter.emit(now, event));
        match steering {
            Steering::Free => self.window.set_slope(None),
            Steering::LeaveSlowStart => self.window.leave_slow_start(),
            Steering::Slope {
                bytes_per_round_trip,
            } => self.window.set_slope(Some(bytes_per_round_trip)),
        }
    }

    fn follow_residual(
        &mut self,
        now: Timestamp,
        rtt: &RoundTrip,
        acked: impl Iterator<Item = AckedPacket>,
    ) {
        let mut size = Bytes::ZERO;
        let mut newest = None;
        for packet in acked {
            size += self.on_wire(packet.size);
            newest = newest.max(Some(packet.sent));
        }
        self.delivered.on_ack(now, size);
        if let Some(newest_sent) = newest {
            // RFC 6298, section 2, without its floor of a second: that is for timers, not for
            // slots.
            let timeout = rtt.smoothed.saturating_add(rtt.variation.saturating_mul(4));
            let _ = self.residual.on_ack(now, newest_sent, size, timeout);
        }
    }

    /// True if it is no part of the last congestion.
    pub(super) fn reduce_window(&mut self, now: Timestamp, newest_sent: Timestamp) -> bool {
        let before = self.window.window();
        let began = self.window.on_congestion(now, newest_sent);
        if self.window.window() < before {
            self.keeper.on_congestion();
        }
        began
    }
}
