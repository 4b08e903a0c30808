//! The growth of the window in congestion avoidance, as Linux has it.
//!
//! The window is the larger of two: a cubic function of the time since the last loss (RFC 9438,
//! section 4.2), and what Reno would have with the same mean (section 4.3). Everything is counted
//! in whole segments. The law answers with a *step*: after so many acknowledged segments the window
//! grows by one.

use std::time::Duration;

/// C of RFC 9438, in segments per cubic second.
const C: f64 = 0.4;
/// What is left of the window after a loss, in 1024ths: 0.7 in RFC 9438.
const BETA: u64 = 717;
const SCALE: u64 = 1024;
/// The window of the Reno-friendly region grows by a segment for so many eighths of a window:
/// 8 (1 + beta) / (3 (1 - beta)), rounded down.
const FRIENDLY_EIGHTHS: u64 = 15;
/// Never more than half a segment for each acknowledged one: half a window a round trip.
const LEAST_STEP: u64 = 2;
/// The step before the first loss, at most.
const FIRST_STEP: u64 = 20;
/// The step on the plateau: a hundredth of a segment for each window.
const PLATEAU: u64 = 100;
/// The function is evaluated anew after this time, or when the window has changed.
const EVALUATED_EVERY: Duration = Duration::from_millis(31);
/// Round trips are not believed in the first second after a loss, while a queue drains.
const DRAINING: Duration = Duration::from_secs(1);

/// CUBIC's memory.
#[derive(Debug, Default)]
pub(super) struct Law {
    /// The window before the last loss, or less, with fast convergence; 0 before the first.
    last_max: u64,
    /// The shortest round trip.
    min_rtt: Option<Duration>,
    epoch: Option<Epoch>,
    /// The last answer.
    step: u64,
}

/// The time since a loss.
#[derive(Debug)]
struct Epoch {
    start: Duration,
    /// The window of the plateau, and the time from `start` to it, in seconds.
    origin: u64,
    k: f64,
    /// Reno's window, and what was acknowledged since it grew.
    reno: u64,
    acknowledged: u64,
    /// When the function was evaluated, and for which window.
    evaluated: (Duration, u64),
}

impl Law {
    /// A round trip was measured. Says whether it is believed.
    pub(super) fn round_trip(&mut self, now: Duration, rtt: Duration) -> bool {
        let epoch = self.epoch.as_ref();
        if epoch.is_some_and(|epoch| now.saturating_sub(epoch.start) < DRAINING) {
            return false;
        }
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        true
    }

    /// The shortest round trip so far.
    pub(super) fn min_rtt(&self) -> Duration {
        self.min_rtt.unwrap_or_default()
    }

    /// So many segments were acknowledged. After how many does the window grow by one?
    pub(super) fn step(&mut self, now: Duration, window: u64, acknowledged: u64) -> u64 {
        let delay = self.min_rtt();
        let last_max = self.last_max;
        let is_new = self.epoch.is_none();
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(now, window, last_max));
        epoch.acknowledged += acknowledged;
        let (evaluated, of) = epoch.evaluated;
        if !is_new && of == window && now.saturating_sub(evaluated) <= EVALUATED_EVERY {
            return self.step;
        }
        epoch.evaluated = (now, window);
        let target = epoch.target(now + delay);
        let mut step = match target.checked_sub(window) {
            None | Some(0) => PLATEAU * window,
            Some(missing) => window / missing,
        };
        if last_max == 0 {
            step = step.min(FIRST_STEP);
        }
        let ahead = epoch.reno(window).saturating_sub(window);
        step = step.min(window.checked_div(ahead).unwrap_or(step));
        self.step = step.max(LEAST_STEP);
        self.step
    }

    /// A loss: the window that is left.
    pub(super) fn lost(&mut self, window: u64) -> u64 {
        self.epoch = None;
        self.last_max = if window < self.last_max {
            window * (SCALE + BETA) / (2 * SCALE)
        } else {
            window
        };
        (window * BETA / SCALE).max(2)
    }

    /// A retransmission timeout: all is forgotten.
    pub(super) fn timed_out(&mut self) {
        *self = Self::default();
    }

    /// The application was silent for so long, which is no time to grow in.
    pub(super) fn idle(&mut self, now: Duration, silent: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + silent).min(now);
        }
    }
}

impl Epoch {
    fn new(now: Duration, window: u64, last_max: u64) -> Self {
        let missing = last_max.saturating_sub(window);
        Self {
            start: now,
            origin: last_max.max(window),
            k: libm::cbrt(missing as f64 / C),
            reno: window,
            acknowledged: 0,
            evaluated: (now, window),
        }
    }

