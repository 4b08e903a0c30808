//! Explicit congestion notification: what a router says instead of dropping a packet (RFC 3168, RFC
//! 9000, section 13.4).
//!
//! The ECN field belongs to the IP header, so the application reads and writes it. Both directions
//! are off until the application does something:
//!
//! * **Received marks** are told to the peer if the application says how a datagram arrived: it
//!   calls [`Connection::recv()`] within [`with`]. ACK frames then carry counts, and only once
//!   there is something to count.
//! * **Sent marks**: if the path's [`CongestionController`](crate::cc::CongestionController) takes
//!   marks ([`takes_marks()`](crate::cc::CongestionController::takes_marks)), the application asks
//!   [`Connection::sent_mark()`] after each [`Connection::send()`] and puts the answer into the IP
//!   header of that datagram. Marks that do not come through, or that come back as they cannot
//!   have been, end it (RFC 9000, section 13.4.2); until they are known to come through, ten
//!   packets carry them (appendix A.4).
//!
//! [`Connection::recv()`]: crate::Connection::recv
//! [`Connection::send()`]: crate::Connection::send
//! [`Connection::sent_mark()`]: crate::Connection::sent_mark

#![warn(clippy::all, missing_docs)]

use std::cell::Cell;

use crate::frame::EcnCounts;
use crate::packet::Epoch;
use crate::recovery::Recovery;
use crate::BufFactory;
use crate::Connection;

/// The ECN field of an IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// The sender takes no marks.
    #[default]
    NotEct,
    /// The sender takes marks.
    Ect0,
    /// The sender takes marks of another kind (RFC 9331). It is never sent here.
    Ect1,
    /// A router has marked the packet.
    Ce,
}

impl Mark {
    /// From the two bits of the field; further bits, such as those of a whole TOS byte, do not
    /// count.
    pub fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits of the field.
    pub fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }
}

thread_local! {
    static ARRIVED: Cell<Mark> = const { Cell::new(Mark::NotEct) };
}

/// Runs `f`, which hands a datagram that arrived with this mark to a connection. The former setting
/// is put back, also when `f` panics.
pub fn with<R>(arrived: Mark, f: impl FnOnce() -> R) -> R {
    struct Restore(Mark);

    impl Drop for Restore {
        fn drop(&mut self) {
            ARRIVED.set(self.0);
        }
    }

    let _restore = Restore(ARRIVED.replace(arrived));
    f()
}

/// The marks of a connection.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    received: [Received; Epoch::count()],
    sent: Mark,
}

/// What has arrived in a packet number space.
#[derive(Debug, Default)]
struct Received {
    ect0: u64,
    ect1: u64,
    ce: u64,
    /// How the packet before arrived.
    last: Mark,
}

impl Marks {
    /// A packet of the datagram that is being taken in was processed. Returns whether it is marked
    /// and the one before was not.
    fn on_packet_received(&mut self, epoch: Epoch) -> bool {
        let mark = ARRIVED.get();
        let received = &mut self.received[epoch];
        match mark {
            Mark::NotEct => {}
            Mark::Ect0 => received.ect0 += 1,
            Mark::Ect1 => received.ect1 += 1,
            Mark::Ce => received.ce += 1,
        }
        let before = std::mem::replace(&mut received.last, mark);
        mark == Mark::Ce && before != Mark::Ce
    }

    /// What an ACK frame tells; nothing before anything was marked.
    pub(crate) fn counts(&self, epoch: Epoch) -> Option<EcnCounts> {
        let received = &self.received[epoch];
        let has_any = received.ect0 + received.ect1 + received.ce > 0;
        has_any.then_some(EcnCounts {
            ect0_count: received.ect0,
            ect1_count: received.ect1,
            ecn_ce_count: received.ce,
        })
    }

    /// A datagram is begun.
    pub(crate) fn on_datagram(&mut self, recovery: &mut Recovery) {
        self.sent = recovery.begin_datagram();
    }
}

impl<F: BufFactory> Connection<F> {
    /// What the IP header of the datagram that [`send()`](Self::send) returned last has to say.
    pub fn sent_mark(&self) -> Mark {
        self.ecn.sent
    }

    /// A packet was processed. What a router has just begun to say is acknowledged at once, also
    /// where acknowledgements wait (RFC 9000, section 13.2.1).
    pub(crate) fn on_ecn_received(&mut self, epoch: Epoch) {
        if self.ecn.on_packet_received(epoch) && epoch == Epoch::Application {
            self.ack_frequency.receiver.on_congestion_mark();
        }
    }
}
