//! Full-speed mode: the growth of the window and its answer to a loss.

/// The growth of the window in packets per round trip (IM 5.2):
///
/// ```text
/// max(1, h (1 - cwnd / (A RTT)))
/// ```
///
/// `window` and `pipe`, which is A RTT, are in packets. RTT is the least one: with the smoothed one
/// the own queue would be room to grow into.
pub(super) fn growth(h: f64, window: f64, pipe: f64) -> f64 {
    if pipe <= 0.0 {
        return 1.0;
    }
    (h * (1.0 - window / pipe)).max(1.0)
}

/// The share of packets that may be lost before losses are taken for congestion, whatever the
/// measurement says. It is BBRv2's (BBRLossThresh of draft-cardwell-iccrg-bbr-congestion-control).
pub(super) const MOST_LOSS: f64 = 0.02;

/// The number of packets over which the share of losses is an average.
pub(super) const LOSS_PACKETS: f64 = 1000.0;

/// N of a loss that is taken for chance: what fits into the path without a queue was no cause of
/// the loss, so none of it is given up. With 16, as a promise may have it, a transfer over
/// 50 Mbit/s and 100 ms has 33 Mbit/s at a loss of 1 %, because several of its packets are lost in
/// each round trip.
pub(super) const CHANCE_WEIGHT: f64 = f64::INFINITY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_growth_falls_from_h_on_an_idle_path_to_renos_on_a_full_one() {
        // IM 5.2 with h = 100: an empty, a half-full, a nearly full and an overfull pipe.
        assert_eq!(growth(100.0, 0.0, 400.0), 100.0);
        assert_eq!(growth(100.0, 200.0, 400.0), 50.0);
        assert_eq!(growth(100.0, 398.0, 400.0), 1.0);
        assert_eq!(growth(100.0, 500.0, 400.0), 1.0);
        // h = 1 is Reno, and so is a path of which nothing is known.
        assert_eq!(growth(1.0, 0.0, 400.0), 1.0);
        assert_eq!(growth(100.0, 10.0, 0.0), 1.0);
    }
}
