//! Sketches as text: runs of counts, each with as many digits as the longest of its run.

use super::LAST;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// The most digits of a count. Sums of such counts fit into 64 bits with a sign, which is all that
/// SQL has.
const MOST_DIGITS: usize = 18;

/// The greatest count; more count as this.
const MOST: u64 = 10_u64.pow(18) - 1;

/// What another run costs: as many digits take as long to read.
const RUN: usize = 16;

/// Counts of buckets that are equally far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// The first bucket.
    pub first: i32,
    /// The distance of buckets.
    pub step: i32,
    /// Digits of a count.
    pub width: usize,
    /// The counts; what is no digit among them is not known yet.
    pub digits: &'a [u8],
}

/// The runs of a text.
///
/// # Errors
/// A part is no run. It is the last item.
pub fn runs(text: &str) -> impl Iterator<Item = Result<Run<'_>, Malformed>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        let run = run(part.as_bytes());
        rest = if run.is_some() { behind } else { "" };
        Some(run.ok_or_else(|| Malformed::new(part.as_bytes())))
    })
}

fn run(part: &[u8]) -> Option<Run<'_>> {
    let (first, rest) = number(part)?;
    let (step, rest) = number(rest)?;
    let (width, digits) = number(rest)?;
    let width = usize::try_from(width).ok()?;
    let is_whole = (1..=MOST_DIGITS).contains(&width) && digits.len() % width == 0;
    if step == 0 || digits.is_empty() || !is_whole {
        return None;
    }
    let run = Run {
        first,
        step,
        width,
        digits,
    };
    (run.reach()? <= LAST).then_some(run)
}

/// Up to three digits and a colon.
fn number(text: &[u8]) -> Option<(i32, &[u8])> {
    let mut number = 0;
    for (at, byte) in text.iter().enumerate().take(4) {
        match byte {
            b'0'..=b'9' => number = number * 10 + i32::from(byte - b'0'),
            b':' if at > 0 => return Some((number, &text[at + 1..])),
            _ => return None,
        }
    }
    None
}

impl Run<'_> {
    /// The last bucket.
    pub fn last(&self) -> i32 {
        self.reach().unwrap_or(LAST)
    }

    fn reach(&self) -> Option<i32> {
        let counts = self.digits.len() / self.width;
        let more = i32::try_from(counts).ok()? - 1;
        self.first.checked_add(self.step.checked_mul(more)?)
    }

    /// Adds its counts to those of all buckets from `base` on, which reach to its last one.
    ///
    /// # Errors
    /// A count has something else than digits. What came before is added.
    pub fn add_to(&self, counts: &mut [u64], base: i32) -> Result<(), Malformed> {
        let at = usize::try_from(self.first - base).unwrap_or(0);
        let step = usize::try_from(self.step).unwrap_or(1);
        let counts = &mut counts[at..];
        let is_read = match self.width {
            1 => add::<1>(counts, step, self.digits),
            2 => add::<2>(counts, step, self.digits),
            3 => add::<3>(counts, step, self.digits),
            4 => add::<4>(counts, step, self.digits),
            width => {
                let each = self.digits.chunks_exact(width).map(count);
                add_each(counts, step, each)
            }
        };
        match is_read {
            true => Ok(()),
            false => Err(Malformed::new(self.digits)),
        }
    }
}

/// With a length that is known, the loop over the digits is none.
#[inline]
fn add<const WIDTH: usize>(counts: &mut [u64], step: usize, digits: &[u8]) -> bool {
    let (each, _) = digits.as_chunks::<WIDTH>();
    add_each(counts, step, each.iter().map(|digits| count(digits)))
}

#[inline]
fn add_each(counts: &mut [u64], step: usize, each: impl Iterator<Item = (u64, bool)>) -> bool {
    let mut is_read = true;
    let mut add = |(sum, (count, is_number)): (&mut u64, (u64, bool))| {
        *sum = sum.saturating_add(count);
        is_read &= is_number;
    };
    match step {
        1 => counts.iter_mut().zip(each).for_each(&mut add),
        _ => counts.iter_mut().step_by(step).zip(each).for_each(&mut add),
    }
    is_read
}

/// Digits as a number, and whether they are digits.
#[inline]
fn count(digits: &[u8]) -> (u64, bool) {
    digits.iter().fold((0, true), |(number, is_number), byte| {
        let digit = byte.wrapping_sub(b'0');
        (number * 10 + u64::from(digit), is_number & (digit < 10))
    })
}

/// The text of counts by bucket, which are in order and not zero.
pub fn written(counts: &[(i32, u64)]) -> String {
    let (Some((first, _)), Some((last, _))) = (counts.first(), counts.last()) else {
        return String::new();
    };
    let step = counts
        .iter()
        .fold(0, |step, (bucket, _)| common(step, bucket - first))
        .max(1);
    let place = |bucket: i32| usize::try_from((bucket - first) / step).unwrap_or(0);
    let mut all = vec![0; place(*last) + 1];
    for (bucket, count) in counts {
        all[place(*bucket)] = (*count).min(MOST);
    }
    let mut text = Vec::new();
    for (places, width) in split(&all) {
        if !text.is_empty() {
            text.push(b' ');
        }
        let begin = first + step * i32::try_from(places.start).unwrap_or(0);
        text.extend_from_slice(format!("{begin}:{step}:{width}:").as_bytes());
        for count in &all[places] {
            push(&mut text, *count, width);
        }
    }
    // Digits, colons and spaces are.
    String::from_utf8(text).unwrap_or_default()
}

