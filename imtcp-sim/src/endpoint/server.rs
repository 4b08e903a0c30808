//! The server of a flow: a quiche connection and its pacing.

use super::{Moment, Pool};
use imtcp_cc::units::Timestamp;

/// A connection that sends.
pub(super) struct Server {
    pub(super) connection: quiche::Connection,
    /// BBRv2 reports the next packet's release time instead of holding the packet back.
    paced_by_caller: bool,
    /// Until when the pacer holds data back.
    release: Option<Timestamp>,
}

impl Server {
    pub(super) fn new(connection: quiche::Connection, paced_by_caller: bool) -> Self {
        Self {
            connection,
            paced_by_caller,
            release: None,
        }
    }

    /// Gives an arrived datagram to the connection. What it cannot use it drops, as a socket loop
    /// would.
    pub(super) fn receive(&mut self, payload: &mut [u8], info: quiche::RecvInfo) {
        // An undecryptable or late datagram is no failure of the simulation.
        let _ = self.connection.recv(payload, info);
    }

    /// The next datagram that may leave now.
    pub(super) fn next_datagram(&mut self, moment: Moment<'_>, pool: &mut Pool) -> Option<Vec<u8>> {
        self.release = self.held_until(moment);
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

    /// Whether an application may use the connection.
    pub(super) fn can_send(&self) -> bool {
        let connection = &self.connection;
        let ended = connection.is_closed() || connection.is_draining();
        connection.is_established() && !ended && connection.local_error().is_none()
    }

    fn held_until(&self, moment: Moment<'_>) -> Option<Timestamp> {
        if !self.paced_by_caller {
            return None;
        }
        let decision = self.connection.get_next_release_time()?;
        let release = decision.time(moment.instant())?;
        (!decision.can_burst()).then(|| moment.clock.timestamp(release))
    }

    /// Lets the connection handle its timer if it is due.
    pub(super) fn on_time(&mut self, moment: Moment<'_>) {
        let due = self.connection.timeout_instant();
        if due.is_some_and(|due| moment.clock.timestamp(due) <= moment.now) {
            self.connection.on_timeout();
        }
    }

    /// When the connection's timer or its pacer needs service.
    pub(super) fn due(&self, moment: Moment<'_>) -> Option<Timestamp> {
        let timer = self.connection.timeout_instant();
        let timer = timer.map(|at| moment.clock.timestamp(at));
        [timer, self.release].into_iter().flatten().min()
    }
}
