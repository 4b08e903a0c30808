//! Whether a series grows: a straight line through the means of its blocks.
//!
//! Successive samples of a process's memory are much alike, so a line through all of them would
//! claim to be far more certain than it is. The means of long blocks are nearly independent.

/// Blocks of a series. Twelve leave ten degrees of freedom.
const BLOCKS: usize = 12;

/// Student's t for 95 %, both sides, and ten degrees of freedom.
const T: f64 = 2.228;

/// A line through a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The mean of the series.
    pub mean: f64,
    /// By how much it grows in an hour.
    pub per_hour: f64,
    /// Half of the 95 % interval of that.
    pub error: f64,
}

impl Slope {
    /// The line through samples at even distances, which together last `hours`. `None` if there are
    /// too few.
    pub fn of(samples: &[f64], hours: f64) -> Option<Self> {
        let length = samples.len() / BLOCKS;
        if length < 2 || hours <= 0.0 {
            return None;
        }
        // What is left over is left out at the beginning.
        let counted = &samples[samples.len() - length * BLOCKS..];
        let means: Vec<f64> = counted.chunks_exact(length).map(mean).collect();
        #[expect(clippy::cast_precision_loss, reason = "twelve")]
        let block = |number: usize| number as f64;
        let step = hours / block(BLOCKS);
        let middle = (block(BLOCKS) - 1.0) / 2.0;
        let level = mean(&means);
        let (mut square, mut product) = (0.0, 0.0);
        for (number, value) in means.iter().enumerate() {
            let x = (block(number) - middle) * step;
            square += x * x;
            product += x * (value - level);
        }
        let per_hour = product / square;
        let residuals = means.iter().enumerate().map(|(number, value)| {
            let x = (block(number) - middle) * step;
            (value - level - per_hour * x).powi(2)
        });
        let variance = residuals.sum::<f64>() / (block(BLOCKS) - 2.0);
        Some(Self {
            mean: level,
            per_hour,
            error: T * (variance / square).sqrt(),
        })
    }

    /// No growth can be told from none.
    pub fn is_flat(&self) -> bool {
        self.per_hour <= self.error
    }

    /// A growth by this share of the mean in an hour would have been seen.
    pub fn would_show(&self, share: f64) -> bool {
        self.error < share * self.mean
    }
}

#[expect(clippy::cast_precision_loss, reason = "few samples")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise without a trend: a full period of a sine in each block.
    fn series(per_sample: f64) -> Vec<f64> {
        (0..120)
            .map(|number| {
                let x = f64::from(number);
                100.0 + per_sample * x + (x * 2.4).sin() * 3.0
            })
            .collect()
    }

    #[test]
    fn growth_is_told_from_noise() {
        let flat = Slope::of(&series(0.0), 1.0).expect("long enough");
        assert!(flat.is_flat(), "{flat:?}");
        assert!(flat.would_show(0.05), "{flat:?}");
        let growing = Slope::of(&series(0.1), 1.0).expect("long enough");
        assert!(!growing.is_flat(), "{growing:?}");
        assert!(
            (growing.per_hour - 12.0).abs() < growing.error,
            "{growing:?}"
        );
        let shrinking = Slope::of(&series(-0.1), 1.0).expect("long enough");
        assert!(shrinking.is_flat(), "{shrinking:?}");
    }

    #[test]
    fn a_wild_or_short_series_tells_nothing() {
        let wild: Vec<f64> = (0..24).map(|n: u32| f64::from(n.pow(3) % 17)).collect();
        let wild = Slope::of(&wild, 1.0).expect("long enough");
        assert!(!wild.would_show(0.2), "{wild:?}");
        assert_eq!(Slope::of(&[1.0; 20], 1.0), None);
    }
}
