//! When to look at all that is in memory.
//!
//! A look costs as much as hundreds of dispersions. As long as looks find nothing new they become
//! rare, and as soon as one does, they are frequent again.

/// The fewest and the most new dispersions between two looks.
const FEWEST: usize = 32;
pub(super) const MOST: usize = 256;

/// Counts dispersions from one look to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks {
    unseen: usize,
    every: usize,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            unseen: 0,
            every: FEWEST,
        }
    }
}

impl Looks {
    /// A dispersion came. Returns whether it is time to look.
    pub(super) fn on_dispersion(&mut self) -> bool {
        self.unseen += 1;
        self.unseen >= self.every
    }

    /// A look was taken, and found the same as the one before, or something else.
    pub(super) fn on_look(&mut self, same: bool) {
        self.unseen = 0;
        self.every = match same {
            true => (2 * self.every).min(MOST),
            false => FEWEST,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_become_rare_while_they_find_the_same_and_frequent_when_not() {
        let mut looks = Looks::default();
        let mut until_due = || (1..).find(|_| looks.on_dispersion());
        assert_eq!(until_due(), Some(32));
        for (same, expected) in [
            (true, 64),
            (true, 128),
            (true, 256),
            (true, 256),
            (false, 32),
        ] {
            looks.on_look(same);
            assert_eq!((1..).find(|_| looks.on_dispersion()), Some(expected));
        }
    }
}
