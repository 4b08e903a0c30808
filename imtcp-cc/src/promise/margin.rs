//! The margin by which the control aims above the required rate.

use super::requirement::Demand;
use super::status::Outcome;

/// The least margin. Usually the margin is the share that the last round trip has of the slot.
const LEAST: f64 = 0.02;

/// The last round trip of a slot, in round trips. It cannot be corrected any more: a loss in it
/// holds back the data behind it until the packet comes again, which takes a round trip and the
/// time until the loss is known (9/8 of one, RFC 9002, section 6.1.2).
const LAST_ROUND_TRIP: f64 = 1.25;

/// A further margin, in multiples of the shortfall of control slots. What the last control slot
/// lacks is never made up for. Two and a half times the root mean square of the shortfalls covers
/// nearly all of it.
const SIGMAS: f64 = 2.5;

/// The number of packets that are added to the margin of a source that wants no more. It gets the
/// rate at which it is paced, in whole packets, which are gathered at least to pairs. So this many
/// packets may end up in the slot before or after.
const WHOLE_PACKETS: f64 = 2.0;

/// The largest margin as a whole: a promise takes no more than it must. docs/ALGORITHM.md says
/// what a lower bound costs on a crowded path.
const MOST: f64 = 0.25;

/// What a missed slot adds to the allowance of a source that wants no more, and the share of slots
/// that may be missed: so much less a slot that was kept takes away, and there the allowance rests.
/// It begins this far below zero, so a slot that is missed once in a while changes nothing.
const ALLOWANCE: f64 = 0.04;
pub(super) const MAY_MISS: f64 = 0.02;

/// About thirty control slots count.
const MEMORY: f64 = 29.0 / 30.0;

/// The margin, as it follows from what slots lacked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Margin {
    /// The shares of an evaluation slot by which control slots fell short of their targets, as a
    /// root mean square in which old slots lose weight.
    square: f64,
    weight: f64,
    /// How far the margin of a source that wants no more may go beyond what the last round trip
    /// needs, if it is above zero.
    allowance: f64,
}

impl Default for Margin {
    fn default() -> Self {
        Self {
            square: 0.0,
            weight: 0.0,
            allowance: -ALLOWANCE,
        }
    }
}

impl Margin {
    /// A control slot lacked this share of an evaluation slot; it had more than its target if the
    /// number is negative.
    pub(super) fn on_control_slot(&mut self, lacked: f64) {
        let share = lacked.max(0.0);
        self.square = MEMORY * self.square + share * share;
        self.weight = MEMORY * self.weight + 1.0;
    }

    /// An evaluation slot had this multiple of what was due. One that lacked more than the largest
    /// margin says nothing: no margin would have saved it.
    pub(super) fn on_slot(&mut self, outcome: Outcome, had: f64) {
        let step = match outcome {
            Outcome::Missed if had * (1.0 + MOST) >= 1.0 => ALLOWANCE,
            Outcome::Kept => -ALLOWANCE * MAY_MISS,
            Outcome::Missed | Outcome::SourceLimited => 0.0,
        };
        self.allowance = (self.allowance + step).clamp(-ALLOWANCE, MOST);
    }

    /// The margin as a share of the rate. `round_trip` is its share of an evaluation slot, which
    /// has to deliver so many `packets`.
    pub(super) fn of(&self, demand: Demand, round_trip: f64, packets: f64) -> f64 {
        let last = LAST_ROUND_TRIP * round_trip;
        let spare = SIGMAS * self.shortfall();
        let spare = match demand {
            Demand::AtLeast => spare,
            // Beyond the rate it would take from others for nothing. So it gets at most as much
            // again as the last round trip needs, unless slots are missed with that.
            Demand::Exactly => spare.min(last + self.allowance.max(0.0)) + WHOLE_PACKETS / packets,
        };
        (last.max(LEAST) + spare).min(MOST)
    }

    fn shortfall(&self) -> f64 {
        libm::sqrt(self.square / self.weight.max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortfalls_count_as_a_root_mean_square() {
        let mut margin = Margin::default();
        assert_eq!(margin.of(Demand::AtLeast, 0.001, 100.0), LEAST);
        // A hundredth, twice as much and none: sqrt(5 / 3).
        for lacked in [0.01, 0.02, -0.045] {
            margin.on_control_slot(lacked);
        }
        let faded = MEMORY * MEMORY;
        let mean = (faded + 4.0 * MEMORY) / (1.0 + MEMORY + faded);
        let expected = LEAST + 2.5 * 0.01 * mean.sqrt();
        assert!((margin.of(Demand::AtLeast, 0.001, 100.0) - expected).abs() < 1e-12);
        margin.on_control_slot(3.0);
        assert_eq!(margin.of(Demand::AtLeast, 0.001, 100.0), MOST);
    }

    #[test]
    fn a_source_that_wants_no_more_has_more_margin_once_slots_are_missed() {
        let mut margin = Margin::default();
        (0..50).for_each(|_| margin.on_control_slot(0.04));
        let at = |margin: &Margin| margin.of(Demand::Exactly, 0.008, 200.0);
        // 1.25 * 0.8 % are less than 2 %; 1 % again, and two of 200 packets.
        assert!((at(&margin) - 0.04).abs() < 1e-12);
        margin.on_slot(Outcome::SourceLimited, 0.9);
        margin.on_slot(Outcome::Missed, 0.79);
        assert!((at(&margin) - 0.04).abs() < 1e-12, "no margin saves it");
        margin.on_slot(Outcome::Missed, 0.97);
        assert!((at(&margin) - 0.04).abs() < 1e-12, "one is no habit");
        margin.on_slot(Outcome::Missed, 0.97);
        assert!((at(&margin) - 0.08).abs() < 1e-12);
        // Two and a half times 4 % are the most, however many are missed.
        (0..5).for_each(|_| margin.on_slot(Outcome::Missed, 0.97));
        assert!((at(&margin) - 0.13).abs() < 1e-12);
        (0..300).for_each(|_| margin.on_slot(Outcome::Kept, 1.0));
        assert!((at(&margin) - 0.04).abs() < 1e-12);
    }
}
