//! Background mode: the rate that leaves others alone.
//!
//! Two measurements bound the rate, and they fail differently. The estimate says how much is
//! available; it is an average, so it comes late. The queue says within a round trip that somebody
//! else needs the link; it says nothing of how much is free. So the rate rises towards g A while
//! there is no queue, and falls to a quarter in every second round trip while there is one.
//!
//! A loss counts as a queue too, because a queue may be too short to be seen otherwise. While
//! nobody else sends, and no packet of the last round trips has met a queue, it is chance.

use std::time::Duration;

/// The least queueing delay that counts as a queue. Hosts and links are late by less than this.
const LEAST_QUEUE: Duration = Duration::from_millis(1);

/// The share of the least round trip that counts as a queue, as a divisor.
const QUEUE_DIVISOR: u32 = 20;

/// The packets of a queue that are no sign of anybody: of a train, or of two sources that send at
/// the same time.
const QUEUE_PACKETS: u32 = 3;

/// The factor by which the rate rises in a round trip without a queue.
const RISE: f64 = 1.5;

/// The same after calm round trips: that of slow start.
const CALM_RISE: f64 = 2.0;

/// The factor by which the rate falls in a round trip with a queue. With a half, a background
/// transfer has a seventh of the goodput of a CUBIC flow that has a queue of half of the pipe at
/// 10 ms; with a quarter it has a twentieth (`m11`). In return it uses less of what short transfers
/// leave.
const FALL: f64 = 0.25;

/// While nothing is known of what is available, the rate rises up to so many times what was just
/// delivered.
const USED: f64 = 2.0;

/// The least rate, as a share of the capacity. A path can be measured with so little.
const LEAST_SHARE: f64 = 0.01;

/// The number of calm round trips after which a loss is taken for chance. The packets that left
/// beside a lost one are back when it is missed, or come with the next round trip.
const CALM_ROUNDS: u32 = 2;

/// What a round trip has shown. Rates are in packets per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// The least delay above the least round trip that a packet had.
    pub(super) queue: Duration,
    /// The largest one.
    pub(super) longest_queue: Duration,
    /// Whether nobody else sends, as far as is known.
    pub(super) is_alone: bool,
    pub(super) least_rtt: Duration,
    pub(super) smoothed_rtt: Duration,
    /// A, if it is known and not only bounded.
    pub(super) available: Option<f64>,
    /// Whether others give way to whoever sends more.
    pub(super) is_elastic: bool,
    /// C, if it is known.
    pub(super) capacity: Option<f64>,
    /// The rate that was delivered over the time that the estimate covers.
    pub(super) own: f64,
    /// The rate that was delivered in this round trip.
    pub(super) delivered: f64,
}

impl Round {
    fn has_queue(&self) -> bool {
        self.queue > self.least_queue()
    }

    /// Whether no packet met a queue, and nobody else sends. Of a queue of some packets nothing can
    /// be seen.
    fn is_calm(&self) -> bool {
        self.is_alone && self.longest_queue <= self.least_queue()
    }

    /// The least queueing delay that is a sign of somebody.
    fn least_queue(&self) -> Duration {
        let packets = self.capacity.filter(|capacity| *capacity > 0.0);
        let packets = packets.map_or(Duration::ZERO, |capacity| {
            Duration::from_secs_f64((f64::from(QUEUE_PACKETS) / capacity).min(1.0))
        });
        LEAST_QUEUE.max(self.least_rtt / QUEUE_DIVISOR).max(packets)
    }

    /// The rate that is never gone below: a packet per round trip, or a hundredth of the capacity
    /// if that is less.
    fn least_rate(&self) -> f64 {
        let one = 1.0 / self.smoothed_rtt.as_secs_f64().max(1e-6);
        self.capacity
            .map_or(one, |capacity| one.min(LEAST_SHARE * capacity))
    }

    /// The rate to rise to: g A. Beside others that give way, what this connection has is no sign
    /// that it was spare, so only what was idle beside it counts.
    fn goal(&self, share: f64) -> Option<f64> {
        let available = self.available?;
        if self.is_elastic {
            return Some(share * (available - self.own).max(0.0));
        }
        Some(share * available)
    }
}

/// The rate of a connection in background mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Background {
    /// In packets per second.
    rate: f64,
    /// Whether the last round trip made the rate fall. What that did shows a round trip later.
    has_fallen: bool,
    /// Whether the window was reduced in this round trip.
    is_congested: bool,
    /// The calm round trips in a row.
    calm: u32,
}

impl Background {
    /// Begins at a rate in packets per second.
    pub(super) fn new(rate: f64) -> Self {
        Self {
            rate: rate.max(0.0),
            has_fallen: false,
            is_congested: false,
            calm: 0,
        }
    }

    /// Whether a loss now would have another cause than a queue that is full: packets that left at
    /// about the same time met none.
    pub(super) fn is_calm(&self) -> bool {
        self.calm >= CALM_ROUNDS
    }

    /// The window was reduced. The queue may be too short to be seen otherwise.
    pub(super) fn on_congestion(&mut self) {
        self.is_congested = true;
    }

