//! The outcomes of earlier slots, by how much they had to take from others.

/// The number of classes of slots that had to take. The way from what was available to the reach
/// is cut into quarters.
const DEPTHS: usize = 4;

/// The number of words of a history in the bulletin: two for each class.
pub(super) const HISTORY_WORDS: usize = 2 * (DEPTHS + 1);

/// The part of its weight that an old slot keeps with each new slot of the same kind, that is, one
/// that had to take or one that had not to. About twenty slots count.
const MEMORY: f64 = 0.95;

/// The share of slots that is assumed to be kept before the first slot, and for how many slots
/// this assumption counts. If enough is available, a promise fails only by accident.
///
/// This assumption and the next one are fitted to the 17,030 forecasts of
/// `imtcp-sim survey elastic steps managed --promise --seeds 1..200`, where most slots are kept,
/// and `imtcp-sim calibrate --seeds 61..300`, where many demands are hopeless.
const ENOUGH_PRIOR: (f64, f64) = (0.99, 8.0);

/// The assumed share of kept slots that had to take, before the first one: this, times one less
/// half of the square of the way. With a loss response in proportion most others yield. Where the
/// way is the longest, capacity or estimate is often wrong. One slot outweighs the assumption.
const TAKING_PRIOR: f64 = 0.98;
const TAKING_PRIOR_SLOTS: f64 = 0.5;

/// The kept slots and all slots of a class. Old slots count less.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    kept: f64,
    seen: f64,
}

impl Tally {
    /// Reduces the weight of old slots for a new slot, which counts as `weight` of a slot.
    fn fade(&mut self, weight: f64) {
        let rest = 1.0 - (1.0 - MEMORY) * weight;
        self.kept *= rest;
        self.seen *= rest;
    }

    fn count(&mut self, kept: bool, weight: f64) {
        self.kept += weight * f64::from(u8::from(kept));
        self.seen += weight;
    }

    fn share(&self, prior: f64, weight: f64) -> f64 {
        (self.kept + prior * weight) / (self.seen + weight)
    }
}

/// The share of the slots that was kept, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct History {
    enough: Tally,
    taking: [Tally; DEPTHS],
}

impl History {
    /// Adds a slot that ended. `enough` is the probability, as seen at its beginning, that enough
    /// would be available. `depth` says how far into what belongs to others the slot had to go
    /// otherwise, as a share of the way to the most that may be taken from them. Above 1 it is of
    /// the deepest quarter.
    ///
    /// In the end nobody knows whether the slot had to take. So the slot counts for either case by
    /// how well that case explains its outcome. A missed slot of doubtful bandwidth is therefore
    /// little evidence of accidents.
    pub fn add(&mut self, enough: f64, depth: f64, kept: bool) {
        let explained =
            |probability: f64, share: f64| probability * if kept { share } else { 1.0 - share };
        let by_itself = explained(enough, self.enough());
        let by_taking = explained(1.0 - enough, self.taking(depth));
        let all = by_itself + by_taking;
        let weight = if all > 0.0 { by_itself / all } else { enough };
        self.enough.fade(weight);
        self.enough.count(kept, weight);
        self.add_taking(depth, kept, 1.0 - weight);
    }

    fn add_taking(&mut self, depth: f64, kept: bool, weight: f64) {
        for (index, tally) in self.taking.iter_mut().enumerate() {
            tally.fade(weight);
            // A slot that was kept would also have been kept if it had needed less. A slot that
            // was missed would also have been missed if it had needed more.
            let tells = if kept {
                index <= class(depth)
            } else {
                index >= class(depth)
            };
            if tells {
                tally.count(kept, weight);
            }
        }
    }

    /// The probability that a slot is kept that needs no more than is available.
    pub fn enough(&self) -> f64 {
        self.enough.share(ENOUGH_PRIOR.0, ENOUGH_PRIOR.1)
    }

    /// The probability that a slot is kept that has to take. It is never above that of a slot that
    /// need not take.
    pub fn taking(&self, depth: f64) -> f64 {
        let index = class(depth);
        let share = self.taking[index].share(taking_prior(index), TAKING_PRIOR_SLOTS);
        share.min(self.enough())
    }

