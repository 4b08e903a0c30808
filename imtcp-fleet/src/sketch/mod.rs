//! Mergeable distributions, as text that every engine can read.
//!
//! The buckets are those of `DDSketch` (Masson, Rim and Lee, 2019): bucket i counts the values
//! above γ^(i-1), up to γ^i, and stands for the value in between whose relative distance to both
//! ends is the same. A text has runs of counts: `417:1:2:1230` is 12 values in bucket 417 and 30 in
//! 418. It tells the first bucket, the distance to the next, the digits of a count, and the counts.
//! Sketches merge by adding counts, so SQL can do it: `unnest`, `substr` and `sum`.

mod text;

pub use text::Malformed;

use text::{runs, written};

/// The greatest relative error of a quantile.
pub const ACCURACY: f64 = 0.02;

/// The ratio of the ends of a bucket.
pub const GAMMA: f64 = (1.0 + ACCURACY) / (1.0 - ACCURACY);

/// Buckets that [`Sketch::coarse`] makes one: an odd number, so that there is one in the middle. A
/// quantile is then right by γ^2.5 - 1 = 10.5 %.
pub const COARSE: i32 = 5;

/// The last bucket: 10^15 of whatever unit. Greater values count as this.
pub const LAST: i32 = 864;

/// Counts of values of at least zero, by bucket. Whatever is up to 1 of its unit is in bucket 0, so
/// units are small: bit/s, µs, millionths.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// The bucket of the first count.
    base: i32,
    /// The counts of neighbouring buckets, quick to add to.
    counts: Vec<u64>,
}

/// Buckets by which the room grows.
const ROOM: i32 = 8;

/// The bucket of a value. What is no number counts as zero.
pub fn bucket(value: f64) -> i32 {
    if value.is_nan() || value <= 1.0 {
        return 0;
    }
    let index = (value.ln() / GAMMA.ln()).ceil().min(f64::from(LAST));
    #[expect(clippy::cast_possible_truncation, reason = "it is at most LAST")]
    let index = index as i32;
    index
}

/// The value that a bucket stands for.
pub fn value(bucket: i32) -> f64 {
    2.0 * GAMMA.powf(f64::from(bucket)) / (GAMMA + 1.0)
}

/// The place, from 0, of the value at quantile `q` (0 to 1) among `total` values in order.
pub fn rank(q: f64, total: u64) -> u64 {
    let rank = (q.clamp(0.0, 1.0) * total.saturating_sub(1) as f64).floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below a count")]
    let rank = rank as u64;
    rank
}

impl Sketch {
    /// Counts a value.
    pub fn add(&mut self, value: f64) {
        self.add_bucket(bucket(value), 1);
    }