/// The runs, places and digits, with which counts are quickest to read. What is in no run is zero.
///
/// For each place and width it finds the cheapest runs up to there whose last one has this width
/// and goes on; no width is for a place in no run.
fn split(counts: &[u64]) -> Vec<(Range<usize>, usize)> {
    let widths = counts.iter().copied().map(digits).max().unwrap_or(1);
    let mut costs = vec![usize::MAX / 2; widths + 1];
    costs[0] = 0;
    let mut before = vec![0; counts.len() * (widths + 1)];
    for (count, before) in counts.iter().zip(before.chunks_exact_mut(widths + 1)) {
        let (best, least) = costs
            .iter()
            .enumerate()
            .fold((0, usize::MAX), |best, (at, cost)| {
                if *cost < best.1 { (at, *cost) } else { best }
            });
        for width in 0..=widths {
            let needed = if *count == 0 { 0 } else { digits(*count) };
            let begun = least + if width == 0 { 0 } else { RUN };
            let (from, cost) = match costs[width] <= begun {
                true => (width, costs[width]),
                false => (best, begun),
            };
            before[width] = from;
            costs[width] = if width < needed {
                usize::MAX / 2
            } else {
                cost + width
            };
        }
    }
    let mut width = (0..=widths).min_by_key(|width| costs[*width]).unwrap_or(0);
    let mut runs: Vec<(Range<usize>, usize)> = Vec::new();
    let mut end = counts.len();
    for at in (0..counts.len()).rev() {
        let from = before[at * (widths + 1) + width];
        if from != width || at == 0 {
            if width > 0 {
                runs.push((at..end, width));
            }
            end = at;
        }
        width = from;
    }
    runs.reverse();
    runs
}

fn digits(count: u64) -> usize {
    count.max(1).ilog10() as usize + 1
}

fn push(text: &mut Vec<u8>, mut count: u64, width: usize) {
    let start = text.len();
    text.resize(start + width, b'0');
    for digit in text[start..].iter_mut().rev() {
        let last = (count % 10) as u8;
        *digit = b'0' + last;
        count /= 10;
    }
}

/// The greatest common divisor.
fn common(one: i32, other: i32) -> i32 {
    match other {
        0 => one,
        _ => common(other, one % other),
    }
}

/// What is no run of counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl Malformed {
    fn new(part: &[u8]) -> Self {
        let text = String::from_utf8_lossy(part);
        Self(text.chars().take(40).collect())
    }
}

impl Display for Malformed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no run of a sketch; a run is a bucket up to {LAST}, the distance to the next, \
             the digits of a count, and the counts, such as 417:1:2:1230",
            self.0
        )
    }
}

impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn counts_are_written_with_the_digits_of_the_longest() {
        for (counts, wanted) in [
            (vec![], ""),
            (vec![(417, 12), (418, 30)], "417:1:2:1230"),
            (vec![(417, 1), (419, 100)], "417:2:3:001100"),
            (vec![(417, 1), (418, 2), (420, 3)], "417:1:1:1203"),
            (vec![(3, 1), (8, 2), (18, 9)], "3:5:1:1209"),
            (vec![(0, 7), (1, 7), (18, 7)], "0:1:1:7700000000000000007"),
            (vec![(0, 7), (1, 7), (19, 7)], "0:1:1:77 19:1:1:7"),
            (vec![(0, 7), (1, 70)], "0:1:2:0770"),
            (vec![(5, u64::MAX)], "5:1:18:999999999999999999"),
        ] {
            assert_eq!(written(&counts), wanted);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut chance = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..2000 {
            let step = chance.random_range(1..6);
            let mut bucket = chance.random_range(0..100);
            let mut counts = Vec::new();
            while bucket <= LAST && chance.random_bool(0.95) {
                let magnitude = chance.random_range(0..5_u32).pow(2);
                counts.push((bucket, 1 + 10_u64.pow(magnitude) / 7));
                bucket += step * chance.random_range(1..40_i32).saturating_sub(28).max(1);
            }
            let text = written(&counts);
            let mut sums = vec![0; 1 + usize::try_from(LAST).expect("it is positive")];
            for run in runs(&text) {
                run.expect("a run").add_to(&mut sums, 0).expect("digits");
            }
            let sums = (0..).zip(sums).filter(|(_, sum)| *sum > 0);
            assert_eq!(sums.collect::<Vec<_>>(), counts, "{text}");
        }
    }

    #[test]
    fn what_is_no_sketch_is_refused_by_name() {
        for text in [
            "1:1:2",
            "1:1:2:",
            "1:1:2:123",
            "1:0:1:1",
            ":1:1:1",
            "a:1:1:1",
            "-1:1:1:1",
            "865:1:1:1",
            "864:1:1:11",
            "1:1:19:1234567890123456789",
            "1:1:0:",
            "1:1000:1:1",
            "1:1:1:1  2:1:1:1",
        ] {
            let error = runs(text).find_map(Result::err).expect(text).to_string();
            assert!(error.contains("is no run of a sketch"), "{error}");
        }
        let run = runs("1:1:2:1x").next().expect("a run").expect("one");
        let error = run.add_to(&mut [0; 4], 0).expect_err("no digit");
        assert!(error.to_string().contains("`1x`"), "{error}");
    }
}
