//! What happens between a loss and its repair: one reduction, in proportion to what arrives
//! (RFC 6937), and no other until everything that was in flight has been acknowledged.

use std::collections::BTreeSet;

/// An episode.
#[derive(Debug)]
pub(super) struct Recovery {
    /// The newest packet when it began. Losses up to it are the same congestion.
    newest: u64,
    /// Data that was sent again, and not acknowledged yet.
    resent: BTreeSet<u64>,
    /// Lost data waits to be sent again.
    waiting: bool,
    /// Data that was new in this episode is lost, so another episode follows.
    pub(super) again: bool,
    /// Proportional rate reduction, in segments.
    prior_window: u64,
    target: u64,
    delivered: u64,
    sent: u64,
}

impl Recovery {
    /// From a window to a smaller one; `newest` is the newest packet.
    pub(super) fn new(newest: u64, prior_window: u64, target: u64) -> Self {
        Self {
            newest,
            resent: BTreeSet::new(),
            waiting: true,
            again: false,
            prior_window: prior_window.max(1),
            target,
            delivered: 0,
            sent: 0,
        }
    }

    /// Lost data waits, or none does any more.
    pub(super) fn waits(&mut self, waiting: bool) {
        self.waiting = waiting;
    }

    /// A packet left.
    pub(super) fn sent(&mut self, number: u64) {
        self.sent += 1;
        if self.waiting {
            self.resent.insert(number);
        }
    }

    /// A packet was lost.
    pub(super) fn lost(&mut self, number: u64) {
        self.waiting = true;
        let is_resent = self.resent.remove(&number);
        self.again |= !is_resent && number > self.newest;
    }

    /// A packet was acknowledged. Says whether it filled a hole.
    pub(super) fn acknowledged(&mut self, number: u64) -> bool {
        self.resent.remove(&number)
    }

    /// Whether everything that was in flight at the beginning has arrived.
    pub(super) fn is_over(&self, largest_acked: u64) -> bool {
        largest_acked > self.newest && self.resent.is_empty() && !self.waiting
    }

    /// How many segments may leave now that `newly` were delivered. `progress`: holes were filled,
    /// and nothing else was found lost.
    pub(super) fn allowance(&mut self, newly: u64, in_flight: u64, progress: bool) -> u64 {
        self.delivered += newly;
        let allowance = if in_flight > self.target {
            let share = (self.target * self.delivered).div_ceil(self.prior_window);
            share.saturating_sub(self.sent)
        } else {
            let owed = self.delivered.saturating_sub(self.sent);
            (owed.max(newly) + u64::from(progress)).min(self.target - in_flight)
        };
        // The first retransmission leaves at once.
        allowance.max(u64::from(self.sent == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_leave_for_ten_that_arrive_and_the_first_at_once() {
        let mut recovery = Recovery::new(100, 100, 70);
        let mut in_flight = 97;
        let mut left = 0;
        for _ in 0..27 {
            in_flight -= 1;
            let allowance = recovery.allowance(1, in_flight, false);
            for _ in 0..allowance {
                left += 1;
                in_flight += 1;
                recovery.sent(100 + left);
            }
        }
        // 27 arrived: 18.9 rounded up.
        assert_eq!(left, 19);
        let mut recovery = Recovery::new(100, 100, 70);
        assert_eq!(recovery.allowance(0, 99, false), 1);
    }

    #[test]
    fn below_the_target_it_grows_by_what_arrives_and_one_more() {
        let mut recovery = Recovery::new(100, 100, 70);
        recovery.sent(101);
        assert_eq!(recovery.allowance(3, 40, false), 3);
        assert_eq!(recovery.allowance(0, 40, true), 3, "2 are owed");
        assert_eq!(
            recovery.allowance(20, 65, false),
            5,
            "not beyond the target"
        );
    }

    #[test]
    fn it_lasts_until_what_was_sent_again_has_arrived() {
        let mut recovery = Recovery::new(100, 100, 70);
        recovery.sent(101);
        recovery.waits(false);
        recovery.sent(102);
        assert!(!recovery.is_over(102));
        // The retransmission is lost too: the same episode goes on.
        recovery.lost(101);
        recovery.sent(103);
        recovery.waits(false);
        assert!(!recovery.again && !recovery.is_over(102));
        assert!(recovery.acknowledged(103));
        assert!(recovery.is_over(103));
        recovery.lost(102);
        assert!(recovery.again, "new data was lost");
    }
}
