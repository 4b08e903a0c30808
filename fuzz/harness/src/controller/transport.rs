//! The books that a transport keeps, and nothing beside: numbers, window, round trips, losses.

use crate::Met;
use imtcp_cc::ImTcp;
use imtcp_cc::transport::{
    AckInfo, Acked, AckedPacket, LossInfo, Release, RoundTrip, SendRequest, SentPacket,
};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// kPacketThreshold (RFC 9002, section 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// An answer "at this time" is followed by so many others at most, with nothing happening between.
const MOST_DELAYS: u32 = 32;
/// The window is no smaller than so many datagrams (RFC 9002, section 7.2).
const LEAST_WINDOW: u64 = 2;
/// Of the honest peer in the end.
const HONEST: Link = Link {
    kbps: 20_000,
    round_trip: Duration::from_millis(20),
    packets: 2,
    clock: 0,
};
const MOST_HONEST_ACKS: u64 = 100_000;

/// A link and what its far end does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) kbps: u64,
    pub(super) round_trip: Duration,
    /// For each acknowledgement.
    pub(super) packets: usize,
    /// How fast the peer's clock runs, in 64 parts; 0 for a peer that does not tell.
    pub(super) clock: u64,
}

#[derive(Clone, Copy, Debug)]
struct Out {
    size: u64,
    sent: Timestamp,
}

pub(super) struct Transport {
    pub(super) core: ImTcp,
    pub(super) met: Met,
    pub(super) now: Timestamp,
    pub(super) queued: u64,
    /// As the events told.
    pub(super) capacity: Option<Bandwidth>,
    datagram: u64,
    outstanding: BTreeMap<u64, Out>,
    in_flight: u64,
    next_number: u64,
    retransmission: bool,
    rtt: Option<RoundTrip>,
    /// When the core wants to be asked again.
    wake: Option<Timestamp>,
    /// When the link is free.
    link_free: Timestamp,
}