    /// The rate to send at, in packets per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// A round trip is over.
    pub(super) fn on_round(&mut self, share: f64, round: &Round) {
        let is_congested = std::mem::take(&mut self.is_congested);
        let is_calm = round.is_calm() && !is_congested;
        self.calm = if is_calm {
            self.calm.saturating_add(1)
        } else {
            0
        };
        let gives_way = round.has_queue() || is_congested;
        let factor = match (gives_way, self.has_fallen) {
            (false, _) if self.is_calm() => CALM_RISE,
            (false, _) => RISE,
            (true, false) => FALL,
            // The queue of before the fall is still there.
            (true, true) => 1.0,
        };
        self.has_fallen = gives_way && !self.has_fallen;
        let most = round.goal(share).filter(|_| !gives_way);
        let rate = factor * self.rate;
        // Where nothing is known, a rate that is not used says nothing, and does not rise.
        let used = self.rate.max(USED * round.delivered);
        self.rate = rate.min(most.unwrap_or(used)).max(round.least_rate());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 Mbit/s in packets of 1250 bytes, 40 ms, half of it free.
    fn quiet() -> Round {
        Round {
            queue: Duration::ZERO,
            longest_queue: Duration::ZERO,
            is_alone: true,
            least_rtt: Duration::from_millis(40),
            smoothed_rtt: Duration::from_millis(40),
            available: Some(1000.0),
            is_elastic: false,
            capacity: Some(2000.0),
            own: 500.0,
            delivered: 800.0,
        }
    }

    #[test]
    fn the_rate_rises_to_its_share_of_what_is_available_and_stays_there() {
        let mut background = Background::new(250.0);
        for expected in [375.0, 750.0, 950.0, 950.0] {
            background.on_round(0.95, &quiet());
            assert_eq!(background.rate(), expected);
        }
    }

    #[test]
    fn beside_others_and_where_some_packets_meet_a_queue_the_rate_rises_by_half() {
        let queued = Round {
            longest_queue: Duration::from_millis(5),
            ..quiet()
        };
        let beside = Round {
            is_alone: false,
            ..quiet()
        };
        for round in [queued, beside] {
            let mut background = Background::new(250.0);
            for expected in [375.0, 562.5, 843.75, 950.0] {
                background.on_round(0.95, &round);
                assert!(!background.is_calm());
                assert_eq!(background.rate(), expected);
            }
        }
        // After two calm round trips a loss is chance.
        let mut background = Background::new(250.0);
        for is_calm in [false, true] {
            background.on_round(0.95, &quiet());
            assert_eq!(background.is_calm(), is_calm);
        }
        background.on_congestion();
        background.on_round(0.95, &quiet());
        assert!(!background.is_calm());
    }

    #[test]
    fn a_queue_makes_the_rate_fall_every_second_round_trip_down_to_the_least_rate() {
        let round = Round {
            // 40 ms / 20 are 2 ms, more than three packets.
            queue: Duration::from_micros(2_001),
            longest_queue: Duration::from_micros(2_001),
            ..quiet()
        };
        let mut background = Background::new(800.0);
        for expected in [200.0, 200.0, 50.0, 50.0, 20.0, 20.0] {
            background.on_round(0.95, &round);
            // A hundredth of the capacity are 20 packets per second; one per round trip were 25.
            assert_eq!(background.rate(), expected);
        }
        let round = Round {
            queue: Duration::from_millis(2),
            longest_queue: Duration::from_millis(2),
            ..quiet()
        };
        background.on_round(0.95, &round);
        assert_eq!(background.rate(), 30.0);
    }

    #[test]
    fn a_reduced_window_counts_as_a_queue() {
        let mut background = Background::new(800.0);
        background.on_congestion();
        background.on_round(0.95, &quiet());
        assert_eq!(background.rate(), 200.0);
        background.on_round(0.95, &quiet());
        assert_eq!(background.rate(), 300.0);
    }

    #[test]
    fn beside_others_that_give_way_only_what_is_idle_counts() {
        let round = Round {
            is_elastic: true,
            own: 960.0,
            ..quiet()
        };
        let mut background = Background::new(960.0);
        background.on_round(0.5, &round);
        assert_eq!(background.rate(), 20.0);
    }

    #[test]
    fn while_nothing_is_known_of_the_capacity_the_queue_is_the_bound() {
        let round = Round {
            available: None,
            capacity: None,
            ..quiet()
        };
        let mut background = Background::new(1000.0);
        background.on_round(0.95, &round);
        assert_eq!(background.rate(), 1500.0);
        let queue = Duration::from_millis(3);
        for expected in [375.0, 375.0, 93.75, 93.75, 25.0] {
            let waited = Round {
                queue,
                longest_queue: queue,
                ..round
            };
            background.on_round(0.95, &waited);
            assert_eq!(background.rate(), expected);
        }
        // A rate that nobody uses does not rise.
        for expected in [37.5, 40.0, 40.0] {
            let delivered = 20.0;
            background.on_round(0.95, &Round { delivered, ..round });
            assert_eq!(background.rate(), expected);
        }
    }
}
