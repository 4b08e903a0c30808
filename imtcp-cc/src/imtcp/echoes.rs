//! From an acknowledgement to echoes, gaps, capacity and trends.

use super::ImTcp;
use crate::ack::{EchoGap, EchoTiming, Reading};
use crate::capacity::Capacity;
use crate::event::Event;
use crate::measurement::Estimator;
use crate::measurement::statistical::StatisticalEstimator;
use crate::transport::{AckInfo, AckedPacket};
use crate::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// Part of a round trip by which acknowledgements may be off and still be read.
const READABLE_DIVISOR: u32 = 8;

/// No host that is to be read wakes later than this.
const LATEST_HOST: Duration = Duration::from_millis(4);

impl ImTcp {
    /// Takes the echoes of an acknowledgement.
    pub(super) fn follow_echoes(
        &mut self,
        now: Timestamp,
        info: &AckInfo,
        acked: impl Iterator<Item = AckedPacket> + Clone,
    ) {
        // A receiver cannot have held an acknowledgement for longer than the packet was out.
        let arrived = now - info.ack_delay.min(info.rtt.latest);
        let reading = self.read_peer_clock(arrived, info, acked.clone());
        let Self {
            tracker,
            receive_clock,
            probing,
            bootstrap,
            classic,
            reporter,
            ..
        } = self;
        let timed = acked.map(|packet| {
            let theirs = packet.received;
            let at = theirs.and_then(|theirs| receive_clock.arrival(packet.sent, theirs));
            (packet.number, at.filter(|_| reading != Reading::None))
        });
        let by_ack = (!self.by_peer).then_some(arrived);
        let capacity = self.capacity.get();
        let outcome = tracker.on_ack(by_ack, now, info.largest, timed, capacity, |echo| {
            if let Some(cprobe) = bootstrap.on_echo(echo) {
                classic.on_first_train(cprobe);
            }
            let Some(stream) = probing.on_echo(echo) else {
                return;
            };
            let record = probing.record();
            let trend = classic.judge(record, stream);
            reporter.emit(
                now,
                Event::StreamJudged {
                    measurement: record.measurement(),
                    stream,
                    trend: trend.as_number(),
                },
            );
            if classic.may_stop_early(record) {
                probing.stop_early(now);
            }
        });
        self.cadence.on_ack(outcome.packets);
        if let Some(echo) = &outcome.echo {
            let (bytes, packets) = (outcome.bytes, outcome.packets);
            let jitter = self.tracker.jitter();
            let changed = self.capacity.on_delivered(echo, bytes, packets, jitter);
            self.on_capacity(now, changed);
        }
        for at in 0..self.tracker.gaps().len() {
            let gap = self.tracker.gaps()[at];
            self.on_gap(now, &gap);
        }
    }

    /// Whether the peer's receive times are taken for echoes, and whether that has just begun or
    /// ended: then nothing before compares with anything after.
    fn read_peer_clock(
        &mut self,
        arrived: Timestamp,
        info: &AckInfo,
        acked: impl Iterator<Item = AckedPacket>,
    ) -> Reading {
        let theirs = acked.filter_map(|packet| packet.received).last();
        let reading = self.receive_clock.on_ack(arrived, theirs, info.rtt.latest);
        let by_peer = match reading {
            // An acknowledgement without times among others with times is no echo.
            Reading::None => self.by_peer && self.receive_clock.is_trusted(),
            Reading::Restarted | Reading::Continued => true,
        };
        if reading == Reading::Restarted || by_peer != self.by_peer {
            // What was learnt by one clock does not go with the other, and what came of times that
            // are not believed any more is worth no more than they.
            self.tracker.restart();
            self.capacity = Capacity::new();
            self.statistical = StatisticalEstimator::new(self.config.minimum_range());
        }
        self.by_peer = by_peer;
        self.ack_policy.set_timed(by_peer);
        reading
    }

    fn on_gap(&mut self, now: Timestamp, gap: &EchoGap) {
        let timing = self.tracker.timing();
        let news = self.capacity.on_gap(gap, timing != EchoTiming::Own);
        if news.contradiction {
            self.tracker.distrust(now, self.readable_jitter());
        } else if timing == EchoTiming::Foreign {
            self.tracker.reconsider(self.readable_jitter());
        }
        self.statistical.set_echoes(
            timing,
            self.tracker.jitter(),
            self.on_wire(self.max_datagram),
        );
        self.on_capacity(now, news.changed);
        self.statistical.on_gap(gap);
    }

    /// Echoes that are off by more than this cannot be read any more. The peer's clock times the
    /// packets themselves, and so does an acknowledgement that is late by a small part of a round
    /// trip: the lateness of hosts. What the way back adds is not bounded by anything.
    fn readable_jitter(&self) -> Duration {
        if self.by_peer {
            return Duration::MAX;
        }
        let round_trip = self.rtt.map_or(Duration::ZERO, |rtt| rtt.smoothed);
        (round_trip / READABLE_DIVISOR).min(LATEST_HOST)
    }

    fn on_capacity(&mut self, now: Timestamp, changed: Option<Bandwidth>) {
        let bound = self.capacity.is_bound();
        self.tracker.set_bound(bound);
        self.statistical.set_bound(bound);
        if let Some(capacity) = changed {
            self.statistical
                .on_capacity(capacity, self.on_wire(self.max_datagram));
            self.reporter.emit(now, Event::CapacityUpdated { capacity });
        }
    }
}