    /// The cubic function, in whole segments.
    fn target(&self, at: Duration) -> u64 {
        let distance = at.saturating_sub(self.start).as_secs_f64() - self.k;
        let change = C * distance * distance * distance;
        #[expect(clippy::cast_possible_truncation, reason = "rounded down as in the kernel")]
        #[expect(clippy::cast_sign_loss, reason = "an absolute value")]
        let segments = change.abs() as u64;
        if change < 0.0 {
            self.origin.saturating_sub(segments)
        } else {
            self.origin.saturating_add(segments)
        }
    }

    /// Reno's window by now.
    fn reno(&mut self, window: u64) -> u64 {
        let needed = (window * FRIENDLY_EIGHTHS / 8).max(1);
        while self.acknowledged > needed {
            self.acknowledged -= needed;
            self.reno += 1;
        }
        self.reno
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// 100 segments, lost at time 0, and acknowledgements from `at` on.
    fn after_a_loss() -> (Law, u64) {
        let mut law = Law::default();
        assert!(law.round_trip(MS(0), MS(30)));
        let window = law.lost(100);
        (law, window)
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_fast_convergence_remembers_less() {
        let (mut law, window) = after_a_loss();
        assert_eq!(
            (window, law.last_max),
            (70, 100),
            "100 * 717 / 1024 = 70.02"
        );
        // 80 * 717 / 1024 = 56.02; 80 * 1741 / 2048 = 68.01.
        assert_eq!((law.lost(80), law.last_max), (56, 68));
        assert_eq!(law.lost(2), 2, "never below two");
    }

    #[test]
    fn the_way_to_the_plateau_takes_k() {
        let (mut law, window) = after_a_loss();
        // K = cbrt(30 / 0.4) = 4.217 s. At 0.03 s the function has 100 - 0.4 * 4.187^3 = 70.6,
        // rounded up as its distance from the plateau is rounded down: 71.
        assert_eq!(law.step(MS(0), window, 1), 70);
        // At 1.03 s: 100 - 0.4 * 3.187^3 = 100 - 12.9, so 88, 18 ahead: 70 / 18 = 3.
        assert_eq!(law.step(MS(1000), window, 1), 3);
        // On the plateau itself.
        assert_eq!(law.step(MS(4187), 100, 1), 10_000);
        // 2 s beyond: 100 + 0.4 * 8 = 103, so 100 / 3.
        assert_eq!(law.step(MS(6190), 100, 1), 33);
    }

    #[test]
    fn the_answer_is_kept_for_a_thirty_second_of_a_second() {
        let (mut law, window) = after_a_loss();
        assert_eq!(law.step(MS(1000), window, 1), 70);
        assert_eq!(law.step(MS(1031), window, 1), 70);
        // At 1.53 s: 100 - 0.4 * 2.687^3 = 80 with the distance rounded down, 10 ahead.
        assert_eq!(law.step(MS(1500), window, 1), 7);
        // Another window is evaluated at once: 72 / 8.
        assert_eq!(law.step(MS(1501), window + 2, 1), 9);
    }

    #[test]
    fn where_reno_is_ahead_the_window_follows_it() {
        let mut law = Law::default();
        law.round_trip(MS(0), MS(1));
        let window = law.lost(10);
        assert_eq!(window, 7);
        law.step(MS(0), window, 0);
        // 7 * 15 / 8 = 13 acknowledged segments for each of Reno's. After 40 it has 3 more, while
        // the cubic function has 10 - 0.4 * (1.957 - 0.05)^3 = 7.2, so 8.
        assert_eq!(law.step(MS(49), window, 40), 7 / 3);
        // Half a window a round trip at most.
        assert_eq!(law.step(MS(100), window, 400), 2);
    }

    #[test]
    fn before_the_first_loss_it_grows_by_a_twentieth_at_least() {
        let mut law = Law::default();
        law.round_trip(MS(0), MS(30));
        assert_eq!(law.step(MS(10), 200, 1), 20);
    }

    #[test]
    fn round_trips_right_after_a_loss_are_not_believed() {
        let (mut law, window) = after_a_loss();
        law.step(MS(100), window, 1);
        assert!(!law.round_trip(MS(1099), MS(20)));
        assert_eq!(law.min_rtt(), MS(30));
        assert!(law.round_trip(MS(1100), MS(20)));
        assert_eq!(law.min_rtt(), MS(20));
    }
}
