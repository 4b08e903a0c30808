//! The mean over the slices of a window, with a 95 % interval that counts all sources of error.

use super::NORMAL_95;
use super::blocks::{BLOCK_95, Blocks, point_95};
use super::slice::{Room, SliceView};
use std::time::Duration;

/// The rates of slices differ if their variance exceeds what chance explains by this many standard
/// deviations. Otherwise each slice counts as a sample of one common rate.
const SIGNIFICANT: f64 = 3.0;

/// If slices differ, the time that was not seen may differ from the time that was seen. Half of the
/// 95 % interval of this difference is the standard deviation between slices times this share. The
/// share is below 1, because most of the unseen time lies within slices that were seen in part, or
/// next to them.
const UNLIKE_SHARE: f64 = 0.5;

/// Before anything is seen, every rate of the others up to the capacity is as likely. This is the
/// standard deviation of such a rate, as a share of the capacity: one part in the square root of
/// 12.
const UNSEEN: f64 = 0.289;

/// The largest number of unseen slices on either side that a view stands for.
const FARTHEST: u64 = 10;

/// A bound on the others' traffic refutes a rate that exceeds it by more than this share of the
/// capacity. The tolerance is needed because a link that is nearly full leaves no room either.
const REFUTING_SHARE: f64 = 0.1;

/// The fewest slices of which each counts as a look of its own at the others' traffic. Fewer are
/// those of a few bursts, and slices of one burst meet the same traffic.
pub(super) const FEWEST_SLICES: usize = 8;

/// A capacity is wrong that leaves others less than nothing, by more than this share of it. Echoes
/// off by a packet's time at the edges of slices make less.
const NEGATIVE_SHARE: f64 = 0.03;

/// The rate of the others' traffic over a window of slices, in bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WindowMean {
    pub(super) rate: f64,
    /// Half of the 95 % interval of `rate`, as an estimate of the rate in the present second.
    pub(super) half_width: f64,
    /// The part of it that is due to blocks differing from each other.
    pub(super) present: f64,
}

/// The scatter of the rates of slices: within a slice, per second that was seen, and between
/// slices.
#[derive(Clone, Copy, Debug, Default)]
struct Scatter {
    /// The variance of a slice's rate times the seconds that were seen in it.
    within: f64,
    /// The variance of the true rates of slices.
    between: f64,
}

/// Averages over the slices of `views`, which span `span` slices of the length `slice`.
///
/// Each slice counts by its time. If a slice was only sampled, its rate is drawn towards the common
/// rate, as far as its scatter explains the distance (empirical Bayes). Under memoryless traffic
/// the result is the ratio of all foreign bits to all seconds that were seen. That ratio has no
/// bias, although a gap can only be used while the queue lasts. Under traffic that comes and goes
/// the result is the mean over time, in which slices with many busy gaps count no more than others.
///
/// `rooms` are slices of which only a bound is known. If the bound refutes the view that stands for
/// such a slice, all rates up to the bound are equally likely.
pub(super) fn mean(
    views: &[SliceView],
    rooms: impl Iterator<Item = Room>,
    span: usize,
    slice: Duration,
    capacity: f64,
) -> Option<WindowMean> {
    let slice_s = slice.as_secs_f64();
    let common = Common::of(views);
    let scatter = common.scatter(views);
    let mut blocks = Blocks::new(slice);
    for view in views {
        blocks.add(view.index, common.rate_of(view, &scatter));
    }
    let Sums {
        time,
        mut bits,
        seen,
        variance,
        mut doubt,
    } = Sums::of(views, slice_s, &common, &scatter);
    if time <= 0.0 {
        return None;
    }
    let rate_of = |view: &SliceView| common.rate_of(view, &scatter);
    for [refuted, half] in refuted(views, rooms, capacity, rate_of) {
        bits -= (refuted - half) * slice_s;
        doubt += half * slice_s;
    }
    // By chance a single slice may have a rate below zero. If all of them together have one, our
    // packets came faster than the capacity.
    let rate = bits / time;
    if rate < -NEGATIVE_SHARE * capacity {
        return None;
    }
    let rate = rate.max(0.0);
    // The window also holds slices in which nothing was seen. Their true rates differ from those of
    // the views that stand for them.
    let missing = span.saturating_sub(views.len()) as f64 * slice_s;
    let of_slices = scatter.between + scatter.within / slice_s;
    // Slices that happen to agree show little of how slices differ while they are few. One slice of
    // any rate counts besides them.
    let blocks = blocks.ended();
    let is_few = views.len() < FEWEST_SLICES;
    let looks = if is_few {
        blocks.count()
    } else {
        views.len() as f64
    };
    let unseen = UNSEEN * capacity / looks;
    let variance =
        variance / (time * time) + of_slices * missing * slice_s / (time * time) + unseen * unseen;
    let seen_share = seen / time;
    let doubt = doubt / time;
    let unlike = UNLIKE_SHARE * (1.0 - seen_share).max(0.0) * libm::sqrt(scatter.between);
    let present = blocks.get() * if is_few { point_95(&blocks) } else { BLOCK_95 };
    let squares =
        NORMAL_95 * NORMAL_95 * variance + unlike * unlike + doubt * doubt + present * present;
    Some(WindowMean {
        rate,
        half_width: libm::sqrt(squares),
        present,
    })
}