    pub(super) fn to_words(self) -> [u64; HISTORY_WORDS] {
        let mut words = [0; HISTORY_WORDS];
        let tallies = std::iter::once(self.enough).chain(self.taking);
        for (pair, tally) in words.chunks_exact_mut(2).zip(tallies) {
            pair.copy_from_slice(&[tally.kept.to_bits(), tally.seen.to_bits()]);
        }
        words
    }

    pub(super) fn from_words(words: &[u64; HISTORY_WORDS]) -> Self {
        let tally = |index: usize| Tally {
            kept: f64::from_bits(words[2 * index]),
            seen: f64::from_bits(words[2 * index + 1]),
        };
        Self {
            enough: tally(0),
            taking: std::array::from_fn(|index| tally(index + 1)),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "clamped to the few classes before")]
#[expect(clippy::cast_sign_loss, reason = "clamped to zero before")]
fn class(depth: f64) -> usize {
    let last = DEPTHS - 1;
    (depth.max(0.0) * DEPTHS as f64).min(last as f64) as usize
}

/// At the middle of a quarter.
fn taking_prior(index: usize) -> f64 {
    let depth = (index as f64 + 0.5) / DEPTHS as f64;
    TAKING_PRIOR * (1.0 - 0.5 * depth * depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beliefs_before_the_first_slot() {
        let history = History::default();
        assert!((history.enough() - 0.99).abs() < 1e-12);
        // 0.98 times 1 less half of the squares of 0.125, 0.375, 0.625, 0.875, the middles.
        for (depth, share) in [
            (0.1, 0.97234375),
            (0.3, 0.91109375),
            (0.6, 0.78859375),
            (1.0, 0.60484375),
            (9.0, 0.60484375),
        ] {
            assert!((history.taking(depth) - share).abs() < 1e-12, "{depth}");
        }
        assert!(history.taking(f64::NAN) <= 1.0);
    }

    #[test]
    fn a_slot_counts_for_what_explains_it() {
        // Missed; 0.5 that enough was there, of which 0.99 are kept, and 0.972 of what is taken:
        // 0.5 * 0.01 against 0.5 * 0.028. So 0.266 of a slot says that enough was not kept.
        let mut history = History::default();
        history.add(0.5, 0.0, false);
        let weight = 0.01 / (0.01 + 0.02765625);
        let expected = 0.99 * 8.0 / (8.0 + weight);
        assert!((history.enough() - expected).abs() < 1e-12);
        // Where enough was there for sure, all of it.
        let mut history = History::default();
        history.add(1.0, 0.0, false);
        assert!((history.enough() - 0.99 * 8.0 / 9.0).abs() < 1e-12);
        // To take is never likelier kept than not to take: 0.99 * 8 / 9.
        assert!((history.taking(0.1) - 0.88).abs() < 1e-12);
    }

    #[test]
    fn slots_move_them_and_the_last_twenty_count() {
        let mut history = History::default();
        history.add(0.0, 0.6, true);
        // (1 + 0.789 / 2) / (1 + 0.5), and for less at least so: (1 + 0.911 / 2) / (1 + 0.5). It is
        // never likelier than without taking.
        assert!((history.taking(0.6) - 1.394296875 / 1.5).abs() < 1e-12);
        assert!((history.taking(0.3) - 1.455546875 / 1.5).abs() < 1e-12);
        assert!((history.taking(0.1) - 0.99).abs() < 1e-12);
        // Of more it tells nothing.
        assert!((history.taking(0.8) - 0.60484375).abs() < 1e-12);
        for _ in 0..200 {
            history.add(0.0, 0.1, false);
        }
        // Weight of the past: 1 / (1 - 0.95) = 20; (0 + 0.972 / 2) / (20 + 0.5).
        assert!((history.taking(0.1) - 0.486171875 / 20.5).abs() < 1e-3);
        assert!(
            history.taking(0.6) <= history.taking(0.1),
            "deeper is never likelier"
        );
        let mut back = History::from_words(&history.to_words());
        assert_eq!(back, history);
        back.add(1.0, 0.0, false);
        assert!(back.enough() < history.enough());
    }
}
