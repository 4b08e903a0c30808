//! The queueing that tools add to a hop.

use super::{HopSettings, QueueLimit};
use crate::profile::{Profile, work_of};
use imtcp_cc::units::{Bytes, Timestamp};

/// What a packet is taken for where a queue counts packets.
const PACKET: Bytes = Bytes::new(1500);

/// Two queues beside the hop's own, in which work flows off evenly: one with all packets that come
/// to the hop, and one with those of tools left out. What the first is longer is what tools add.
///
/// Others may react to a tool. What they would have sent without it is not known, and is not in the
/// second queue.
#[derive(Clone, Debug)]
pub struct Added {
    rate: Profile,
    most: f64,
    with: f64,
    without: f64,
    at: Timestamp,
    /// Seconds of delay times seconds of time.
    integral: f64,
}

impl Added {
    /// Two empty queues.
    pub fn new(settings: &HopSettings) -> Self {
        let room = match settings.queue {
            QueueLimit::Bytes(bytes) => bytes,
            QueueLimit::Packets(packets) => PACKET.times(packets),
        };
        Self {
            rate: settings.lasting_rate(),
            // The packet that is transmitted is not in the queue.
            most: work_of(room + PACKET) as f64,
            with: 0.0,
            without: 0.0,
            at: Timestamp::ZERO,
            integral: 0.0,
        }
    }

    /// A packet comes.
    pub fn offer(&mut self, now: Timestamp, size: Bytes, is_of_tool: bool) {
        self.advance(now);
        let work = work_of(size) as f64;
        let join = |queue: &mut f64| {
            if *queue + work <= self.most {
                *queue += work;
            }
        };
        join(&mut self.with);
        if !is_of_tool {
            join(&mut self.without);
        }
    }

    /// The delay in seconds that the tools' packets add at the instant of the last packet.
    pub fn seconds(&self) -> f64 {
        match self.rate.rate_at(self.at).as_bps_f64() {
            bps if bps > 0.0 => (self.with - self.without).max(0.0) / 1e9 / bps,
            _ => 0.0,
        }
    }

    /// The integral of the delay over time up to `now`, in square seconds.
    pub fn integral(&mut self, now: Timestamp) -> f64 {
        self.advance(now);
        self.integral
    }

    fn advance(&mut self, now: Timestamp) {
        let seconds = now.saturating_since(self.at).as_secs_f64();
        let gone = self.rate.work_between(self.at, now) as f64;
        if seconds > 0.0 && gone > 0.0 {
            let area = |queue: f64| match queue >= gone {
                true => (queue - gone / 2.0) * seconds,
                false => queue * queue / gone / 2.0 * seconds,
            };
            // Work over what is gone of it in a second is a delay.
            let delays = (area(self.with) - area(self.without)) * seconds / gone;
            self.integral += delays.max(0.0);
            self.with = (self.with - gone).max(0.0);
            self.without = (self.without - gone).max(0.0);
        }
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Discipline, PipeSettings};
    use imtcp_cc::units::Bandwidth;
    use std::time::Duration;

    fn settings(queue: QueueLimit) -> HopSettings {
        HopSettings {
            rate: Profile::constant(Bandwidth::from_mbps(10)),
            trace: None,
            pipe: PipeSettings::default(),
            queue,
            discipline: Discipline::DropTail,
            loss: None,
            keep_every_acknowledgement: 1,
            release: None,
            bucket: None,
        }
    }

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(ms))
    }

    #[test]
    fn a_probe_delays_others_by_its_own_transmission_and_alone_for_as_long() {
        // 1250 bytes take 1 ms. A probe and a cross packet at once: those who come are 1 ms later
        // for 2 ms, falling to nothing in the second of them.
        let mut added = Added::new(&settings(QueueLimit::Packets(10)));
        added.offer(at_ms(5), Bytes::new(1250), true);
        added.offer(at_ms(5), Bytes::new(1250), false);
        assert!(
            (added.seconds() - 1e-3).abs() < 1e-12,
            "{}",
            added.seconds()
        );
        let integral = added.integral(at_ms(50));
        assert!((integral - 1.5e-6).abs() < 1e-12, "{integral}");
        assert_eq!(added.seconds(), 0.0);
    }

    #[test]
    fn a_full_queue_takes_no_more() {
        let mut added = Added::new(&settings(QueueLimit::Bytes(Bytes::new(1000))));
        for _ in 0..9 {
            added.offer(at_ms(1), Bytes::new(1250), true);
        }
        // 1000 bytes wait behind 1500 that are transmitted: there is room for two probes.
        assert!(
            (added.seconds() - 2e-3).abs() < 1e-12,
            "{}",
            added.seconds()
        );
    }
}
