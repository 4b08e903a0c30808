//! How often the peer acknowledges: each packet by itself, or packets in pairs (IM 3.5.1).

use crate::measurement::pairs::EchoCadence;

/// The number of acknowledgements for a judgement. They are those of some round trips of streams,
/// and so many that one timer or one loss does not decide.
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
