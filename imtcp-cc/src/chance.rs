//! Losses that chance would have made, and that are not there.

/// The most losses of packets that are spared, as a share of those that chance would give them.
const SPARED_SHARE: f64 = 0.2;

/// How improbable so few losses have to be. There is a look every round trip, so chance has many.
/// With one in a thousand it deceives less often, but policers are found later or not at all
/// (docs/ALGORITHM.md).
const IMPROBABLE: f64 = 0.01;

/// A term of a sum that is this small beside the others is no longer counted, nor are those that
/// follow it.
const NEGLIGIBLE: f64 = 1e-12;

/// Packets, and losses among them. Packets that are lost together are one loss.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) packets: f64,
    pub(crate) losses: f64,
}

impl Sample {
    /// A sample that weighs so many times as much.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self {
            packets: self.packets * factor,
            losses: self.losses * factor,
        }
    }

    /// Whether these packets are spared what befalls the `others`, and not by chance. If chance
    /// takes of both alike, each loss is one of these with the share that they have of all packets.
    pub(crate) fn is_spared(&self, others: &Sample) -> bool {
        let share = self.packets / (self.packets + others.packets).max(1.0);
        let expected = self.packets * others.losses / others.packets.max(1.0);
        let all = self.losses + others.losses;
        self.losses <= SPARED_SHARE * expected && at_most(self.losses, all, share) < IMPROBABLE
    }
}

/// The probability of at most `count` events of `all`, if each is one of them with probability
/// `share` (binomial).
///
/// The sum begins with its last term, in logarithms: where there are many events, the first ones
/// are too small for a number. Below the mean the terms fall towards the first, so it is only some
/// standard deviations that are summed, however many events there are.
fn at_most(count: f64, all: f64, share: f64) -> f64 {
    let count = libm::floor(count);
    if count >= all || share <= 0.0 {
        return 1.0;
    }
    if share >= 1.0 {
        return 0.0;
    }
    let choices =
        libm::lgamma(all + 1.0) - libm::lgamma(count + 1.0) - libm::lgamma(all - count + 1.0);
    let mut one =
        libm::exp(choices + count * libm::log(share) + (all - count) * libm::log1p(-share));
    let mut sum = one;
    let mut events = count;
    while events >= 1.0 && one > NEGLIGIBLE * sum {
        one *= events * (1.0 - share) / ((all - events + 1.0) * share);
        sum += one;
        events -= 1.0;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_events_are_improbable_where_many_are_expected() {
        let close = |count, all, share, probability: f64| {
            let found = at_most(count, all, share);
            assert!((found - probability).abs() < 1e-5, "{found}");
        };
        close(0.0, 4.0, 0.5, 0.0625);
        close(1.0, 4.0, 0.5, 0.3125);
        close(2.0, 3.0, 0.2, 0.992);
        close(3.0, 3.0, 0.2, 1.0);
        close(0.0, 4.0, 0.0, 1.0);
        close(3.0, 4.0, 1.0, 0.0);
        close(4.0, 4.0, 1.0, 1.0);
        // 1 - 0.999^121: the first term is 1e-363.
        close(120.0, 121.0, 0.999, 0.114_02);
    }

    #[test]
    fn packets_are_spared_where_chance_would_take_many() {
        let few = |losses| Sample {
            packets: 900.0,
            losses,
        };
        let others = |losses| Sample {
            packets: 100.0,
            losses,
        };
        assert!(few(0.0).is_spared(&others(3.0)));
        assert!(!few(0.0).is_spared(&others(1.0)), "one in ten is chance");
        assert!(!few(9.0).is_spared(&others(3.0)), "a third is not spared");
    }

    #[test]
    fn many_losses_are_not_spared_where_the_others_show_a_single_one() {
        let sample = |packets, losses| Sample { packets, losses };
        assert!(!sample(99_900.0, 120.0).is_spared(&sample(100.0, 1.0)));
        assert!(!sample(60_000.0, 130.0).is_spared(&sample(60.0, 1.0)));
        // A thousandth of what the others lose is no chance, however many packets there are.
        assert!(sample(1e7, 100.0).is_spared(&sample(1e7, 1e5)));
    }
}
