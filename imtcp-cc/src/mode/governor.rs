//! The mode that is in force, and what it asks of window and pacer.

use super::Mode;
use super::background::{Background, Round};
use super::full_speed::{CHANCE_WEIGHT, LOSS_PACKETS, MOST_LOSS, growth};
use crate::control::{Enough, Phase, Proportion, Slope, Steering, WindowOrder};
use crate::estimate::Estimate;
use crate::loss_share::LossShare;
use crate::measurement::Findings;
use crate::path::PathView;
use crate::transport::Acked;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// An estimate counts until it is this old, in its own averaging windows.
const STALE_WINDOWS: u32 = 3;

/// The time over which the delivered rate is an average.
const OWN_RATE_OVER: Duration = Duration::from_secs(1);

/// The samples that a round has at least, unless they do not come for [`LONGEST_ROUND`].
const ROUND_SAMPLES: u32 = 4;

/// The longest round, in smoothed round trips.
const LONGEST_ROUND: u32 = 4;

/// The window of a connection in background mode, as a multiple of what its rate needs. The rate is
/// the bound; the window ends what is in flight if acknowledgements fail to come.
const SPARE_WINDOW: f64 = 2.0;

/// Packets that are added to that window.
const SPARE_PACKETS: f64 = 4.0;

/// If at least this share of the capacity is sure to be available, nobody else sends.
const ALONE: f64 = 0.95;

/// What the current round trip has shown so far.
#[derive(Clone, Copy, Debug)]
struct Running {
    since: Timestamp,
    least: Duration,
    most: Duration,
    samples: u32,
    /// The packets that were acknowledged.
    packets: f64,
}

/// A round that is over: its least and its largest round trip, and the packets per second that got
/// through.
#[derive(Clone, Copy, Debug)]
struct Ended {
    least: Duration,
    most: Duration,
    delivered: f64,
}

/// Follows the mode in force.
#[derive(Debug)]
pub(crate) struct Governor {
    mode: Mode,
    background: Option<Background>,
    round: Option<Running>,
    losses: LossShare,
    /// The rate that was delivered, in packets per second, and the time of the last update.
    own: f64,
    own_at: Option<Timestamp>,
}

impl Governor {
    pub(crate) fn new(mode: Mode) -> Self {
        Self {
            mode,
            background: None,
            round: None,
            losses: LossShare::over(LOSS_PACKETS),
            own: 0.0,
            own_at: None,
        }
    }

    /// Another mode comes into force. True if it is another one.
    pub(crate) fn set(&mut self, mode: Mode) -> bool {
        let is_other = self.mode != mode;
        if self.mode.name() != mode.name() {
            self.background = None;
            self.round = None;
        }
        if self.mode == Mode::Standard && is_other {
            // Since the mode before that nobody has counted.
            self.losses = LossShare::over(LOSS_PACKETS);
        }
        self.mode = mode;
        is_other
    }

    /// A rate is required, and nobody follows the path here meanwhile. What was known of it is long
    /// past when the mode comes back. The last rate is a bound of the next one.
    #[inline]
    pub(crate) fn rest(&mut self) {
        if self.own_at.is_some() {
            *self = Self {
                background: self.background,
                ..Self::new(self.mode)
            };
        }
    }

    /// A packet was lost. Where no mode is in force nobody counts those that get through, either.
    pub(crate) fn on_lost(&mut self) {
        if self.mode != Mode::Standard {
            self.losses.on_lost();
        }
    }

    /// The window was reduced.
    pub(crate) fn on_congestion(&mut self) {
        if let Some(background) = &mut self.background {
            background.on_congestion();
        }
    }

    /// Whether the mode has a use for what the start of the connection told, even when it is over.
    pub(crate) fn reads_the_start(&self) -> bool {
        self.mode != Mode::Standard
    }

