//! A series that never takes more than so much memory.

/// Points of a series in order of time. When there are too many, every four neighbours become two:
/// the least and the greatest. So no peak is lost, however long the log is.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    points: Vec<(f64, f64)>,
    most: usize,
    /// How often the points were thinned.
    thinned: u32,
}

impl Column {
    /// A column of at most `most` points.
    pub fn new(most: usize) -> Self {
        Self {
            points: Vec::new(),
            most: most.max(8),
            thinned: 0,
        }
    }

    /// Adds a point. Times are in milliseconds.
    pub fn push(&mut self, time_ms: f64, value: f64) {
        // After the points were thinned, neighbours that come in now are denser than those before.
        // Another pass makes them alike.
        self.points.push((time_ms, value));
        if self.points.len() >= self.most {
            self.thin();
        }
    }

    /// Adds a point, unless the value is that of the point before.
    pub fn push_change(&mut self, time_ms: f64, value: f64) {
        if self.points.last().is_none_or(|(_, last)| *last != value) {
            self.push(time_ms, value);
        }
    }

    fn thin(&mut self) {
        self.thinned += 1;
        let mut kept = Vec::with_capacity(self.most);
        for group in self.points.chunks(4) {
            let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
            let least = group.iter().min_by(by_value);
            let greatest = group.iter().max_by(by_value);
            if let (Some(least), Some(greatest)) = (least, greatest) {
                let in_order = least.0 <= greatest.0;
                let (first, second) = if in_order {
                    (least, greatest)
                } else {
                    (greatest, least)
                };
                kept.push(*first);
                if first != second {
                    kept.push(*second);
                }
            }
        }
        self.points = kept;
    }

    /// The points.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Whether points were dropped.
    pub fn is_thinned(&self) -> bool {
        self.thinned > 0
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The time average of the values, each of which holds until the next one; until `end_ms` the
    /// last.
    pub fn mean(&self, end_ms: f64) -> Option<f64> {
        let ends = self
            .points
            .iter()
            .skip(1)
            .map(|point| point.0)
            .chain([end_ms]);
        let (mut sum, mut whole) = (0.0, 0.0);
        for ((start, value), end) in self.points.iter().zip(ends) {
            let span = (end - start).max(0.0);
            sum += value * span;
            whole += span;
        }
        let last = self.points.last()?.1;
        Some(if whole > 0.0 { sum / whole } else { last })
    }

    /// The value at this share of the points in order of their values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let mut values: Vec<f64> = self.points.iter().map(|point| point.1).collect();
        values.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is rounded, and within the values"
        )]
        let rank = (values.len().checked_sub(1)? as f64 * share.clamp(0.0, 1.0)).round() as usize;
        values.get(rank).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_stay_and_memory_is_bounded() {
        let mut column = Column::new(1000);
        for at in 0..1_000_000u32 {
            let value = match at {
                123_456 => 1e9,
                654_321 => -1e9,
                at => f64::from(at % 7),
            };
            column.push(f64::from(at), value);
        }
        let points = column.points();
        assert!(points.len() < 1000, "{}", points.len());
        assert!(points.contains(&(123_456.0, 1e9)) && points.contains(&(654_321.0, -1e9)));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(column.is_thinned());
    }

    #[test]
    fn a_mean_is_over_time() {
        let mut column = Column::new(100);
        column.push(0.0, 10.0);
        column.push(90.0, 20.0);
        assert_eq!(column.mean(100.0), Some(11.0));
        assert_eq!(column.quantile(1.0), Some(20.0));
        assert_eq!(Column::new(9).mean(1.0), None);
    }
}
