//! Whether enough speaks for a capacity to tell it.
//!
//! Two dispersions that are alike are a first capacity, and it can be wrong by chance. As a rule it
//! is refuted soon. But where delays vary, chance makes the next one as well, and the packets of a
//! source that sends less hardly ever leave close enough together to refute that one. So once a
//! capacity was refuted, the next one is followed as before, but it is not told until its pile
//! stands out. Neither is one that is far from the one before, if that one did not stand out.

use super::piles::{self, NEAR, WIDTH};
use crate::units::Bandwidth;

/// So many dispersions in the pile are enough. Among a dozen that are spread over a factor of ten,
/// two lie within [`WIDTH`] more often than not, and six about once in a hundred thousand cases.
pub(super) const ENOUGH: u32 = 6;

/// When dispersions are more than chance: enough of them are alike, and stand out of those within
/// [`NEAR`] of the capacity.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// Those within this factor of the capacity are alike.
    alike: f64,
    /// At least one of so many near it is.
    one_in: u32,
}

/// Of dispersions that are spread evenly, one in seventeen is in a pile.
const PILE: Rule = Rule {
    alike: WIDTH,
    one_in: 5,
};

/// Of dispersions that are spread evenly, two in five are that close to the middle of a heap.
const HEAP: Rule = Rule {
    alike: 1.16,
    one_in: 2,
};

impl Rule {
    fn stands_out(&self, alike: u32, near: u32) -> bool {
        alike >= ENOUGH && alike.saturating_mul(self.one_in) >= near
    }
}

/// What speaks for the present capacity.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Proof {
    /// Whether the last capacity on which there was a verdict was refuted.
    was_refuted: bool,
    /// Whether the capacity is told, or one that it replaced was.
    is_told: bool,
    /// Whether a heap shows the capacity, and not a pile.
    is_of_heap: bool,
    /// The dispersions in the capacity's pile and around it, of packets that left closer together
    /// than they came. Others come as they left, and prove nothing.
    alike: u32,
    near: u32,
}

impl Proof {
    /// Begins without a capacity.
    pub(super) fn without_capacity(self) -> Self {
        Self {
            was_refuted: self.was_refuted,
            ..Self::default()
        }
    }

    /// There is a verdict on a capacity.
    pub(super) fn on_verdict(&mut self, is_refuted: bool) {
        self.was_refuted = is_refuted;
    }

    /// A pile of so many dispersions shows another capacity.
    pub(super) fn on_pile(&mut self, alike: usize) {
        self.is_of_heap = false;
        self.alike = count(alike);
        self.near = self.alike;
    }

    /// A pile of these dispersions, in ascending order, shows another capacity than before. If that
    /// one is far away, and its own pile does not stand out, chance made it, and may have made this
    /// one.
    pub(super) fn on_other_pile(
        &mut self,
        before: Option<Bandwidth>,
        found: Bandwidth,
        sorted: &[f32],
    ) {
        let was_chance = before.is_some_and(|before| {
            !piles::are_within(NEAR, before, found) && !stands_out(sorted, before)
        });
        if was_chance {
            self.on_verdict(true);
            *self = self.without_capacity();
        }
        let is_first = was_chance || before.is_none();
        let alike = is_first.then(|| piles::size(sorted, found));
        self.on_pile(alike.unwrap_or_default());
    }

    /// A heap shows another capacity. It may be the pace at which packets left, so it is not told
    /// before it is proved.
    pub(super) fn on_heap(&mut self) {
        *self = Self {
            is_of_heap: true,
            ..self.without_capacity()
        };
    }

    /// A dispersion is `ratio` of the capacity's own, and its packets left closer together.
    #[inline]
    pub(super) fn on_dispersion(&mut self, ratio: f64, is_long: bool) {
        let is_within = |factor: f64| ratio < factor && ratio * factor > 1.0;
        let alike = is_within(self.rule().alike);
        self.alike = self.alike.saturating_add(alike.into());
        self.near = self.near.saturating_add(is_within(NEAR).into());
        self.weigh(is_long);
    }

