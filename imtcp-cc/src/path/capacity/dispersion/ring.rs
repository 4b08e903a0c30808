//! The latest values, oldest first, in memory that is filled once.

/// The latest `N` values.
#[derive(Debug)]
pub(super) struct Ring<T, const N: usize> {
    values: Vec<T>,
    /// The place of the oldest value, once there are `N`.
    oldest: usize,
}

impl<T: Copy, const N: usize> Ring<T, N> {
    pub(super) fn new() -> Self {
        Self {
            values: Vec::new(),
            oldest: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.oldest = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Takes a value, in place of the oldest if there are `N`.
    pub(super) fn push(&mut self, value: T) {
        if self.values.len() < N {
            if self.values.is_empty() {
                self.values.reserve_exact(N);
            }
            self.values.push(value);
        } else {
            self.values[self.oldest % N] = value;
            self.oldest = (self.oldest + 1) % N;
        }
    }

    /// All values, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let (newer, older) = self.values.split_at(self.oldest);
        older.iter().chain(newer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_latest_values_oldest_first() {
        let mut ring = Ring::<u32, 4>::new();
        for last in 0..20 {
            ring.push(last);
            let expected: Vec<u32> = (last.saturating_sub(3)..=last).collect();
            assert_eq!(ring.iter().copied().collect::<Vec<_>>(), expected);
            assert_eq!(ring.len(), expected.len());
        }
        ring.clear();
        assert_eq!(ring.iter().count(), 0);
    }
}
