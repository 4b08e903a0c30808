//! The share of packets that were lost lately.

/// An average over packets; what is older counts less.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossShare {
    share: f64,
    packets: f64,
    /// What one packet that got through leaves of the share. Most acknowledgements cover one.
    kept_by_one: f64,
}

impl LossShare {
    /// Averages over so many packets.
    pub(crate) fn over(packets: f64) -> Self {
        Self {
            share: 0.0,
            packets,
            kept_by_one: libm::exp(-1.0 / packets),
        }
    }

    /// Averages over so many packets from here on. What was lost lately stays as many packets.
    pub(crate) fn average_over(&mut self, packets: f64) {
        let share = self.share * self.packets / packets;
        *self = Self {
            share: share.min(1.0),
            ..Self::over(packets)
        };
    }

    /// So many packets got through.
    pub(crate) fn on_acked(&mut self, packets: f64) {
        // Most paths lose nothing for most of the time.
        if self.share > 0.0 {
            self.share *= match packets == 1.0 {
                true => self.kept_by_one,
                false => libm::exp(-packets / self.packets),
            };
        }
    }

    /// A packet was lost.
    pub(crate) fn on_lost(&mut self) {
        self.share += (1.0 - self.share) / self.packets;
    }

    /// A packet that was taken for lost got through after all.
    pub(crate) fn on_spurious(&mut self) {
        self.share = (self.share - 1.0 / self.packets).max(0.0);
    }

    /// The share, from 0 to 1.
    pub(crate) fn get(&self) -> f64 {
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_follows_what_is_lost_of_the_last_packets() {
        let mut losses = LossShare::over(100.0);
        let mut pass = |lost: u32, of: u32| {
            for packet in 1..=1000 {
                match packet % of < lost {
                    true => losses.on_lost(),
                    false => losses.on_acked(1.0),
                }
            }
            losses.get()
        };
        let shares = [pass(0, 10), pass(1, 10), pass(3, 10), pass(1, 100)];
        for (share, expected) in shares.into_iter().zip([0.0, 0.1, 0.3, 0.01]) {
            assert!((share - expected).abs() < 0.006, "{share}, not {expected}");
        }
    }

    #[test]
    fn what_got_through_after_all_was_not_lost() {
        let mut losses = LossShare::over(100.0);
        for _ in 0..50 {
            losses.on_acked(99.0);
            losses.on_lost();
            losses.on_spurious();
        }
        assert!(losses.get() < 0.001, "{}", losses.get());
    }

    #[test]
    fn another_length_leaves_the_number_of_lost_packets() {
        let mut losses = LossShare::over(1000.0);
        losses.on_lost();
        losses.average_over(4000.0);
        assert_eq!(losses.get() * 4000.0, 1.0);
        losses.on_acked(4000.0);
        assert!((losses.get() * 4000.0 - (-1.0_f64).exp()).abs() < 1e-12);
        losses.average_over(0.1);
        assert_eq!(losses.get(), 1.0);
    }
}
