//! HighSpeed TCP (RFC 3649): a window that is large grows faster and loses less.

use super::window::{Law, Reduced};

/// Up to this window it is Reno (Low_Window; RFC 3649, section 5).
const LOW_WINDOW: f64 = 38.0;
/// The window that has the loss rate of 10^-7 (High_Window).
const HIGH_WINDOW: f64 = 83_000.0;
/// What is lost of that window (High_Decrease).
const HIGH_DECREASE: f64 = 0.1;

/// The law. Windows are in packets.
///
/// ```text
/// b(w) = (0.1 - 0.5) (log w - log 38) / (log 83000 - log 38) + 0.5       section 5
/// p(w) = 0.078 / w^1.2
/// a(w) = w^2 p(w) 2 b(w) / (2 - b(w))
/// ```
///
/// Slow start is not limited (RFC 3742 is another document).
#[derive(Debug)]
pub(super) struct HighSpeed;

/// The share of the window that a loss takes.
fn decrease(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 0.5;
    }
    let above = libm::log(window / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    (0.5 + (HIGH_DECREASE - 0.5) * above).max(HIGH_DECREASE)
}

/// The packets by which the window grows in a round trip.
fn increase(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 1.0;
    }
    let loss = 0.078 / libm::pow(window, 1.2);
    let decrease = decrease(window);
    (window * window * loss * 2.0 * decrease / (2.0 - decrease)).max(1.0)
}

impl Law for HighSpeed {
    fn growth(&self, window: f64) -> f64 {
        increase(window)
    }

    fn threshold(&self, reduced: &Reduced) -> f64 {
        reduced.window * (1.0 - decrease(reduced.window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_the_rfcs_table() {
        // RFC 3649, appendix B: w, a(w), b(w). The table has the window at which a(w) reaches a
        // whole number.
        let rows = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (663.0, 6.0, 0.35),
            (851.0, 7.0, 0.34),
            (1058.0, 8.0, 0.33),
        ];
        for (window, a, b) in rows {
            assert!(
                (increase(window) - a).abs() < 0.03,
                "a({window}) = {}",
                increase(window)
            );
            assert!(
                (decrease(window) - b).abs() <= 0.006,
                "b({window}) = {}",
                decrease(window)
            );
        }
        let most = increase(HIGH_WINDOW);
        assert!((most - 71.0).abs() < 1.0, "{most}");
    }

    /// The mean window where one packet in `every` is lost.
    fn mean_window(law: &dyn Law, every: f64) -> f64 {
        let (mut window, mut sent, mut sum, mut rounds) = (10.0, 0.0, 0.0, 0.0);
        for round in 0..400_000 {
            if round >= 200_000 {
                sum += window;
                rounds += 1.0;
            }
            sent += window;
            if sent >= every {
                sent -= every;
                window = law.threshold(&Reduced {
                    window,
                    ..Reduced::default()
                });
            } else {
                window += law.growth(window);
            }
        }
        sum / rounds
    }

    #[test]
    fn the_response_function_of_the_rfc() {
        // Table 2 of RFC 3649: loss rate and window. The mean of the sawtooth is near them.
        for (every, window) in [(1e3, 38.0), (1e4, 263.0), (1e5, 1795.0), (1e6, 12_279.0)] {
            let mean = mean_window(&HighSpeed, every);
            assert!(
                (mean / window - 1.0).abs() < 0.1,
                "1 in {every}: {mean} for {window}"
            );
        }
        // Reno has sqrt(1.5 / p): 387 at 10^-5, where HighSpeed has 1795.
        let reno = mean_window(&super::super::reno::Reno, 1e5);
        assert!((reno / 387.0 - 1.0).abs() < 0.05, "{reno}");
    }
}
