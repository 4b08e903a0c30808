//! Delays that vary from packet to packet, as netem's `delay 20ms 4ms` makes them.

use crate::random::Random;
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// Gives each packet the time of its arrival.
#[derive(Debug)]
pub struct Jitter {
    most: Duration,
    random: Random,
    /// The latest arrival.
    last: Timestamp,
}

impl Jitter {
    /// Delays differ from the mean by up to `most`, which is the mean at most.
    pub fn new(most: Duration, seed: u64, name: &str) -> Self {
        Self {
            most,
            random: Random::for_component(seed, &format!("jitter.{name}")),
            last: Timestamp::ZERO,
        }
    }

    /// When a packet arrives that leaves at `now`. Never earlier than the one before it.
    pub fn arrives(&mut self, now: Timestamp, mean: Duration) -> Timestamp {
        if self.most.is_zero() {
            return now + mean;
        }
        let above_least = self.most.mul_f64(2.0 * self.random.uniform());
        let at = now + mean.saturating_sub(self.most) + above_least;
        self.last = self.last.max(at);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: Duration = Duration::from_millis(20);

    fn delays_ms(most: Duration, apart: Duration) -> Vec<f64> {
        let mut jitter = Jitter::new(most, 1, "test");
        let sent = (0..10_000).map(|index| Timestamp::from_origin(apart * index));
        let delay = |sent| jitter.arrives(sent, MEAN).saturating_since(sent);
        sent.map(delay)
            .map(|delay| delay.as_secs_f64() * 1e3)
            .collect()
    }

    #[test]
    fn delays_fill_their_range_evenly() {
        let delays = delays_ms(Duration::from_millis(4), Duration::from_millis(10));
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!((mean - 20.0).abs() < 0.1, "{mean}");
        assert!(delays.iter().all(|delay| (16.0..=24.0).contains(delay)));
        let low = delays.iter().filter(|delay| **delay < 18.0).count();
        assert!((2300..2700).contains(&low), "a quarter of 10,000: {low}");
    }

    #[test]
    fn nothing_overtakes() {
        let apart = Duration::from_micros(500);
        let delays = delays_ms(Duration::from_millis(4), apart);
        let arrival = |(index, delay): (usize, &f64)| 0.5 * index as f64 + delay;
        let arrivals: Vec<f64> = delays.iter().enumerate().map(arrival).collect();
        assert!(arrivals.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9));
    }

    #[test]
    fn without_jitter_every_delay_is_the_mean() {
        let delays = delays_ms(Duration::ZERO, Duration::from_micros(500));
        assert!(delays.iter().all(|delay| *delay == 20.0));
    }
}
