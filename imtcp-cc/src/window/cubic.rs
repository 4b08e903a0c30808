//! CUBIC (RFC 9438). The first slow start is that of HyStart++ ([`super::hystart`]). Recovery is
//! that of RFC 9002, section 7.3.2.
//!
//! ```text
//!   W_cubic(t) = C (t - K)^3 + W_max       K = cbrt((W_max - cwnd_epoch) / C)      section 4.2
//!   target     = W_cubic(t + RTT), from cwnd to 1.5 cwnd                           section 4.2
//!   W_est     += alpha acked / cwnd        alpha = 3 (1 - beta) / (1 + beta)       section 4.3
//!   cwnd       = W_est                     where W_cubic(t) < W_est                section 4.3
//!   cwnd      += (target - cwnd) / cwnd    for each segment, elsewhere        sections 4.4, 4.5
//! ```
//!
//! C = 0.4 segments / s^3 and beta = 0.7. The RFC counts segments. This code counts bytes, and a
//! segment is a full datagram. Time is whole microseconds. All values are integers, so results are
//! the same on every machine.

use super::base::{Base, Growth};
use super::hystart::{HyStart, Pace};
use super::{AckedBytes, Proportion, Slope, WindowLaw};
use crate::units::{Bytes, Nanos, Timestamp};

/// A ratio of whole numbers.
type Ratio = (u64, u64);

/// beta_cubic, the factor of a reduction (section 4.6).
const BETA: Ratio = (7, 10);

/// (1 + beta_cubic) / 2, the factor of fast convergence (section 4.7).
const FAST_CONVERGENCE: Ratio = (17, 20);

/// alpha_cubic = 3 (1 - beta_cubic) / (1 + beta_cubic) = 0.9 / 1.7 (section 4.3), times
/// [`ALPHA_DIVISOR`].
const ALPHA: u64 = 9;

/// The value 1, which alpha_cubic has from cwnd_prior on (section 4.3), times [`ALPHA_DIVISOR`].
const ALPHA_FROM_PRIOR: u64 = 17;

/// The divisor of both.
const ALPHA_DIVISOR: u64 = 17;

/// The largest ratio of target to cwnd (section 4.2).
const MOST_TARGET: Ratio = (3, 2);

/// C = 0.4 segments per second cubed (section 5.1), as numerator and denominator of segments per
/// microsecond cubed.
const C: (u128, u128) = (4, 10 * 1_000_000_000_000_000_000);

const NANOS_PER_MICROSECOND: u64 = 1000;

/// The CUBIC window of RFC 9438.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubic {
    state: State,
    /// The state before the last reduction (section 4.9).
    before: Option<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    base: Base,
    hystart: HyStart,
    /// The window at the last congestion, after fast convergence (section 4.7, W_max).
    w_max: Option<Bytes>,
    /// The window before the last reduction (cwnd_prior). It is zero before the first congestion,
    /// so that alpha is 1 (section 4.10).
    prior_window: Bytes,
    /// The present stage of congestion avoidance.
    epoch: Option<Epoch>,
    last_ack: Option<Timestamp>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    /// When the stage began (t_epoch), moved on by the time in which the application limited the
    /// window.
    start: Timestamp,
    /// The window at which W_cubic(t) is flat (W_max).
    w_max: Bytes,
    /// The time from the start of the stage until W_cubic(t) reaches W_max, in microseconds (K).
    k_us: u64,
    /// The window that Reno would have (W_est).
    estimate: Bytes,
    /// The remainder of the growth of W_est that is less than one byte.
    credit: u128,
}

impl Cubic {
    /// A window of `initial_window_packets` datagrams, within the limit of RFC 9002, section 7.2.
    pub fn new(initial_window_packets: u32, max_datagram_size: Bytes) -> Self {
        Self {
            state: State {
                base: Base::new(initial_window_packets, max_datagram_size),
                hystart: HyStart::new(),
                w_max: None,
                prior_window: Bytes::ZERO,
                epoch: None,
                last_ack: None,
            },
            before: None,
        }
    }
}

impl State {
    /// Grows the window in slow start (RFC 9406, section 4.2).
    fn start_slowly(&mut self, acked: &AckedBytes) {
        let share = match self.hystart.on_ack(acked) {
            Pace::Full => 1,
            Pace::Conservative { divisor } => divisor,
            Pace::Over => {
                self.base.leave_slow_start();
                return;
            }
        };
        self.base.window += Bytes::new(acked.size.get() / share);
    }

