//! Whether a series grows: a straight line through the means of its blocks.
//!
//! Successive samples of a process's memory are much alike, so a line through all of them would
//! claim to be far more certain than it is. The means of long blocks are nearly independent.
//!
//! A server has more memory while it has more connections, and their number wanders. What a line
//! through memory and connections explains is taken out of the slope.

/// Blocks of a series. Twelve leave nine degrees of freedom.
const BLOCKS: usize = 12;

/// Student's t for 95 %, both sides, and nine degrees of freedom.
const T: f64 = 2.262;

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
    /// The line through samples at even distances, which together last `hours`, beside what
    /// `others` of the same times explain. `None` if there are too few.
    pub fn of(samples: &[f64], others: &[f64], hours: f64) -> Option<Self> {
        if samples.len() / BLOCKS < 2 || samples.len() != others.len() || hours <= 0.0 {
            return None;
        }
        let (values, others) = (Deviations::of(samples), Deviations::of(others));
        let step = hours / 12.0;
        let times = Deviations::of(&std::array::from_fn::<f64, BLOCKS, _>(|number| {
            step * f64::from(u8::try_from(number).unwrap_or(u8::MAX))
        }));
        // Time and memory, each without what the number of the others explains.
        let (times, values_left) = (times.without(&others), values.without(&others));
        let square = times.times(&times);
        let per_hour = values_left.times(&times) / square;
        let rest = values_left.without(&times);
        let variance = rest.times(&rest) / 9.0;
        Some(Self {
            mean: values.mean,
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

/// The means of the blocks of a series, as deviations from the mean of all.
struct Deviations {
    mean: f64,
    each: [f64; BLOCKS],
}

impl Deviations {
    fn of(samples: &[f64]) -> Self {
        let length = samples.len() / BLOCKS;
        // What is left over is left out at the beginning.
        let counted = &samples[samples.len() - length * BLOCKS..];
        let mean_of_all = mean(counted);
        Self {
            mean: mean_of_all,
            each: std::array::from_fn(|number| {
                mean(&counted[number * length..(number + 1) * length]) - mean_of_all
            }),
        }
    }

    fn times(&self, other: &Self) -> f64 {
        let products = self.each.iter().zip(&other.each).map(|(a, b)| a * b);
        products.sum()
    }

    /// What is left when a line through `other` is taken away.
    fn without(&self, other: &Self) -> Self {
        let square = other.times(other);
        let slope = if square > 0.0 {
            self.times(other) / square
        } else {
            0.0
        };
        let mut each = self.each;
        for (value, other) in each.iter_mut().zip(&other.each) {
            *value -= slope * other;
        }
        Self {
            mean: self.mean,
            each,
        }
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
        let flat = Slope::of(&series(0.0), &[7.0; 120], 1.0).expect("long enough");
        assert!(flat.is_flat(), "{flat:?}");
        assert!(flat.would_show(0.05), "{flat:?}");
        let growing = Slope::of(&series(0.1), &[7.0; 120], 1.0).expect("long enough");
        assert!(!growing.is_flat(), "{growing:?}");
        assert!(
            (growing.per_hour - 12.0).abs() < growing.error,
            "{growing:?}"
        );
        let shrinking = Slope::of(&series(-0.1), &[7.0; 120], 1.0).expect("long enough");
        assert!(shrinking.is_flat(), "{shrinking:?}");
    }

    #[test]
    fn what_connections_take_is_no_growth() {
        let connections: Vec<f64> = (0..120u32).map(|n| f64::from(n * n % 7)).collect();
        let rising: Vec<f64> = connections
            .iter()
            .enumerate()
            .map(|(n, c)| c + f64::from(u32::try_from(n).expect("few")) / 4.0)
            .collect();
        let memory: Vec<f64> = rising.iter().map(|count| 30.0 + 1.1 * count).collect();
        let blind = Slope::of(&memory, &[7.0; 120], 1.0).expect("long enough");
        assert!(!blind.is_flat(), "{blind:?}");
        let slope = Slope::of(&memory, &rising, 1.0).expect("long enough");
        assert!(slope.per_hour.abs() < 1e-6, "{slope:?}");
    }

    #[test]
    fn a_wild_or_short_series_tells_nothing() {
        let wild: Vec<f64> = (0..24).map(|n: u32| f64::from(n.pow(3) % 17)).collect();
        let wild = Slope::of(&wild, &[7.0; 24], 1.0).expect("long enough");
        assert!(!wild.would_show(0.2), "{wild:?}");
        assert_eq!(Slope::of(&[1.0; 20], &[7.0; 20], 1.0), None);
    }
}
