//! When nothing was estimated.

/// The most gaps that are kept.
const MOST_GAPS: usize = 16_384;

/// Spans in which a line has no value. When there are too many, the shorter half is forgotten: it
/// is the last that could be seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gaps {
    spans: Vec<(f64, f64)>,
    since_ms: Option<f64>,
}

impl Gaps {
    /// There is no value any more.
    pub(super) fn begin(&mut self, now_ms: f64) {
        self.since_ms.get_or_insert(now_ms);
    }

    /// There is a value again, or nothing follows.
    pub(super) fn end(&mut self, now_ms: f64) {
        if let Some(since_ms) = self.since_ms.take()
            && since_ms < now_ms
        {
            self.spans.push((since_ms, now_ms));
            if self.spans.len() >= MOST_GAPS {
                self.forget();
            }
        }
    }

    fn forget(&mut self) {
        let length = |span: &(f64, f64)| span.1 - span.0;
        let mut lengths: Vec<f64> = self.spans.iter().map(length).collect();
        lengths.sort_by(f64::total_cmp);
        let middle = lengths[lengths.len() / 2];
        let longer = lengths.iter().filter(|length| **length > middle).count();
        // Many may be as long as the middle one: the first of them fill what is left.
        let mut left = (MOST_GAPS / 2).saturating_sub(longer);
        self.spans.retain(|span| {
            let is_filler = length(span) == middle && left > 0;
            left -= usize::from(is_filler);
            is_filler || length(span) > middle
        });
    }

    /// The gaps in their order: from when to when, in milliseconds.
    pub fn spans(&self) -> &[(f64, f64)] {
        &self.spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_gaps_are_kept_however_many_short_ones_there_are() {
        let mut gaps = Gaps::default();
        for index in 0..10 * u32::try_from(MOST_GAPS).expect("a small number") {
            let start = f64::from(index) * 10.0;
            gaps.begin(start);
            gaps.begin(start + 0.5);
            let is_long = index % 1000 == 0;
            gaps.end(start + if is_long { 9.0 } else { 1.0 });
        }
        assert!(gaps.spans().len() <= MOST_GAPS);
        let long = gaps.spans().iter().filter(|span| span.1 - span.0 == 9.0);
        assert_eq!(long.count(), 164);
        let is_after = |pair: &[(f64, f64)]| pair[0].1 < pair[1].0;
        assert!(gaps.spans().windows(2).all(is_after));
    }
}
