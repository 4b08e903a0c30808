//! How often the peer acknowledges: each packet by itself, or packets in pairs (IM 3.5.1).

/// How often the peer's acknowledgements give the time of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EchoCadence {
    /// Each packet is acknowledged by itself: pairs are (j - 1, j) (IM 3.2.3).
    #[default]
    EveryPacket,
    /// Every second packet is acknowledged, as with delayed acknowledgements: pairs are (j, j + 2)
    /// (IM 3.5.1).
    EverySecond,
}

impl EchoCadence {
    /// The number of packets of a stream (N) that gives as many pairs as `packets` packets give
    /// when each is acknowledged by itself. IM 3.5.1 asks for a longer stream and does not say how
    /// much longer.
    pub const fn stream_packets(self, packets: u32) -> u32 {
        let pairs = packets.saturating_sub(1);
        match self {
            Self::EveryPacket => packets,
            // One packet more, because the first packet may be the one without a time of its own.
            Self::EverySecond => 2 * pairs + 2,
        }
    }

    /// How many packets apart the two packets of a pair are.
    pub const fn step(self) -> usize {
        match self {
            Self::EveryPacket => 1,
            Self::EverySecond => 2,
        }
    }
}

/// The number of acknowledgements for a judgement. They come from some round trips of streams, and
/// are enough that one timer or one loss does not decide.
const PERIOD: u32 = 32;

/// The average number of packets per acknowledgement from which on pairs are the rule: half way
/// between one and two.
const PAIRED_NUMERATOR: u32 = 3;
const PAIRED_DENOMINATOR: u32 = 2;

/// Follows the peer's habit at run time.
#[derive(Debug, Default)]
pub struct CadenceDetector {
    acknowledgements: u32,
    packets: u32,
    cadence: EchoCadence,
}

impl CadenceDetector {
    /// An acknowledgement newly covered `packets` packets.
    pub fn on_ack(&mut self, packets: u32) {
        self.acknowledgements += 1;
        self.packets = self.packets.saturating_add(packets);
        if self.acknowledgements == PERIOD {
            let paired =
                self.packets.saturating_mul(PAIRED_DENOMINATOR) >= PERIOD * PAIRED_NUMERATOR;
            self.cadence = if paired {
                EchoCadence::EverySecond
            } else {
                EchoCadence::EveryPacket
            };
            self.acknowledgements = 0;
            self.packets = 0;
        }
    }

    /// The habit as last judged. Until the first judgement it is one acknowledgement for each
    /// packet.
    pub fn get(&self) -> EchoCadence {
        self.cadence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_noticed_and_forgotten() {
        let mut detector = CadenceDetector::default();
        (0..PERIOD).for_each(|_| detector.on_ack(2));
        assert_eq!(detector.get(), EchoCadence::EverySecond);
        (0..PERIOD).for_each(|_| detector.on_ack(1));
        assert_eq!(detector.get(), EchoCadence::EveryPacket);
    }

    #[test]
    fn a_few_lost_acknowledgements_are_no_habit() {
        let mut detector = CadenceDetector::default();
        (0..PERIOD).for_each(|i| detector.on_ack(1 + u32::from(i % 4 == 0)));
        assert_eq!(detector.get(), EchoCadence::EveryPacket);
    }
}