    /// An acknowledgement came. `enough` is the window that fills what is free, as the start told.
    /// Returns what the mode asks of window and pacer.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        acked: &Acked<'_>,
        path: &PathView,
        findings: &Findings<'_>,
        window: (Bytes, Phase),
        enough: Option<&Enough>,
    ) -> Steering {
        if self.mode == Mode::Standard {
            return Steering::default();
        }
        let known = Known {
            enough: enough.copied(),
            ..Known::new(acked, path, findings, window)
        };
        self.losses.on_acked(known.packets);
        self.follow_own_rate(acked.now, known.packets);
        match self.mode {
            Mode::Standard => Steering::default(),
            Mode::Background { share } => self.give_way(share, &known),
            Mode::FullSpeed { growth } => self.fill(growth, &known),
        }
    }

    fn follow_own_rate(&mut self, now: Timestamp, packets: f64) {
        let over = OWN_RATE_OVER.as_secs_f64();
        let last = self.own_at.replace(now).unwrap_or(now);
        let passed = now.saturating_since(last).as_secs_f64();
        self.own = self.own * libm::exp(-passed / over) + packets / over;
    }

    fn give_way(&mut self, share: f64, known: &Known) -> Steering {
        let rate = known.window / known.smoothed_rtt.as_secs_f64().max(1e-6);
        let mut background = match self.background {
            Some(background) if self.round.is_some() => background,
            // The mode rested.
            Some(last) => Background::new(last.rate().min(rate)),
            None => Background::new(rate),
        };
        if let Some(ended) = self.end_of_round(known) {
            background.on_round(share, &known.round(ended, self.own));
        }
        self.background = Some(background);
        let rate = background.rate();
        let in_flight = rate * known.smoothed_rtt.as_secs_f64();
        let most = SPARE_WINDOW * in_flight + SPARE_PACKETS;
        let steering = Steering {
            packets_per_second: Some(rate),
            most: Some(Bytes::from_f64(most * known.datagram)),
            proportion: Some(Proportion::STANDARD),
            ..Steering::default()
        };
        if !background.is_calm() || self.losses.get() > MOST_LOSS {
            return steering;
        }
        // A loss is chance, and must not keep the window below what the rate needs.
        Steering {
            order: known.growing_by((most - known.window).max(0.0)),
            proportion: Some(Proportion {
                weight: CHANCE_WEIGHT,
                needed: Bytes::from_f64(most * known.datagram),
            }),
            ..steering
        }
    }

    /// The round that ends with this acknowledgement, if one ends.
    fn end_of_round(&mut self, known: &Known) -> Option<Ended> {
        let fresh = Running {
            since: known.now,
            least: known.latest_rtt,
            most: known.latest_rtt,
            samples: 1,
            packets: 0.0,
        };
        let Some(round) = &mut self.round else {
            self.round = Some(fresh);
            return None;
        };
        let passed = known.now.saturating_since(round.since);
        if passed >= known.smoothed_rtt
            && (round.samples >= ROUND_SAMPLES
                || passed >= known.smoothed_rtt.saturating_mul(LONGEST_ROUND))
        {
            let ended = Ended {
                least: round.least,
                most: round.most.max(known.latest_rtt),
                delivered: (round.packets + known.packets) / passed.as_secs_f64().max(1e-6),
            };
            self.round = Some(fresh);
            return Some(ended);
        }
        round.least = round.least.min(known.latest_rtt);
        round.most = round.most.max(known.latest_rtt);
        round.samples = round.samples.saturating_add(1);
        round.packets += known.packets;
        None
    }

    fn fill(&self, h: f64, known: &Known) -> Steering {
        let Some(pipe) = known.pipe() else {
            return Steering::default();
        };
        let is_chance = self.losses.get() <= MOST_LOSS && !pipe.is_elastic;
        Steering {
            order: known.growing_by(growth(h, known.window, pipe.expected)),
            proportion: is_chance.then(|| Proportion {
                weight: CHANCE_WEIGHT,
                needed: Bytes::from_f64(pipe.vouched * known.datagram),
            }),
            ..Steering::default()
        }
    }
}

/// What fits into the path without a queue, in packets.
#[derive(Clone, Copy, Debug)]
struct Pipe {
    expected: f64,
    /// So much is sure to fit, and was no cause of a loss.
    vouched: f64,
    /// Whether others give way to whoever sends more.
    is_elastic: bool,
}

/// What an acknowledgement leaves known, in packets and seconds.
#[derive(Clone, Copy, Debug)]
struct Known {
    now: Timestamp,
    /// The packets that were newly acknowledged.
    packets: f64,
    latest_rtt: Duration,
    least_rtt: Duration,
    smoothed_rtt: Duration,
    /// The congestion window in packets.
    window: f64,
    phase: Phase,
    /// M, in bytes of UDP payload, and on the wire in bits.
    datagram: f64,
    on_wire_bits: f64,
    /// The estimate, if it is fresh and no mere bound.
    estimate: Option<Estimate>,
    capacity: Option<Bandwidth>,
    /// The window that fills what is free, as the start told.
    enough: Option<Enough>,
}

