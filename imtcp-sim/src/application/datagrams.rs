//! QUIC DATAGRAM frames (RFC 9221), evenly spaced or in the bursts of a source with frames.

use super::{DATA, Outlet};
use crate::profile::{Profile, work_of};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// Datagrams at a rate. One that finds the connection's queue full is gone, as at a live source.
#[derive(Debug)]
pub(super) struct Datagrams {
    rate: Profile,
    size: Option<Bytes>,
    /// Bytes that come at once; zero for one datagram at a time.
    burst: Bytes,
    next: Option<(Timestamp, u64)>,
    /// Bytes that the connection's queue took.
    made: u64,
}

impl Datagrams {
    pub(super) fn new(rate: Bandwidth, size: Option<Bytes>, period: Option<Duration>) -> Self {
        Self {
            rate: Profile::constant(rate),
            size,
            burst: period.map_or(Bytes::ZERO, |period| rate.bytes_in(period)),
            next: None,
            made: 0,
        }
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next.map(|(at, _)| at)
    }

    /// A datagram that the queue refused does not count.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    pub(super) fn drive(&mut self, now: Timestamp, connection: &mut dyn Outlet) {
        let Some(largest) = connection.largest_datagram() else {
            return;
        };
        let asked = self
            .size
            .map_or(usize::MAX, |size| usize::try_from(size.get()).unwrap_or(0));
        let length = asked.min(largest).min(DATA.len());
        let one = Bytes::from_usize(length).get().max(1);
        let datagrams = self.burst.get().div_ceil(one).max(1);
        let (mut at, mut surplus) = self.next.unwrap_or((now, 0));
        while at <= now {
            // A full queue is the only refusal, and means that this datagram is lost.
            for _ in 0..datagrams {
                if connection.datagram(&DATA[..length]) {
                    self.made += Bytes::from_usize(length).get();
                }
            }
            let sent = Bytes::from_usize(length).times(datagrams);
            let work = work_of(sent).saturating_sub(surplus);
            let Some(next) = self.rate.when(at, work) else {
                return;
            };
            (at, surplus) = next;
        }
        self.next = Some((at, surplus));
    }
}
