//! The pipe of a hop: what happens to packets between the transmitter and the far end.

use super::{Jitter, Packet};
use crate::random::Random;
use imtcp_cc::units::Timestamp;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// How long packets take, and which of them overtake others or never arrive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipeSettings {
    /// Propagation delay at the beginning.
    pub delay: Duration,
    /// The delay of packets that leave the transmitter from a time on: the route is another one.
    pub delay_steps: Vec<(Timestamp, Duration)>,
    /// Each packet's delay is drawn from the delay less this to the delay plus this. No packet
    /// overtakes another by that.
    pub jitter: Duration,
    /// Some packets are overtaken.
    pub reorder: Option<Reorder>,
    /// Packets that leave the transmitter in one of these times are lost.
    pub outages: Vec<Range<Timestamp>>,
}

/// Packets on a longer way, as behind links that share the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// The share of packets that take it.
    pub share: f64,
    /// They arrive by so much later; those behind them do not wait for them.
    pub later: Duration,
}

impl PipeSettings {
    /// Of a pipe that does nothing but delay.
    pub fn of(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    /// The shortest delay of all times.
    pub fn least_delay(&self) -> Duration {
        let steps = self.delay_steps.iter().map(|(_, delay)| *delay);
        steps.fold(self.delay, Duration::min)
    }

    fn delay_at(&self, at: Timestamp) -> Duration {
        let mut steps = self.delay_steps.iter().rev();
        let step = steps.find(|(from, _)| *from <= at);
        step.map_or(self.delay, |(_, delay)| *delay)
    }

    fn is_out(&self, at: Timestamp) -> bool {
        self.outages.iter().any(|outage| outage.contains(&at))
    }
}

/// Packets under way.
#[derive(Debug)]
pub struct Pipe {
    settings: PipeSettings,
    jitter: Jitter,
    random: Random,
    /// With their arrival times, which never decrease.
    packets: VecDeque<(Timestamp, Packet)>,
}

impl Pipe {
    /// An empty one. `name` seeds what is random in it.
    pub fn new(settings: PipeSettings, seed: u64, name: &str) -> Self {
        Self {
            jitter: Jitter::new(settings.jitter, seed, name),
            random: Random::for_component(seed, &format!("reorder.{name}")),
            settings,
            packets: VecDeque::new(),
        }
    }

    /// Whether what leaves the transmitter now is lost.
    pub fn is_out(&self, now: Timestamp) -> bool {
        self.settings.is_out(now)
    }

    /// The propagation delay at the beginning.
    pub fn delay(&self) -> Duration {
        self.settings.delay
    }

    /// A packet enters at `leaves`. Returns when it arrives, if none arrives before it.
    pub fn push(&mut self, leaves: Timestamp, packet: Packet) -> Option<Timestamp> {
        let mut at = self.jitter.arrives(leaves, self.settings.delay_at(leaves));
        if let Some(Reorder { share, later }) = self.settings.reorder
            && self.random.chance(share)
        {
            at = at + later;
        }
        let behind = self.packets.iter().rev();
        let behind = behind.take_while(|(other, _)| *other > at).count();
        let place = self.packets.len() - behind;
        self.packets.insert(place, (at, packet));
        (place == 0).then_some(at)
    }

    /// Takes the packet that arrives now, and says when the one behind it does. There is none where
    /// another was put before the one whose time this was.
    pub fn pop(&mut self, now: Timestamp) -> (Option<Packet>, Option<Timestamp>) {
        if self.packets.front().is_none_or(|(at, _)| *at > now) {
            return (None, None);
        }
        let packet = self.packets.pop_front().map(|(_, packet)| packet);
        (packet, self.packets.front().map(|(at, _)| *at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ecn, FlowId, Owner};
    use super::*;
    use imtcp_cc::units::Bytes;

    const DELAY: Duration = Duration::from_millis(10);

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(ms))
    }

    /// A packet whose size is its name.
    fn packet(name: u64) -> Packet {
        Packet {
            size: Bytes::new(name),
            owner: Owner::Flow(FlowId(0)),
            ecn: Ecn::NotCapable,
            datagram: None,
            probe: None,
        }
    }

    /// What arrives when, if events are kept as a simulation keeps them.
    fn arrivals(settings: PipeSettings, leave_ms: &[u64]) -> Vec<(u64, u64)> {
        let mut pipe = Pipe::new(settings, 1, "test");
        let mut agenda = Vec::new();
        let mut arrived = Vec::new();
        let ends = leave_ms.last().map_or(0, |last| last + 1000);
        for now in 0..=ends {
            let now_at = at_ms(now);
            while let Some(place) = agenda.iter().position(|at| *at == now_at) {
                agenda.swap_remove(place);
                let (packet, next) = pipe.pop(now_at);
                arrived.extend(packet.map(|packet| (packet.size.get(), now)));
                agenda.extend(next);
            }
            if let Some(name) = leave_ms.iter().position(|leaves| *leaves == now)
                && !pipe.is_out(now_at)
            {
                agenda.extend(pipe.push(now_at, packet(name as u64)));
            }
        }
        arrived
    }

    #[test]
    fn on_a_shorter_route_packets_overtake_those_on_the_longer_one() {
        let settings = PipeSettings {
            delay_steps: vec![(at_ms(20), Duration::from_millis(3))],
            ..PipeSettings::of(DELAY)
        };
        let arrived = arrivals(settings, &[0, 18, 19, 20, 21]);
        assert_eq!(arrived, [(0, 10), (3, 23), (4, 24), (1, 28), (2, 29)]);
    }

    #[test]
    fn a_share_of_packets_is_overtaken() {
        let later = Duration::from_millis(5);
        let settings = PipeSettings {
            reorder: Some(Reorder { share: 0.2, later }),
            ..PipeSettings::of(DELAY)
        };
        let leaves: Vec<u64> = (0..2000).collect();
        let arrived = arrivals(settings, &leaves);
        assert_eq!(arrived.len(), 2000, "all arrive");
        assert!(arrived.windows(2).all(|two| two[0].1 <= two[1].1));
        let late = arrived.iter().filter(|(name, at)| at - name == 15).count();
        assert!((350..450).contains(&late), "a fifth of 2000: {late}");
        let punctual = arrived.iter().filter(|(name, at)| at - name == 10).count();
        assert_eq!(late + punctual, 2000);
    }

    #[test]
    fn what_leaves_in_an_outage_is_lost() {
        let settings = PipeSettings {
            outages: vec![at_ms(5)..at_ms(7), at_ms(8)..at_ms(9)],
            ..PipeSettings::of(DELAY)
        };
        let arrived = arrivals(settings, &[4, 5, 6, 7, 8, 9]);
        assert_eq!(arrived, [(0, 14), (3, 17), (5, 19)]);
    }
}