    /// Moves the start of the stage on by the time in which the application limited the window,
    /// because the window was not full or because nothing was in flight. The time t of section 4.2
    /// leaves that time out.
    fn follow_time(&mut self, acked: &AckedBytes) {
        let last = self.last_ack.replace(acked.now);
        let (Some(last), Some(epoch)) = (last, self.epoch.as_mut()) else {
            return;
        };
        let passed = acked.now.nanos_since(last);
        let idle = acked.sent.nanos_since(last).min(passed);
        let limited = acked.application_limited;
        epoch.start = epoch.start.after(if limited { passed } else { idle });
    }

    /// Grows the window in congestion avoidance (sections 4.3 to 4.5).
    fn avoid_congestion(&mut self, acked: &AckedBytes) {
        let (window, datagram) = (self.base.window, self.base.max_datagram_size);
        let w_max = self.w_max;
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(acked.now, w_max, window, datagram));
        epoch.grow_estimate(acked.size, window, datagram, self.prior_window);
        let t = acked.now.nanos_since(epoch.start);
        if epoch.w_cubic(t, datagram) < epoch.estimate {
            // If W_est has run far ahead, the window grows no faster than in slow start.
            let most = window + acked.size;
            self.base.window = epoch.estimate.min(most).max(window);
        } else {
            let target = epoch
                .w_cubic(t + acked.smoothed_rtt.into(), datagram)
                .min(scaled(window, MOST_TARGET))
                .saturating_sub(window);
            self.base.grow_along(i128::from(target.get()), acked.size);
        }
    }

    fn reduce(&mut self, now: Timestamp, proportion: Option<&Proportion>) {
        let window = self.base.window;
        self.w_max = Some(match self.w_max {
            // Fast convergence (section 4.7): another flow has probably joined, and needs room.
            Some(last) if window < last => scaled(window, FAST_CONVERGENCE),
            _ => window,
        });
        self.prior_window = window;
        self.epoch = None;
        self.hystart.give_up();
        let threshold = self.base.in_proportion(scaled(window, BETA), proportion);
        self.base
            .reduce(now, threshold.max(self.base.minimum_window()));
    }
}

impl Epoch {
    /// A stage that begins with this window. If no W_max is above the window, W_max is the window
    /// and K is 0. This is so after a slow start without loss (section 4.10) and after persistent
    /// congestion (section 4.8).
    fn new(now: Timestamp, w_max: Option<Bytes>, window: Bytes, datagram: Bytes) -> Self {
        let w_max = w_max.unwrap_or(window).max(window);
        Self {
            start: now,
            w_max,
            k_us: k_us(w_max.saturating_sub(window), datagram),
            estimate: window,
            credit: 0,
        }
    }

    /// W_cubic(t) = C (t - K)^3 + W_max, in bytes (section 4.2).
    fn w_cubic(&self, t: Nanos, datagram: Bytes) -> Bytes {
        let t_us = t.get() / NANOS_PER_MICROSECOND;
        let from_k = t_us.abs_diff(self.k_us);
        let scale = u128::from(datagram.get()) * C.0;
        // Up to an hour from K nothing overflows.
        let scaled_cube = match (u32::try_from(from_k), u32::try_from(scale)) {
            (Ok(short), Ok(scale)) => {
                u128::from(from_k * from_k) * u128::from(u64::from(short) * u64::from(scale))
            }
            _ => u128::from(from_k).saturating_pow(3).saturating_mul(scale),
        };
        let far = Bytes::new(u64::try_from(scaled_cube / C.1).unwrap_or(u64::MAX));
        if t_us < self.k_us {
            self.w_max.saturating_sub(far)
        } else {
            self.w_max + far
        }
    }

    /// W_est += alpha acked / cwnd, in bytes (section 4.3).
    fn grow_estimate(&mut self, acked: Bytes, window: Bytes, datagram: Bytes, prior: Bytes) {
        let alpha = if self.estimate >= prior {
            ALPHA_FROM_PRIOR
        } else {
            ALPHA
        };
        let product = u128::from(acked.get().saturating_mul(alpha)) * u128::from(datagram.get());
        let credit = self.credit.saturating_add(product);
        let divisor = u128::from(ALPHA_DIVISOR) * u128::from(window.get().max(1));
        // Nearly always both fit into 64 bits, where a division takes a fraction of the time.
        let grown = match (u64::try_from(credit), u64::try_from(divisor)) {
            (Ok(credit), Ok(divisor)) => {
                self.credit = (credit % divisor).into();
                credit / divisor
            }
            _ => {
                self.credit = credit % divisor;
                u64::try_from(credit / divisor).unwrap_or(u64::MAX)
            }
        };
        self.estimate += Bytes::new(grown);
    }
}