impl Transport {
    pub(super) fn new(core: ImTcp, datagram: u64) -> Self {
        Self {
            core,
            met: Met::new(),
            now: Timestamp::ZERO,
            queued: 0,
            capacity: None,
            datagram,
            outstanding: BTreeMap::new(),
            in_flight: 0,
            next_number: 0,
            retransmission: false,
            rtt: None,
            wake: None,
            link_free: Timestamp::ZERO,
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.queued += bytes;
        self.send();
    }

    /// Sends what may leave now.
    fn send(&mut self) {
        self.wake = None;
        loop {
            let window = self.core.cwnd().get();
            assert!(
                window >= LEAST_WINDOW * self.datagram,
                "a window of {window} B"
            );
            let left = window.saturating_sub(self.in_flight);
            if self.queued == 0 {
                self.core.on_application_limited();
                return;
            }
            if left < self.datagram.min(self.queued) {
                return;
            }
            let request = SendRequest {
                queued: Bytes::new(self.queued),
                retransmission: self.retransmission,
                window_left: Bytes::new(left),
                max_datagram: Bytes::new(self.datagram),
            };
            let answer = self.core.next_release(self.now, &request);
            let again = self.core.next_release(self.now, &request);
            assert_eq!(answer, again, "asking changes nothing");
            match answer {
                Release::Now => self.put(true),
                Release::At(due) => {
                    assert!(due > self.now, "a release in the past");
                    self.met.insert("data held back");
                    self.wake = Some(due);
                    return;
                }
                Release::Hold => {
                    assert!(self.in_flight > 0, "held, and nothing will ever happen");
                    return;
                }
            }
        }
    }

    fn put(&mut self, released: bool) {
        let size = self.datagram.min(self.queued);
        let number = self.next_number;
        self.next_number += 1;
        self.queued -= size;
        self.in_flight += size;
        self.retransmission = false;
        let sent = self.now;
        self.outstanding.insert(number, Out { size, sent });
        if released && self.core.immediate_ack() {
            self.met.insert("a request for one acknowledgement");
        }
        if let Some(request) = self.core.ack_request(self.now) {
            self.met.insert("a request for another frequency");
            assert!(!request.max_ack_delay.is_zero(), "no delay at all");
        }
        let packet = SentPacket {
            number,
            size: Bytes::new(size),
            released,
            bytes_in_flight: Bytes::new(self.in_flight),
        };
        self.core.on_packet_sent(self.now, &packet);
    }

    /// Lets time go by, with everything that the core wanted to do meanwhile.
    pub(super) fn advance(&mut self, span: Duration) {
        let end = self.now + span;
        let mut delays = 0;
        while let Some(due) = self.wake.filter(|due| *due <= end) {
            self.now = due;
            let sent = self.next_number;
            self.send();
            delays = if self.next_number > sent {
                0
            } else {
                delays + 1
            };
            assert!(delays < MOST_DELAYS, "put off again and again");
        }
        self.now = end;
        self.send();
    }

    /// An acknowledgement of `count` packets that are out, after the `skip` oldest; `clock` tells
    /// when each arrived.
    pub(super) fn acknowledge(
        &mut self,
        skip: usize,
        count: usize,
        ack_delay: Duration,
        clock: impl Fn(u32) -> Option<Duration>,
    ) {
        let newly: Vec<(u64, Out)> = self
            .outstanding
            .iter()
            .skip(skip)
            .take(count)
            .map(|(number, out)| (*number, *out))
            .collect();
        let Some((largest, newest)) = newly.last().copied() else {
            return;
        };
        for (number, out) in &newly {
            self.outstanding.remove(number);
            self.in_flight -= out.size;
        }
        let rtt = self.sample(self.now.saturating_since(newest.sent));
        let lost = self
            .outstanding
            .range(..largest.saturating_sub(PACKET_THRESHOLD - 1));
        let lost: Vec<u64> = lost.map(|(number, _)| *number).collect();
        self.lose(&lost, false);
        let info = AckInfo {
            largest,
            ack_delay,
            rtt,
            bytes_in_flight: Bytes::new(self.in_flight),
        };
        let packets = (0..).zip(&newly).map(|(index, (number, out))| AckedPacket {
            number: *number,
            size: Bytes::new(out.size),
            sent: out.sent,
            received: clock(index),
        });
        let packets: Vec<AckedPacket> = packets.collect();
        self.core.on_ack(&Acked {
            now: self.now,
            info,
            packets: &packets,
        });
        self.send();
    }

    /// RFC 9002, section 5.3, without the peer's delay.
    fn sample(&mut self, latest: Duration) -> RoundTrip {
        let rtt = match self.rtt {
            None => RoundTrip {
                latest,
                min: latest,
                smoothed: latest,
                variation: latest / 2,
            },
            Some(old) => RoundTrip {
                latest,
                min: old.min.min(latest),
                smoothed: (old.smoothed * 7 + latest) / 8,
                variation: (old.variation * 3 + old.smoothed.abs_diff(latest)) / 4,
            },
        };
        self.rtt = Some(rtt);
        rtt
    }

    fn lose(&mut self, numbers: &[u64], persistent_congestion: bool) {
        let mut sent: Option<(Timestamp, Timestamp)> = None;
        for number in numbers {
            if let Some(out) = self.outstanding.remove(number) {
                self.in_flight -= out.size;
                self.queued += out.size;
                self.retransmission = true;
                let oldest = sent.map_or(out.sent, |(oldest, _)| oldest);
                sent = Some((oldest, out.sent));
            }
        }
        let Some((oldest_sent, newest_sent)) = sent else {
            return;
        };
        self.met.insert("a loss");
        let info = LossInfo {
            oldest_sent,
            newest_sent,
            persistent_congestion,
        };
        self.core.on_loss(self.now, &info, numbers.iter().copied());
    }

    /// Everything out is lost, and a probe goes out.
    pub(super) fn lose_all(&mut self, persistent_congestion: bool) {
        let numbers: Vec<u64> = self.outstanding.keys().copied().collect();
        self.lose(&numbers, persistent_congestion);
        if self.queued > 0 {
            self.put(false);
        }
        self.send();
    }

    pub(super) fn set_datagram(&mut self, size: u64) {
        self.datagram = size;
        self.core.on_max_datagram(Bytes::new(size));
        self.send();
    }

    /// The newest packet that is out was marked by a router.
    pub(super) fn mark(&mut self) {
        if let Some((_, newest)) = self.outstanding.last_key_value() {
            self.core.on_congestion_experienced(self.now, newest.sent);
        }
        self.send();
    }

    /// So many acknowledgements over a link, or fewer if nothing is left.
    pub(super) fn stretch(&mut self, count: u64, link: &Link) {
        for _ in 0..count {
            if self.outstanding.is_empty() {
                let Some(due) = self.wake else { return };
                self.advance(due.saturating_since(self.now));
                continue;
            }
            let arrivals = self.cross(link);
            let Some(arrived) = arrivals.last().copied() else {
                return;
            };
            let back = arrived + link.round_trip / 2;
            self.advance(back.saturating_since(self.now));
            let clock = |index: u32| {
                let arrival = arrivals.get(index as usize).filter(|_| link.clock > 0)?;
                let nanos = u128::from(arrival.as_nanos()) * u128::from(link.clock) / 64;
                u64::try_from(nanos).ok().map(Duration::from_nanos)
            };
            self.acknowledge(0, arrivals.len(), Duration::ZERO, clock);
        }
    }

    /// When the oldest packets that are out arrive.
    fn cross(&mut self, link: &Link) -> Vec<Timestamp> {
        let rate = Bandwidth::from_kbps(link.kbps);
        let mut arrivals = Vec::new();
        for out in self.outstanding.values().take(link.packets) {
            let came = self.link_free.max(out.sent + link.round_trip / 2);
            self.link_free = came + rate.time_for(Bytes::new(out.size));
            arrivals.push(self.link_free);
        }
        arrivals
    }

    /// An honest peer, until all has left and arrived.
    pub(super) fn finish(&mut self) {
        let mut rounds = 0;
        self.send();
        while self.queued > 0 || self.in_flight > 0 {
            let (sent, in_flight) = (self.next_number, self.in_flight);
            self.stretch(1, &HONEST);
            rounds += 1;
            let moved = self.next_number > sent || self.in_flight != in_flight;
            assert!(moved || self.wake.is_some(), "it came to rest");
            assert!(rounds < MOST_HONEST_ACKS, "it goes on and on");
        }
    }
}
