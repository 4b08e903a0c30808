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
const ENOUGH_PRIOR: (f64, f64) = (0.98, 4.0);

/// The assumed share of kept slots that had to take, before the first one: this, times one less
/// half of the way. With a loss response in proportion most others yield, and where the way is the
/// longest, capacity or estimate is often wrong. On drawn paths
/// (`imtcp-sim survey elastic steps managed --promise --seeds 1..200`) of 39 slots in the last
/// quarter, of which no earlier slot told, 27 were kept; one less the whole way assumed a ninth.
/// One slot outweighs the assumption.
const TAKING_PRIOR: f64 = 0.9;
const TAKING_PRIOR_SLOTS: f64 = 1.0;

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
    /// would be available. `depth` says how far into what belongs to others the slot had to go at
    /// that time, as a share of the way from what was available to the most that may be reached.
    /// It is `None` if the slot had not to take.
    ///
    /// In the end nobody knows whether the slot had to take. So the slot counts for either case by
    /// how well that case explains its outcome. A missed slot of doubtful bandwidth is therefore
    /// little evidence of accidents.
    pub fn add(&mut self, enough: f64, depth: Option<f64>, kept: bool) {
        let depth = depth.unwrap_or(0.0);
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
    TAKING_PRIOR * (1.0 - (index as f64 + 0.5) / DEPTHS as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beliefs_before_the_first_slot() {
        let history = History::default();
        assert!((history.enough() - 0.98).abs() < 1e-12);
        // 0.9 times 1 less half of the middles of the quarters: 0.125, 0.375, 0.625, 0.875.
        for (depth, share) in [
            (0.1, 0.84375),
            (0.3, 0.73125),
            (0.6, 0.61875),
            (1.0, 0.50625),
            (9.0, 0.50625),
        ] {
            assert!((history.taking(depth) - share).abs() < 1e-12, "{depth}");
        }
        assert!(history.taking(f64::NAN) <= 1.0);
    }

    #[test]
    fn a_slot_counts_for_what_explains_it() {
        // Missed; 0.5 that enough was there, of which 0.98 are kept, and 0.84375 of what is taken:
        // 0.5 * 0.02 against 0.5 * 0.15625. So 0.113 of a slot says that enough was not kept.
        let mut history = History::default();
        history.add(0.5, None, false);
        let weight = 0.02 / (0.02 + 0.15625);
        let expected = 0.98 * 4.0 / (4.0 + weight);
        assert!((history.enough() - expected).abs() < 1e-12);
        // Where enough was there for sure, all of it.
        let mut history = History::default();
        history.add(1.0, None, false);
        assert!((history.enough() - 0.98 * 4.0 / 5.0).abs() < 1e-12);
        // To take is never likelier kept than not to take: 0.98 * 4 / 5.
        assert!((history.taking(0.1) - 0.784).abs() < 1e-12);
    }

    #[test]
    fn slots_move_them_and_the_last_twenty_count() {
        let mut history = History::default();
        history.add(0.0, Some(0.6), true);
        // (1 + 0.61875) / (1 + 1), and for less at least so: (1 + 0.84375) / (1 + 1).
        assert!((history.taking(0.6) - 1.61875 / 2.0).abs() < 1e-12);
        assert!((history.taking(0.1) - 1.84375 / 2.0).abs() < 1e-12);
        // Of more it tells nothing.
        assert!((history.taking(0.8) - 0.50625).abs() < 1e-12);
        for _ in 0..200 {
            history.add(0.0, Some(0.1), false);
        }
        // Weight of the past: 1 / (1 - 0.95) = 20; (0 + 0.84375) / (20 + 1).
        assert!((history.taking(0.1) - 0.84375 / 21.0).abs() < 1e-3);
        assert!(
            history.taking(0.6) <= history.taking(0.1),
            "deeper is never likelier"
        );
        let mut back = History::from_words(&history.to_words());
        assert_eq!(back, history);
        back.add(1.0, None, false);
        assert!(back.enough() < history.enough());
    }
}