    /// Counts a value of a bucket, 0 to [`LAST`], `count` times.
    pub fn add_bucket(&mut self, bucket: i32, count: u64) {
        self.make_room(bucket, bucket);
        if let Some(sum) = usize::try_from(bucket - self.base)
            .ok()
            .and_then(|at| self.counts.get_mut(at))
        {
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds what a text counts.
    ///
    /// # Errors
    /// The text is no sketch. What came before is added.
    pub fn add_text(&mut self, text: &str) -> Result<(), Malformed> {
        for run in runs(text) {
            let run = run?;
            self.make_room(run.first, run.last());
            run.add_to(&mut self.counts, self.base)?;
        }
        Ok(())
    }

    /// Reads a text.
    ///
    /// # Errors
    /// The text is no sketch.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut sketch = Self::default();
        sketch.add_text(text)?;
        Ok(sketch)
    }

    #[inline]
    fn make_room(&mut self, first: i32, last: i32) {
        let end = self.base + i32::try_from(self.counts.len()).unwrap_or(i32::MAX);
        if first < self.base || last >= end {
            self.grow(first, last);
        }
    }

    #[cold]
    fn grow(&mut self, first: i32, last: i32) {
        let (low, high) = (first / ROOM * ROOM, (last / ROOM + 1) * ROOM);
        if self.counts.is_empty() {
            self.base = low;
        }
        let before = usize::try_from(self.base - low).unwrap_or(0);
        if before > 0 {
            self.counts.splice(0..0, std::iter::repeat_n(0, before));
            self.base = low;
        }
        let needed = usize::try_from(high - self.base).unwrap_or(0);
        if needed > self.counts.len() {
            self.counts.resize(needed, 0);
        }
    }

    /// The same values in buckets that are [`COARSE`] times as wide, each by its middle one. It is
    /// for values of which a tenth more or less does not matter, and as much shorter as text.
    #[must_use]
    pub fn coarse(&self) -> Self {
        let mut coarse = Self::default();
        for (bucket, count) in self.buckets() {
            let begin = (bucket.max(1) - 1) / COARSE * COARSE;
            coarse.add_bucket(begin + 1 + COARSE / 2, count);
        }
        coarse
    }

    /// Buckets that are not empty, with their counts, in order.
    pub fn buckets(&self) -> impl Iterator<Item = (i32, u64)> {
        let counted = (self.base..).zip(self.counts.iter().copied());
        counted.filter(|(_, count)| *count > 0)
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The value at quantile `q`, from 0 to 1, right by [`ACCURACY`]; `None` without values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = rank(q, self.count());
        let mut reached = 0_u64;
        self.buckets().find_map(|(bucket, count)| {
            reached = reached.saturating_add(count);
            (reached > rank).then(|| value(bucket))
        })
    }

    /// The text, or `None` without values.
    pub fn text(&self) -> Option<String> {
        let counts: Vec<_> = self.buckets().collect();
        (!counts.is_empty()).then(|| written(&counts))
    }

    /// The memory behind it, in bytes.
    pub fn allocated(&self) -> usize {
        self.counts.capacity() * size_of::<u64>()
    }
}

/// How much room there is makes no difference.
impl PartialEq for Sketch {
    fn eq(&self, other: &Self) -> bool {
        self.buckets().eq(other.buckets())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_right_by_two_per_cent_as_that_of_another_ddsketch() {
        let mut sketch = Sketch::default();
        let config = sketches_ddsketch::Config::new(ACCURACY, 2048, 1e-9);
        let mut other = sketches_ddsketch::DDSketch::new(config);
        let mut values: Vec<f64> = (0..10_000)
            .map(|at| 1e6 + f64::from(at * 7919 % 10_007).powf(2.3))
            .collect();
        for value in &values {
            sketch.add(*value);
            other.add(*value);
        }
        values.sort_by(f64::total_cmp);
        for q in [0.0, 0.05, 0.5, 0.95, 1.0] {
            let told = sketch.quantile(q).expect("there are values");
            let exact = values[usize::try_from(rank(q, 10_000)).expect("it is small")];
            assert!(
                (told / exact - 1.0).abs() <= ACCURACY + 1e-9,
                "{q}: {told} {exact}"
            );
            let others = other.quantile(q).expect("a quantile").expect("a value");
            assert!(
                (told / others - 1.0).abs() <= 2.0 * ACCURACY,
                "{q}: {told} {others}"
            );
            let coarse = sketch.coarse().quantile(q).expect("there are values");
            assert!(
                (coarse / exact - 1.0).abs() <= 0.106,
                "{q}: {coarse} {exact}"
            );
        }
        let length = |sketch: &Sketch| sketch.text().map_or(0, |text| text.len());
        assert!(length(&sketch.coarse()) * 3 < length(&sketch));
    }

    #[test]
    fn merged_texts_are_the_sketch_of_all_values() {
        let (mut all, mut merged) = (Sketch::default(), Sketch::default());
        // From the middle to both ends.
        for part in [3, 2, 6, 0, 1, 5, 4] {
            let mut sketch = Sketch::default();
            for at in 0..50 {
                let value = f64::from(part).exp() * 10.0 + f64::from(at);
                sketch.add(value);
                all.add(value);
            }
            let text = sketch.text().expect("there are values");
            merged.add_text(&text).expect("a sketch");
        }
        assert_eq!(merged, all);
        assert_eq!(merged.count(), 350);
        assert_eq!(Sketch::parse(&all.text().expect("a text")), Ok(all));
    }

    #[test]
    fn coarse_buckets_are_merged_with_others() {
        let mut sketch = Sketch::parse("13:5:2:120004").expect("a sketch");
        sketch
            .add_text("3:1:1:7 23:1:1:1 864:1:18:000000000000000001")
            .expect("one");
        let buckets: Vec<_> = sketch.buckets().collect();
        assert_eq!(buckets, [(3, 7), (13, 12), (23, 5), (864, 1)]);
        assert_eq!(
            sketch.coarse().buckets().map(|(bucket, _)| bucket).max(),
            Some(863)
        );
    }

    #[test]
    fn zero_nothing_and_the_immeasurable_have_buckets() {
        assert_eq!(bucket(0.0), 0);
        assert_eq!(bucket(-1.0), 0);
        assert_eq!(bucket(f64::NAN), 0);
        assert_eq!(bucket(f64::INFINITY), LAST);
        assert!(value(LAST) > 9e14);
        assert_eq!(Sketch::default().quantile(0.5), None);
        assert_eq!(Sketch::default().text(), None);
        assert!(Sketch::parse("1:1:1:1 2").is_err());
    }
}