impl Known {
    fn new(
        acked: &Acked<'_>,
        path: &PathView,
        findings: &Findings<'_>,
        (window, phase): (Bytes, Phase),
    ) -> Self {
        let datagram = path.max_datagram.as_f64().max(1.0);
        let sizes = acked.packets.iter().map(|packet| packet.size.as_f64());
        let rtt = &acked.info.rtt;
        let is_fresh = |estimate: &Estimate| {
            !estimate.flags.lower_bound
                && estimate.age(acked.now)
                    <= estimate
                        .window
                        .saturating_mul(STALE_WINDOWS)
                        .max(OWN_RATE_OVER)
        };
        Self {
            now: acked.now,
            packets: sizes.sum::<f64>() / datagram,
            latest_rtt: rtt.latest_without(acked.info.ack_delay),
            least_rtt: rtt.min,
            smoothed_rtt: rtt.smoothed.max(Duration::from_micros(1)),
            window: window.as_f64() / datagram,
            phase,
            datagram,
            on_wire_bits: path.packet().as_bits_f64().max(1.0),
            estimate: findings.estimate.copied().filter(is_fresh),
            capacity: path.shown_capacity(),
            enough: None,
        }
    }

    /// So many packets more per round trip at least, when slow start is over.
    fn growing_by(&self, packets: f64) -> WindowOrder {
        match self.phase {
            Phase::SlowStart => WindowOrder::Free,
            Phase::CongestionAvoidance | Phase::Recovery => {
                WindowOrder::Along(Slope::of(packets * self.datagram, true))
            }
        }
    }

    /// Whether nobody else sends, as far as is known. A queue of some packets is too short to be
    /// seen, and losses are then the only sign of others.
    fn is_alone(&self) -> bool {
        match (&self.estimate, self.capacity) {
            (Some(estimate), Some(capacity)) => {
                !estimate.flags.elastic && estimate.low >= capacity.scaled(ALONE)
            }
            _ => self.enough.is_some_and(|enough| !enough.is_crowded),
        }
    }

    /// While there is no estimate, the start says what fits, unless others send as well.
    fn pipe(&self) -> Option<Pipe> {
        if let Some(estimate) = self.estimate {
            let fits = |rate| self.packets_of(rate) * self.least_rtt.as_secs_f64();
            return Some(Pipe {
                expected: fits(estimate.available),
                vouched: fits(estimate.low),
                is_elastic: estimate.flags.elastic,
            });
        }
        let idle = self.enough.filter(|enough| !enough.is_crowded)?;
        let fits = idle.window.as_f64() / self.datagram;
        Some(Pipe {
            expected: fits,
            vouched: fits,
            is_elastic: false,
        })
    }

    fn packets_of(&self, rate: Bandwidth) -> f64 {
        rate.as_bps_f64() / self.on_wire_bits
    }

    fn round(&self, ended: Ended, own: f64) -> Round {
        Round {
            queue: ended.least.saturating_sub(self.least_rtt),
            longest_queue: ended.most.saturating_sub(self.least_rtt),
            is_alone: self.is_alone(),
            least_rtt: self.least_rtt,
            smoothed_rtt: self.smoothed_rtt,
            available: self
                .estimate
                .map(|estimate| self.packets_of(estimate.available)),
            is_elastic: self.estimate.is_some_and(|estimate| estimate.flags.elastic),
            capacity: self.capacity.map(|capacity| self.packets_of(capacity)),
            own,
            delivered: ended.delivered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_before_the_mode_says_nothing_of_the_path() {
        let mut governor = Governor::new(Mode::Standard);
        (0..500).for_each(|_| governor.on_lost());
        assert!(governor.set(Mode::FULL_SPEED));
        assert_eq!(governor.losses.get(), 0.0);
        governor.on_lost();
        assert!(governor.losses.get() > 0.0);
        // From mode to mode it goes on. What was lost before a pause is long past after it.
        assert!(governor.set(Mode::BACKGROUND));
        assert!(governor.losses.get() > 0.0);
        assert!(governor.set(Mode::Standard) && governor.set(Mode::FULL_SPEED));
        assert_eq!(governor.losses.get(), 0.0);
    }
}
