//! The times at which a client acknowledges.
//!
//! quiche acknowledges all that has come whenever it is asked for a datagram. So the caller sets
//! the cadence, by not asking.

use crate::scenario::{Acknowledge, Receiver};
use imtcp_cc::units::Timestamp;

/// Linux acknowledges so many segments one by one when a connection begins (`TCP_MAX_QUICKACKS`).
const QUICK: u32 = 16;

/// Counts datagrams and the time since the first of them that waits for its acknowledgement.
#[derive(Debug)]
pub(super) struct Cadence {
    receiver: Receiver,
    waiting: u32,
    deadline: Option<Timestamp>,
    /// The server's number of the datagram expected next.
    expected: u64,
    /// Acknowledgements of a TCP receiver that still go at once.
    quick: u32,
}

impl Cadence {
    pub(super) fn new(receiver: Receiver) -> Self {
        Self {
            receiver,
            waiting: 0,
            deadline: None,
            expected: 0,
            quick: QUICK,
        }
    }

    /// The handshake goes on: the data is still to come.
    pub(super) fn shakes_hands(&mut self) {
        self.quick = QUICK;
    }

    /// The server's datagram `number` arrived. Says whether to acknowledge at once: because enough
    /// have come, or because this one is not the next in order (RFC 9000, section 13.2.1).
    pub(super) fn arrived(&mut self, now: Timestamp, number: u64) -> bool {
        let in_order = number == self.expected;
        self.expected = self.expected.max(number + 1);
        self.waiting += 1;
        self.deadline.get_or_insert(now + self.receiver.delay);
        let enough = match self.receiver.acknowledge {
            Acknowledge::Every(count) => self.waiting >= count,
            Acknowledge::Timer => false,
            Acknowledge::Tcp => self.waiting > u32::from(self.quick == 0),
        };
        enough || !in_order
    }

    /// When the acknowledgement that waits has to go, if one waits.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// The connection was asked for datagrams, so no acknowledgement waits any more.
    pub(super) fn acknowledged(&mut self) {
        if self.waiting > 0 {
            self.quick = self.quick.saturating_sub(1);
        }
        self.waiting = 0;
        self.deadline = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Stack;
    use std::time::Duration;

    fn cadence(acknowledge: Acknowledge) -> Cadence {
        Cadence::new(Receiver {
            stack: Stack::Quiche,
            acknowledge,
            delay: Duration::from_millis(25),
            ack_frequency: false,
            receive_timestamps: false,
            host: crate::scenario::Host::default(),
        })
    }

    #[test]
    fn every_third_is_acknowledged_and_the_timer_takes_the_rest() {
        let mut cadence = cadence(Acknowledge::Every(3));
        let at = |ms| Timestamp::from_origin(Duration::from_millis(ms));
        assert!(!cadence.arrived(at(1), 0));
        assert!(!cadence.arrived(at(2), 1));
        assert_eq!(cadence.deadline(), Some(at(26)));
        assert!(cadence.arrived(at(3), 2));
        cadence.acknowledged();
        assert_eq!(cadence.deadline(), None);
    }

    #[test]
    fn a_receiver_of_tcp_acknowledges_sixteen_and_then_every_second() {
        let mut cadence = cadence(Acknowledge::Tcp);
        cadence.arrived(Timestamp::ZERO, 0);
        cadence.acknowledged();
        cadence.shakes_hands();
        for number in 1..=16 {
            assert!(cadence.arrived(Timestamp::ZERO, number));
            cadence.acknowledged();
        }
        assert!(!cadence.arrived(Timestamp::ZERO, 17));
        assert!(cadence.arrived(Timestamp::ZERO, 18));
    }

    #[test]
    fn a_gap_or_an_old_datagram_is_acknowledged_at_once() {
        let mut cadence = cadence(Acknowledge::Timer);
        assert!(!cadence.arrived(Timestamp::ZERO, 0));
        assert!(cadence.arrived(Timestamp::ZERO, 2));
        assert!(cadence.arrived(Timestamp::ZERO, 1));
        assert!(!cadence.arrived(Timestamp::ZERO, 3));
    }
}
