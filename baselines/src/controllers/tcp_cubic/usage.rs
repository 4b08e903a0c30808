//! Whether the window was what limited the sender: a window that is not used does not grow.

/// What was seen in the present round trip.
#[derive(Debug, Default)]
pub(super) struct Usage {
    was_full: bool,
    most_in_flight: u64,
    /// The round trip ends when this packet is acknowledged.
    ends_with: u64,
    is_over: bool,
}

impl Usage {
    /// A packet left, and so many segments are in flight.
    pub(super) fn sent(&mut self, number: u64, in_flight: u64, is_full: bool) {
        let is_more = !self.was_full && in_flight > self.most_in_flight;
        if self.is_over || is_full || is_more {
            self.was_full = is_full;
            self.most_in_flight = in_flight;
            self.ends_with = number;
            self.is_over = false;
        }
    }

    /// Nothing was left to send.
    pub(super) fn was_idle(&mut self) {
        if self.is_over {
            self.was_full = false;
        }
    }

    /// The newest acknowledged packet.
    pub(super) fn acknowledged(&mut self, largest: u64) {
        self.is_over |= largest >= self.ends_with;
    }

    /// Whether the window may grow. In slow start half of it is use enough.
    pub(super) fn allows_growth(&self, window: u64, slow_start: bool) -> bool {
        self.was_full || slow_start && window < 2 * self.most_in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_was_full_once_may_grow_for_a_round_trip() {
        let mut usage = Usage::default();
        usage.sent(1, 10, true);
        usage.sent(2, 9, false);
        assert!(usage.allows_growth(10, false));
        usage.acknowledged(1);
        usage.sent(3, 4, false);
        assert!(!usage.allows_growth(10, false) && !usage.allows_growth(8, true));
        assert!(usage.allows_growth(7, true));
    }
}
