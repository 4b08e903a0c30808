//! A series that never takes more than so much memory.

/// Points of a series in order of time. When there are too many, every four neighbours become two:
/// the least and the greatest. What comes later is gathered in blocks of the same size before it
/// becomes points. So no peak is lost, and the beginning of a long log is drawn as finely as its
/// end.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    points: Vec<(f64, f64)>,
    most: usize,
    /// How often the points were thinned. A pair of points then stands for two to the power of one
    /// more values.
    thinned: u32,
    block: Option<Block>,
    last: Option<f64>,
}

/// Values that are about to become two points.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    least: (f64, f64),
    greatest: (f64, f64),
    count: u64,
}

impl Block {
    fn new(point: (f64, f64)) -> Self {
        Self {
            least: point,
            greatest: point,
            count: 0,
        }
    }

    fn add(&mut self, point: (f64, f64)) {
        self.count += 1;
        if point.1 < self.least.1 {
            self.least = point;
        }
        if point.1 >= self.greatest.1 {
            self.greatest = point;
        }
    }

    /// Its points in order of time: always two, so that four points are two blocks.
    fn points(&self) -> [(f64, f64); 2] {
        if self.least.0 <= self.greatest.0 {
            [self.least, self.greatest]
        } else {
            [self.greatest, self.least]
        }
    }
}

/// Every so many points become two.
const GROUP: usize = 4;

impl Column {
    /// A column of at most `most` points, of eight at least.
    pub fn new(most: usize) -> Self {
        Self {
            points: Vec::new(),
            most: most.max(2 * GROUP) / GROUP * GROUP,
            thinned: 0,
            block: None,
            last: None,
        }
    }

    /// Adds a point. Times are in milliseconds.
    pub fn push(&mut self, time_ms: f64, value: f64) {
        let point = (time_ms, value);
        self.last = Some(value);
        if self.thinned == 0 {
            self.points.push(point);
        } else {
            let block = self.block.get_or_insert_with(|| Block::new(point));
            block.add(point);
            // No log has so many values that the shift ends.
            if block.count < 1 << (self.thinned + 1).min(63) {
                return;
            }
            self.flush();
        }
        if self.points.len() >= self.most {
            self.thin();
        }
    }

    /// Adds a point, unless the value is that of the point before.
    pub fn push_change(&mut self, time_ms: f64, value: f64) {
        if self.last != Some(value) {
            self.push(time_ms, value);
        }
    }

    fn flush(&mut self) {
        if let Some(block) = self.block.take() {
            self.points.extend(block.points());
        }
    }

    /// No points follow: those that were being gathered are put in their place.
    pub fn finish(&mut self) {
        self.flush();
        if self.points.len() > self.most {
            self.thin();
        }
    }

    fn thin(&mut self) {
        self.thinned += 1;
        let mut kept = Vec::with_capacity(self.most);
        for group in self.points.chunks(GROUP) {
            let mut block = Block::new(group[0]);
            for point in group {
                block.add(*point);
            }
            kept.extend(block.points());
        }
        self.points = kept;
    }

    /// The points; those of the end after [`Column::finish`].
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
        column.finish();
        let points = column.points();
        assert!(points.len() <= 1000, "{}", points.len());
        assert!(points.contains(&(123_456.0, 1e9)) && points.contains(&(654_321.0, -1e9)));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(column.is_thinned());
    }

    #[test]
    fn the_beginning_of_a_long_log_has_as_many_points_as_its_end() {
        // Twenty times as many as there is room for, and no power of two of anything.
        for (most, count) in [(1000, 20_000u32), (1000, 19_013), (1002, 20_500)] {
            let mut column = Column::new(most);
            for at in 0..count {
                column.push(f64::from(at), f64::from(at % 7));
            }
            column.finish();
            let tenth = f64::from(count) / 10.0;
            let mean = column.points().len() as f64 / 10.0;
            for part in 0..10 {
                let times = f64::from(part) * tenth..f64::from(part + 1) * tenth;
                let inside = column.points().iter();
                let inside = inside.filter(|point| times.contains(&point.0)).count() as f64;
                assert!(
                    (mean / 3.0..mean * 3.0).contains(&inside),
                    "{most}, {count}: {inside} points in tenth {part}, {mean} in the mean"
                );
            }
        }
    }

    #[test]
    fn the_last_value_is_there_and_what_does_not_change_is_no_point() {
        let mut column = Column::new(8);
        for at in 0..101u32 {
            column.push_change(f64::from(at), f64::from(at / 2));
        }
        column.finish();
        assert!(column.points().len() <= 8, "{:?}", column.points());
        assert_eq!(column.points().last(), Some(&(100.0, 50.0)));
        let mut same = Column::new(8);
        for at in 0..100u32 {
            same.push_change(f64::from(at), 1.0);
        }
        assert_eq!(same.points(), [(0.0, 1.0)]);
    }
}
