//! The choice of a bit rate for the next segment.

use super::cmsd::Told;
use clap::ValueEnum;
use std::collections::VecDeque;
use std::time::Duration;

/// Throughputs of so many segments count. FESTIVE (below) takes 20 of shorter ones.
const REMEMBERED: usize = 5;

/// The share of the throughput that is used, as in FESTIVE (its `p`).
const SHARE: f64 = 0.85;

/// BOLA's weight of a full buffer against a high bit rate: `gamma * p` of section V of the paper.
const GAMMA_P: f64 = 5.0;

/// A rule that adapts the bit rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rule {
    /// By throughput: the harmonic mean of the last segments, as in FESTIVE (Jiang, Sekar and
    /// Zhang, CoNEXT 2012).
    Throughput,
    /// By what is in the buffer: BOLA-BASIC (Spiteri, Urgaonkar and Sitaraman, INFOCOM 2016).
    Bola,
}

impl Rule {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Bola => "bola",
        }
    }
}

/// What the choice goes by.
#[derive(Clone, Debug)]
pub struct Chooser {
    rule: Rule,
    /// In bit/s, rising, never empty.
    ladder: Vec<u64>,
    capacity: Duration,
    throughputs: VecDeque<f64>,
}

impl Chooser {
    /// For a title with these bit rates, rising, and a buffer of this capacity.
    pub fn new(rule: Rule, ladder: Vec<u64>, capacity: Duration) -> Self {
        Self {
            rule,
            ladder,
            capacity,
            throughputs: VecDeque::new(),
        }
    }

    /// A segment came with so many bit/s.
    pub fn saw(&mut self, throughput_bps: f64) {
        if throughput_bps > 0.0 {
            self.throughputs.push_back(throughput_bps);
        }
        while self.throughputs.len() > REMEMBERED {
            self.throughputs.pop_front();
        }
    }

    /// The harmonic mean: a slow segment counts more than a fast one.
    pub fn throughput_bps(&self) -> Option<f64> {
        let inverse: f64 = self.throughputs.iter().map(|rate| 1.0 / rate).sum();
        (inverse > 0.0).then(|| self.throughputs.len() as f64 / inverse)
    }

    /// The place in the ladder for the next segment, which plays for `segment`. `told` is what the
    /// server said last, if the player goes by it. `mb` is already cautious.
    pub fn choose(&self, level: Duration, segment: Duration, told: Option<Told>) -> usize {
        let told = told.unwrap_or_default();
        let by_server = told
            .suggested_bps
            .or(told.estimated_bps.map(|rate| rate * SHARE));
        match self.rule {
            Rule::Throughput => {
                let own = || self.throughput_bps().map(|rate| rate * SHARE);
                by_server
                    .or_else(own)
                    .map_or(0, |rate| self.highest_within(rate))
            }
            Rule::Bola => {
                let by_buffer = self.bola(level, segment);
                by_server.map_or(by_buffer, |rate| by_buffer.min(self.highest_within(rate)))
            }
        }
    }

    fn highest_within(&self, bps: f64) -> usize {
        let fitting = self.ladder.iter().filter(|rate| **rate as f64 <= bps);
        fitting.count().saturating_sub(1)
    }

    /// The bit rate with the greatest `(V (v + gamma p) - Q) / S`: utilities `v` are logarithms of
    /// sizes `S`, and `Q` is the buffer in segments. Where BOLA would wait with the next segment,
    /// the buffer has no room for it either.
    fn bola(&self, level: Duration, segment: Duration) -> usize {
        let segments = |span: Duration| span.as_secs_f64() / segment.as_secs_f64().max(1e-3);
        let lowest = self.ladder[0] as f64;
        let utility = |rate: u64| (rate as f64 / lowest).ln();
        let top = utility(self.ladder[self.ladder.len() - 1]);
        let control = (segments(self.capacity) - 1.0).max(1.0) / (top + GAMMA_P);
        let score = |rate: u64| {
            (control * (utility(rate) + GAMMA_P) - segments(level)) / (rate as f64 / lowest)
        };
        let places = 0..self.ladder.len();
        let best =
            places.max_by(|a, b| f64::total_cmp(&score(self.ladder[*a]), &score(self.ladder[*b])));
        best.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: [u64; 4] = [500_000, 1_000_000, 2_000_000, 4_000_000];
    const SEGMENT: Duration = Duration::from_secs(2);

    fn chooser(rule: Rule) -> Chooser {
        Chooser::new(rule, LADDER.to_vec(), Duration::from_secs(20))
    }

    #[test]
    fn the_throughput_rule_begins_low_and_follows_the_harmonic_mean() {
        let mut chooser = chooser(Rule::Throughput);
        assert_eq!(chooser.choose(SEGMENT, SEGMENT, None), 0);
        chooser.saw(5e6);
        assert_eq!(chooser.choose(SEGMENT, SEGMENT, None), 3);
        chooser.saw(1e6);
        // 2 / (1/5 + 1) = 1.67 Mbit/s, of which 1.42 are used.
        assert_eq!(chooser.choose(SEGMENT, SEGMENT, None), 1);
        for _ in 0..REMEMBERED {
            chooser.saw(3e6);
        }
        assert_eq!(chooser.choose(SEGMENT, SEGMENT, None), 2);
    }

    #[test]
    fn bola_rises_with_the_buffer_and_takes_no_notice_of_throughput() {
        let mut chooser = chooser(Rule::Bola);
        chooser.saw(100e6);
        let at = |seconds| chooser.choose(Duration::from_secs(seconds), SEGMENT, None);
        let places: Vec<_> = (0..=18).map(at).collect();
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!((places[0], places[18]), (0, 3));
    }

    #[test]
    fn what_the_server_tells_comes_first() {
        let told = |etp: Option<f64>, mb: Option<f64>| {
            Some(Told {
                estimated_bps: etp,
                suggested_bps: mb,
            })
        };
        let mut by_rate = chooser(Rule::Throughput);
        by_rate.saw(100e6);
        assert_eq!(
            by_rate.choose(SEGMENT, SEGMENT, told(Some(9e6), Some(1.2e6))),
            1
        );
        assert_eq!(by_rate.choose(SEGMENT, SEGMENT, told(Some(2.4e6), None)), 2);
        assert_eq!(by_rate.choose(SEGMENT, SEGMENT, told(None, None)), 3);
        let by_buffer = chooser(Rule::Bola);
        let full = Duration::from_secs(18);
        assert_eq!(by_buffer.choose(full, SEGMENT, told(None, Some(1.2e6))), 1);
        assert_eq!(
            by_buffer.choose(Duration::ZERO, SEGMENT, told(None, Some(9e6))),
            0
        );
    }
}
