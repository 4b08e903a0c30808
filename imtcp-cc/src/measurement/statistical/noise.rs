//! Whether the waits of packets are noise.
//!
//! A queue has a memory: who comes a little later than another packet meets much of what that one
//! met. Where a link ahead of the tight one delays each packet by chance, as radio and late hosts
//! do, one wait says nothing of the next. Such waits look like those of traffic that is not there.
//! Random traffic of others makes waits like that, too, if our packets are far apart. So this
//! counts only where two views contradict each other, or where the link seems full
//! ([`super::idle::IdleView::is_noise`]).

/// The number of waits that averages rest on, about, and the fewest.
const MEMORY: f64 = 256.0;
const FEWEST: f64 = 64.0;

/// The largest correlation of neighbouring waits that are taken for noise, and the least of those
/// that no longer are. Chance makes 0.06 of so many (one standard deviation).
const UNRELATED: f64 = 0.06;
const RELATED: f64 = 0.15;

/// How one wait is related to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits {
    count: f64,
    mean: f64,
    variance: f64,
    covariance: f64,
    /// How far the last one was from the mean.
    last: f64,
    are_noise: bool,
}

impl Waits {
    /// A packet that met none of our own waited for so many seconds.
    #[inline]
    pub(super) fn add(&mut self, waited_s: f64) {
        if self.count == 0.0 {
            self.mean = waited_s;
        }
        self.count = (self.count + 1.0).min(MEMORY);
        let off = waited_s - self.mean;
        self.mean += off / self.count;
        self.variance += (off * off - self.variance) / self.count;
        self.covariance += (off * self.last - self.covariance) / self.count;
        self.last = off;
        let most = if self.are_noise { RELATED } else { UNRELATED };
        self.are_noise = self.count >= FEWEST && self.covariance < most * self.variance;
    }

    /// Whether neighbouring waits have nothing to do with each other.
    pub(super) fn are_noise(&self) -> bool {
        self.are_noise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousand waits of up to a millisecond.
    fn waits(wait: impl Fn(u64) -> u64) -> Waits {
        let mut waits = Waits::default();
        (0..1000).for_each(|number| waits.add(wait(number) as f64 / 1e6));
        waits
    }

    fn random(number: u64) -> u64 {
        let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32) % 1000
    }

    #[test]
    fn waits_that_are_drawn_one_by_one_are_noise() {
        assert!(waits(random).are_noise());
    }

    #[test]
    fn a_queue_that_grows_and_empties_is_none() {
        let sawtooth = waits(|number| number % 40 * 20 + random(number) / 5);
        assert!(!sawtooth.are_noise());
        assert!(!waits(|_| 500).are_noise(), "a route that became longer");
    }

    #[test]
    fn a_few_waits_tell_nothing() {
        let mut waits = Waits::default();
        (0..20).for_each(|number| waits.add(random(number) as f64));
        assert!(!waits.are_noise());
    }
}