/// K = cbrt((W_max - cwnd_epoch) / C) in microseconds, rounded down.
fn k_us(missing: Bytes, datagram: Bytes) -> u64 {
    let scale = u128::from(datagram.get().max(1)) * C.0;
    cube_root(u128::from(missing.get()) * C.1 / scale)
}

/// The largest number whose cube is not above `number`.
fn cube_root(number: u128) -> u64 {
    // 2^43 cubed is above 2^128.
    (0..43).rev().fold(0, |root, bit| {
        let candidate = root | (1_u64 << bit);
        match u128::from(candidate).checked_pow(3) {
            Some(cube) if cube <= number => candidate,
            _ => root,
        }
    })
}

fn scaled(size: Bytes, (multiplier, divisor): Ratio) -> Bytes {
    if let Some(product) = size.get().checked_mul(multiplier) {
        return Bytes::new(product / divisor);
    }
    let scaled = u128::from(size.get()) * u128::from(multiplier) / u128::from(divisor);
    Bytes::new(u64::try_from(scaled).unwrap_or(u64::MAX))
}

impl WindowLaw for Cubic {
    fn on_ack(&mut self, acked: &AckedBytes) {
        let state = &mut self.state;
        state.follow_time(acked);
        match state.base.on_ack(acked) {
            Growth::None => {}
            Growth::SlowStart => state.start_slowly(acked),
            Growth::Steered(slope) => {
                // When the promise no longer steers the window, a new stage begins.
                state.epoch = None;
                state.base.grow_along(i128::from(slope), acked.size);
            }
            Growth::Own { at_least } => {
                let steered = at_least.map(|slope| (slope, state.base));
                state.avoid_congestion(acked);
                if let Some((slope, before)) = &steered {
                    state.base.grow_at_least(*slope, acked.size, before);
                }
            }
        }
    }

    /// Reduces the window (sections 4.6 and 4.7). The RFC reduces the flight size; here it is cwnd,
    /// because an unused window does not grow.
    fn on_congestion(
        &mut self,
        now: Timestamp,
        sent: Timestamp,
        proportion: Option<&Proportion>,
    ) -> bool {
        if self.state.base.was_sent_before_recovery(sent) {
            return false;
        }
        self.before = Some(self.state);
        self.state.reduce(now, proportion);
        true
    }

    /// Collapses the window after persistent congestion (section 4.8).
    fn on_persistent_congestion(&mut self) {
        self.before = None;
        self.state.base.collapse();
        self.state.w_max = None;
        self.state.epoch = None;
    }

    /// Undoes the last reduction (section 4.9.2), unless the window is as large again already.
    fn on_spurious_congestion(&mut self) -> bool {
        let Some(before) = self.before.take() else {
            return false;
        };
        if before.base.window <= self.state.base.window {
            return false;
        }
        let mut base = self.state.base;
        base.restore(&before.base);
        self.state = State {
            base,
            last_ack: self.state.last_ack,
            ..before
        };
        true
    }

    fn on_max_datagram_size(&mut self, size: Bytes) {
        self.state.base.on_max_datagram_size(size);
    }

    fn set_slope(&mut self, slope: Option<Slope>) {
        self.state.base.set_slope(slope);
    }

    fn leave_slow_start(&mut self) {
        self.state.base.leave_slow_start();
        self.state.hystart.give_up();
    }

    fn leave_towards(&mut self, now: Timestamp, limit: Bytes) {
        self.leave_slow_start();
        let (window, datagram) = (self.state.base.window, self.state.base.max_datagram_size);
        self.state.epoch = Some(Epoch::new(now, Some(limit), window, datagram));
    }

    fn resume_slow_start(&mut self) {
        self.state.base.resume_slow_start();
        self.state.epoch = None;
    }

    fn set_window(&mut self, window: Bytes) {
        self.state.base.set_window(window);
    }

    fn set_pipe(&mut self, pipe: Bytes) {
        self.state.w_max = Some(pipe);
        self.state.prior_window = pipe;
        self.state.base.set_threshold(scaled(pipe, BETA));
    }

    fn base(&self) -> &Base {
        &self.state.base
    }
}

#[cfg(test)]
mod tests;
