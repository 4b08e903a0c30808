//! One side of a flow: a quiche connection, its timer, and its pacing.

use super::{Pool, VirtualClock};
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// A connection that needs service at certain times.
pub(super) struct Peer {
    pub(super) connection: quiche::Connection,
    /// BBRv2 reports the next packet's release time instead of holding the packet back.
    paced_by_caller: bool,
    /// Until when the pacer holds data back.
    release: Option<Timestamp>,
    /// When a wake-up is due, for which an event is scheduled.
    armed: Option<Timestamp>,
}

/// A timer that is due at once, or fires without effect, is asked again after so long: time always
/// advances.
const LEAST_TIMER: Duration = Duration::from_micros(1);

impl Peer {
    pub(super) fn new(connection: quiche::Connection, paced_by_caller: bool) -> Self {
        Self {
            connection,
            paced_by_caller,
            release: None,
            armed: None,
        }
    }

    /// Gives an arrived datagram to the connection. What it cannot use it drops, as a socket loop
    /// would.
    pub(super) fn receive(&mut self, payload: &mut [u8], info: quiche::RecvInfo) {
        // An undecryptable or late datagram is no failure of the simulation.
        let _ = self.connection.recv(payload, info);
    }

    /// The next datagram that may leave now.
    pub(super) fn next_datagram(
        &mut self,
        now: Timestamp,
        clock: &VirtualClock,
        pool: &mut Pool,
    ) -> Option<Vec<u8>> {
        self.release = self.held_until(now, clock);
        if self.release.is_some() {
            return None;
        }
        let mut buffer = pool.take();
        match self.connection.send(&mut buffer) {
            Ok((length, _)) => {
                buffer.truncate(length);
                Some(buffer)
            }
            // Done, or a failure that shows in the connection's own error.
            Err(_) => {
                pool.give(buffer);
                None
            }
        }
    }

    fn held_until(&self, now: Timestamp, clock: &VirtualClock) -> Option<Timestamp> {
        if !self.paced_by_caller {
            return None;
        }
        let decision = self.connection.get_next_release_time()?;
        let release = decision.time(clock.instant(now))?;
        (!decision.can_burst()).then(|| clock.timestamp(release))
    }

    /// Lets the connection handle its timer if it is due.
    pub(super) fn on_time(&mut self, now: Timestamp, clock: &VirtualClock) {
        let due = self.connection.timeout_instant();
        if due.is_some_and(|due| clock.timestamp(due) <= now) {
            self.connection.on_timeout();
        }
    }

    /// When to wake this side next: its own timer, its pacer, or `other`. Returns an instant for
    /// which no event is scheduled yet.
    pub(super) fn arm(
        &mut self,
        now: Timestamp,
        clock: &VirtualClock,
        other: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let wake = match self.wake_at(clock, other)? {
            due if due <= now => now + LEAST_TIMER,
            later => later,
        };
        let earlier = self.armed.is_none_or(|armed| wake < armed);
        earlier.then(|| *self.armed.insert(wake))
    }

    fn wake_at(&self, clock: &VirtualClock, other: Option<Timestamp>) -> Option<Timestamp> {
        let timer = self
            .connection
            .timeout_instant()
            .map(|at| clock.timestamp(at));
        [timer, self.release, other].into_iter().flatten().min()
    }

    /// An event that was scheduled for now fires. Says whether there is anything to do: timers are
    /// not cancelled when they move to a later time.
    pub(super) fn woken(
        &mut self,
        now: Timestamp,
        clock: &VirtualClock,
        other: Option<Timestamp>,
    ) -> bool {
        if self.armed != Some(now) {
            return false;
        }
        self.armed = None;
        self.wake_at(clock, other).is_some_and(|at| at <= now)
    }
}
