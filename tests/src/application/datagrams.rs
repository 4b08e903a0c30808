//! Evenly spaced QUIC DATAGRAM frames (RFC 9221).

use super::DATA;
use crate::profile::{Profile, work_of};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};

/// Datagrams at a rate. One that finds the connection's queue full is gone, as at a live source.
#[derive(Debug)]
pub(super) struct Datagrams {
    rate: Profile,
    size: Option<Bytes>,
    next: Option<(Timestamp, u64)>,
}

impl Datagrams {
    pub(super) fn new(rate: Bandwidth, size: Option<Bytes>) -> Self {
        Self {
            rate: Profile::constant(rate),
            size,
            next: None,
        }
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next.map(|(at, _)| at)
    }

    pub(super) fn drive(&mut self, now: Timestamp, connection: &mut quiche::Connection) {
        let Some(largest) = connection.dgram_max_writable_len() else {
            return;
        };
        let asked = self
            .size
            .map_or(usize::MAX, |size| usize::try_from(size.get()).unwrap_or(0));
        let length = asked.min(largest).min(DATA.len());
        let (mut at, mut surplus) = self.next.unwrap_or((now, 0));
        while at <= now {
            // A full queue is the only refusal, and means that this datagram is lost.
            let _ = connection.dgram_send(&DATA[..length]);
            let work = work_of(Bytes::from_usize(length)).saturating_sub(surplus);
            let Some(next) = self.rate.when(at, work) else {
                return;
            };
            (at, surplus) = next;
        }
        self.next = Some((at, surplus));
    }
}