    /// Whether the capacity is to be told. If dispersions are read over a longer time (`is_long`),
    /// those over the usual time were nothing that a link makes.
    #[inline]
    pub(super) fn weigh(&mut self, is_long: bool) {
        let stands_out = self.rule().stands_out(self.alike, self.near);
        self.is_told |= stands_out || !(self.was_refuted || is_long);
    }

    fn rule(&self) -> &'static Rule {
        if self.is_of_heap { &HEAP } else { &PILE }
    }

    /// Whether a heap shows the capacity, and not a pile.
    pub(super) fn is_of_heap(&self) -> bool {
        self.is_of_heap
    }

    pub(super) fn is_told(&self) -> bool {
        self.is_told
    }
}

/// Whether the pile of a capacity stands out of these dispersions, in ascending order.
pub(super) fn stands_out(sorted: &[f32], capacity: Bandwidth) -> bool {
    let (alike, near) = (piles::size(sorted, capacity), piles::near(sorted, capacity));
    PILE.stands_out(count(alike), count(near))
}

fn count(size: usize) -> u32 {
    size.try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these dispersions it takes until a capacity that two show is told.
    fn told_after(was_refuted: bool, is_long: bool, ratios: &[f64]) -> Option<usize> {
        let mut proof = Proof::default();
        proof.on_verdict(was_refuted);
        proof = proof.without_capacity();
        proof.on_pile(2);
        proof.weigh(is_long);
        if proof.is_told() {
            return Some(0);
        }
        ratios.iter().position(|ratio| {
            proof.on_dispersion(*ratio, is_long);
            proof.is_told()
        })
    }

    #[test]
    fn a_first_capacity_is_told_at_once_and_the_next_after_a_refuted_one_when_it_stands_out() {
        let pile = [1.0; 8];
        assert_eq!(told_after(false, false, &pile), Some(0));
        assert_eq!(told_after(true, false, &pile), Some(3));
        assert_eq!(told_after(false, true, &pile), Some(3));
    }

    #[test]
    fn dispersions_that_are_spread_prove_no_capacity() {
        let spread: Vec<f64> = (0..2000)
            .map(|at| 0.4 + f64::from(at * 7 % 400) * 0.01)
            .collect();
        assert_eq!(told_after(true, false, &spread), None);
        // Traffic of others spreads three in four, mostly beyond 1.4.
        let loaded: Vec<f64> = (0..100)
            .map(|at| {
                if at % 4 == 0 {
                    1.0
                } else {
                    1.2 + 0.1 * f64::from(at % 9)
                }
            })
            .collect();
        assert!(told_after(true, false, &loaded).is_some_and(|after| after < 20));
    }

    #[test]
    fn a_verdict_for_a_capacity_makes_the_next_one_a_first_one() {
        let mut proof = Proof::default();
        proof.on_verdict(true);
        proof.on_verdict(false);
        proof.on_pile(2);
        proof.weigh(false);
        assert!(proof.is_told());
    }

    #[test]
    fn a_heap_is_told_when_half_of_what_the_link_made_is_its_own() {
        let told_after = |ratios: &[f64]| {
            let mut proof = Proof::default();
            proof.weigh(false);
            assert!(proof.is_told(), "the pile before it was");
            proof.on_verdict(true);
            proof.on_heap();
            ratios.iter().position(|ratio| {
                proof.on_dispersion(*ratio, false);
                proof.is_told()
            })
        };
        // A pile of these would not stand out.
        let spread = [0.87, 0.93, 1.06, 1.12, 1.2, 1.3];
        assert_eq!(told_after(&spread.repeat(2)), Some(7));
        let elsewhere = [0.75, 0.8, 1.2, 1.3, 0.93];
        assert_eq!(told_after(&elsewhere.repeat(100)), None);
        assert_eq!(told_after(&[2.0; 100]), None, "none is its own");
    }
}
