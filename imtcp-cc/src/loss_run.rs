//! Packets that are lost in a row.

/// Packets whose numbers follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossRun {
    last: Option<u64>,
}

impl LossRun {
    /// The packet with this number was lost. Whether it is the first of a run.
    pub(crate) fn begins_with(&mut self, number: u64) -> bool {
        let goes_on = number
            .checked_sub(1)
            .is_some_and(|before| self.last == Some(before));
        self.last = Some(number);
        !goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_begins_a_run() {
        let mut run = LossRun::default();
        let begins = [0, 1, 2, 4, 5, 5, u64::MAX].map(|number| run.begins_with(number));
        assert_eq!(begins, [true, false, false, true, false, true, true]);
    }
}
