//! Random loss: independent, or in bursts after Gilbert.

use crate::random::Random;

/// How packets are lost on a hop, apart from a full queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossModel {
    /// The share of packets lost in the long run, 0 to 1.
    pub share: f64,
    /// The mean number of packets lost in a row, at least 1; `None` for independent losses.
    pub burst_packets: Option<f64>,
}

/// The state of a hop's loss process.
#[derive(Debug)]
pub struct Loss {
    /// Probability to enter the losing state from the good one, per packet.
    enter: f64,
    /// Probability to leave it again, per packet.
    leave: f64,
    losing: bool,
    random: Random,
}

impl Loss {
    /// Starts in the good state.
    ///
    /// Gilbert's two states: every packet in the losing one is lost. Its mean stay is
    /// `1 / leave = burst_packets` and its share of all packets `enter / (enter + leave) = share`.
    /// Independent losses are the case `enter = share`, `leave = 1 - share`.
    pub fn new(model: LossModel, random: Random) -> Self {
        let leave = model
            .burst_packets
            .map_or(1.0 - model.share, |burst| 1.0 / burst);
        let enter = leave * model.share / (1.0 - model.share);
        Self {
            enter: if model.share < 1.0 { enter } else { 1.0 },
            leave,
            losing: false,
            random,
        }
    }

    /// Whether the next packet is lost.
    pub fn strikes(&mut self) -> bool {
        let change = if self.losing { self.leave } else { self.enter };
        if self.random.chance(change) {
            self.losing = !self.losing;
        }
        self.losing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (share lost, mean length of a run of losses)
    fn observe(model: LossModel, seed: u64) -> (f64, f64) {
        const PACKETS: u32 = 400_000;
        let mut loss = Loss::new(model, Random::for_component(seed, "loss"));
        let (mut lost, mut runs, mut before) = (0u32, 0u32, false);
        for _ in 0..PACKETS {
            let now = loss.strikes();
            lost += u32::from(now);
            runs += u32::from(now && !before);
            before = now;
        }
        (
            f64::from(lost) / f64::from(PACKETS),
            f64::from(lost) / f64::from(runs.max(1)),
        )
    }

    #[test]
    fn losses_have_the_rate_and_the_burst_length_asked_for() {
        for seed in 0..5 {
            let independent = LossModel {
                share: 0.02,
                burst_packets: None,
            };
            let (share, run) = observe(independent, seed);
            // 8000 losses expected, deviation 89: 5 % is more than four deviations.
            assert!((share / 0.02 - 1.0).abs() < 0.05, "seed {seed}: {share}");
            assert!(
                (run / (1.0 / 0.98) - 1.0).abs() < 0.03,
                "seed {seed}: {run}"
            );

            let gilbert = LossModel {
                share: 0.02,
                burst_packets: Some(5.0),
            };
            let (share, run) = observe(gilbert, seed);
            // 1600 runs expected, of geometric length: relative deviation of the sum about 3.5 %.
            assert!((share / 0.02 - 1.0).abs() < 0.15, "seed {seed}: {share}");
            assert!((run / 5.0 - 1.0).abs() < 0.12, "seed {seed}: {run}");
        }
    }

    #[test]
    fn the_extremes_are_exact() {
        let lost = |share| {
            let model = LossModel {
                share,
                burst_packets: None,
            };
            observe(model, 1).0
        };
        assert_eq!(lost(0.0), 0.0);
        assert_eq!(lost(1.0), 1.0);
    }
}
