//! From slices to a mean with an honest interval.

use super::slices::SliceView;

/// Two-sided 95 % point of the normal distribution.
const NORMAL_95: f64 = 1.96;

/// What a window of slices says about the rate of the others' traffic, bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WindowMean {
    pub(super) rate: f64,
    /// Half the 95 % interval of `rate`, as an estimate of the rate in this very window.
    pub(super) half_width: f64,
    /// Share of the window in which the link was seen at work.
    pub(super) seen_share: f64,
}

/// Scatter of the slices: within a slice per second seen, and between slices.
#[derive(Clone, Copy, Debug, Default)]
struct Scatter {
    /// Variance of foreign bits per second of watching: the variance of a slice's rate times the
    /// seconds seen in it.
    within: f64,
    /// Variance of the true rates of slices.
    between: f64,
}

/// Averages over the slices of `views`, which span `span` slices of `slice_s` seconds.
///
/// Each slice counts by its time. The rate of a slice that was only sampled is drawn towards the
/// common rate as far as its scatter explains its distance (empirical Bayes): under memoryless
/// traffic this is the ratio of all foreign bits to all seconds seen, which has no bias although a
/// gap can only be used while the queue lasts; under traffic that comes and goes it is the mean
/// over time, in which slices with many busy gaps count no more than others.
pub(super) fn mean(views: &[SliceView], span: usize, slice_s: f64) -> Option<WindowMean> {
    let sampled = Sampled::of(views);
    let scatter = sampled.scatter(views);
    let mut time = 0.0;
    let mut bits = 0.0;
    let mut seen = 0.0;
    let mut variance = 0.0;
    for view in views {
        let weight = if view.covered { view.seen_s } else { slice_s };
        let noise = if view.covered {
            0.0
        } else {
            scatter.within / view.seen_s
        };
        let trust = if view.covered {
            1.0
        } else {
            scatter.between / (scatter.between + noise).max(f64::MIN_POSITIVE)
        };
        let rate = view.rate * trust + sampled.rate * (1.0 - trust);
        time += weight;
        bits += rate * weight;
        seen += view.seen_s.min(weight);
        let unseen = 1.0 - (view.seen_s / weight).min(1.0);
        variance += weight * weight * noise * unseen;
    }
    if time <= 0.0 {
        return None;
    }
    // Single slices may come out below zero by chance; their mean can not.
    let rate = (bits / time).max(0.0);
    // Slices in which nothing was seen belong to the window's truth all the same.
    let missing = span.saturating_sub(views.len()) as f64 * slice_s;
    let of_slices = spread(views, rate);
    let variance = variance / (time * time)
        + of_slices * missing * slice_s / ((time + missing) * (time + missing));
    Some(WindowMean {
        rate,
        half_width: NORMAL_95 * libm::sqrt(variance),
        seen_share: seen / (time + missing).max(f64::MIN_POSITIVE),
    })
}

/// Variance of the slices' rates about `mean`.
pub(super) fn spread(views: &[SliceView], mean: f64) -> f64 {
    let squares: f64 = views
        .iter()
        .map(|view| (view.rate - mean) * (view.rate - mean))
        .sum();
    squares / (views.len().max(2) - 1) as f64
}

/// The slices that were only sampled, taken together.
struct Sampled {
    rate: f64,
    seen_s: f64,
    count: usize,
}

impl Sampled {
    fn of(views: &[SliceView]) -> Self {
        let mut bits = 0.0;
        let mut seen_s = 0.0;
        let mut count = 0;
        for view in views.iter().filter(|view| !view.covered) {
            bits += view.rate * view.seen_s;
            seen_s += view.seen_s;
            count += 1;
        }
        Self {
            rate: if seen_s > 0.0 { bits / seen_s } else { 0.0 },
            seen_s,
            count,
        }
    }

    fn scatter(&self, views: &[SliceView]) -> Scatter {
        let sampled = || views.iter().filter(|view| !view.covered);
        let freedom: u32 = sampled().map(|view| view.freedom).sum();
        let squares: f64 = sampled().map(|view| view.scatter).sum();
        let about_common: f64 = sampled()
            .map(|view| view.seen_s * (view.rate - self.rate) * (view.rate - self.rate))
            .sum();
        let spare = self.count.saturating_sub(1) as f64;
        let within = if freedom > 0 {
            squares / f64::from(freedom)
        } else {
            about_common / spare.max(1.0)
        };
        // One-way analysis of variance with unequal sizes.
        let square_seen: f64 = sampled().map(|view| view.seen_s * view.seen_s).sum();
        let size = self.seen_s - square_seen / self.seen_s.max(f64::MIN_POSITIVE);
        let between = if size > 0.0 {
            ((about_common - spare * within) / size).max(0.0)
        } else {
            0.0
        };
        Scatter { within, between }
    }
}
