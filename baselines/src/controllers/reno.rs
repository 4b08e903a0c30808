//! NewReno (RFC 9002, section 7).

use super::window::{Law, Reduced};

/// One packet a round trip, and half of the window after a loss.
#[derive(Debug)]
pub(super) struct Reno;

impl Law for Reno {
    fn growth(&self, _window: f64) -> f64 {
        1.0
    }

    fn threshold(&self, reduced: &Reduced) -> f64 {
        reduced.window / 2.0
    }
}