/// Sums over views. Each counts by its time, and by that of the unseen slices for which it stands.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// In seconds: all of the time, and what was seen of it.
    time: f64,
    seen: f64,
    /// What others sent in that time, and by how much that may be off.
    bits: f64,
    doubt: f64,
    /// The variance of these bits that chance within slices explains.
    variance: f64,
}

impl Sums {
    fn of(views: &[SliceView], slice_s: f64, common: &Common, scatter: &Scatter) -> Self {
        let mut sums = Self::default();
        for (place, view) in views.iter().enumerate() {
            let own = if view.covered { view.seen_s() } else { slice_s };
            let weight = own + slice_s * represented(views, place);
            let unseen = 1.0 - (view.seen_s() / own).min(1.0);
            sums.time += weight;
            sums.seen += view.seen_s().min(own);
            sums.bits += common.rate_of(view, scatter) * weight;
            sums.doubt += f64::from(view.doubt) * weight;
            sums.variance += weight * weight * scatter.noise_of(view) * unseen;
        }
        sums
    }
}

/// The rates of views that are refuted in the slices for which they stand, and half of what `rooms`
/// leave there. `rate_of` says the rate of a view.
fn refuted(
    views: &[SliceView],
    rooms: impl Iterator<Item = Room>,
    capacity: f64,
    rate_of: impl Fn(&SliceView) -> f64,
) -> impl Iterator<Item = [f64; 2]> {
    let mut place = 0;
    rooms.filter_map(move |room| {
        place += views[place..].partition_point(|view| view.index < room.index);
        let rate = rate_of(nearest(views, place, room.index)?);
        let is_refuted = rate > room.most + REFUTING_SHARE * capacity;
        is_refuted.then_some([rate, room.most / 2.0])
    })
}

/// The view that stands for slice `index`, which lies before the one at `place`.
fn nearest(views: &[SliceView], place: usize, index: u64) -> Option<&SliceView> {
    let before = views.get(place.checked_sub(1)?)?;
    let after = views.get(place)?;
    [before, after]
        .into_iter()
        .filter(|view| view.index.abs_diff(index) <= FARTHEST)
        .min_by_key(|view| view.index.abs_diff(index))
}

/// The number of unseen slices that the view at `place` stands for: half of those on either side.
/// Traffic that comes and goes lasts for more than a slice, so the nearest view is the best guess.
fn represented(views: &[SliceView], place: usize) -> f64 {
    let here = views[place].index;
    let missing = |a: u64, b: u64| (b - a - 1).min(2 * FARTHEST) as f64 / 2.0;
    let before = place
        .checked_sub(1)
        .map_or(0.0, |p| missing(views[p].index, here));
    let after = views
        .get(place + 1)
        .map_or(0.0, |next| missing(here, next.index));
    before + after
}

/// The variance of the slices' rates about `mean`.
pub(super) fn spread(views: &[SliceView], mean: f64) -> f64 {
    let squares: f64 = views
        .iter()
        .map(|view| (view.rate() - mean) * (view.rate() - mean))
        .sum();
    squares / (views.len().max(2) - 1) as f64
}

impl Scatter {
    /// The variance of a view's rate that its scatter explains.
    fn noise_of(&self, view: &SliceView) -> f64 {
        if view.covered {
            0.0
        } else {
            self.within / view.seen_s()
        }
    }

    /// The weight of a slice's own rate against the common rate, given the variance of its noise.
    fn trust(&self, noise: f64) -> f64 {
        if self.between > 0.0 {
            self.between / (self.between + noise)
        } else {
            0.0
        }
    }
}

/// All slices taken together.
struct Common {
    rate: f64,
    seen_s: f64,
    count: usize,
}

impl Common {
    fn of(views: &[SliceView]) -> Self {
        let bits: f64 = views.iter().map(|view| view.rate() * view.seen_s()).sum();
        let seen_s: f64 = views.iter().map(|view| view.seen_s()).sum();
        let rate = if seen_s > 0.0 { bits / seen_s } else { 0.0 };
        Self {
            rate,
            seen_s,
            count: views.len(),
        }
    }

    /// The rate of a slice, drawn towards the common rate as far as chance explains its distance.
    fn rate_of(&self, view: &SliceView, scatter: &Scatter) -> f64 {
        let trust = scatter.trust(scatter.noise_of(view));
        view.rate() * trust + self.rate * (1.0 - trust)
    }

    fn scatter(&self, views: &[SliceView]) -> Scatter {
        let freedom: u32 = views.iter().map(|view| u32::from(view.freedom)).sum();
        let squares: f64 = views.iter().map(|view| f64::from(view.scatter)).sum();
        let about_common: f64 = views
            .iter()
            .map(|view| view.seen_s() * (view.rate() - self.rate) * (view.rate() - self.rate))
            .sum();
        let spare = self.count.saturating_sub(1) as f64;
        let within = if freedom > 0 {
            squares / f64::from(freedom)
        } else {
            about_common / spare.max(1.0)
        };
        // One-way analysis of variance with unequal sizes.
        let square_seen: f64 = views.iter().map(|view| view.seen_s() * view.seen_s()).sum();
        let size = self.seen_s - square_seen / self.seen_s.max(f64::MIN_POSITIVE);
        // Chance alone makes the slices' squares vary by this much about their expectation.
        let chance = SIGNIFICANT * libm::sqrt(2.0 * spare) * within;
        let excess = about_common - spare * within;
        let between = if size > 0.0 && excess > chance {
            excess / size
        } else {
            0.0
        };
        Scatter { within, between }
    }
}

#[cfg(test)]
mod tests;
