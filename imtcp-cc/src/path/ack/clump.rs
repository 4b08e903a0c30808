//! Echoes that come together, and what is read of them where echoes are read coarsely.

use super::gap::EchoPoint;
use super::timing::TimingJudge;
use crate::units::{Nanos, Timestamp};

/// The shortest gap in jitters, if echoes are read coarsely. The remaining error cancels in the
/// sums over gaps that follow each other.
const COARSE_JITTERS: u32 = 2;

/// A point from which a gap can be read, and whether its packet was rushed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) point: EchoPoint,
    pub(super) rushed: bool,
}

impl Reading {
    /// Whether this one is far enough from an earlier one to end a gap.
    pub(super) fn is_far(&self, last: &Self, jitter: Nanos) -> bool {
        self.point.arrived.nanos_since(last.point.arrived) >= jitter.times(COARSE_JITTERS)
    }
}

/// Follows the clump to which echoes still come: its newest packet, at the time of its first echo.
/// At that time the whole clump arrived.
#[derive(Debug, Default)]
pub(super) struct Clumps(Option<Reading>);

impl Clumps {
    /// Takes an echo; the one before it came and had left at the times of `newest`. Returns the
    /// clump that it shows to be complete.
    pub(super) fn take(
        &mut self,
        echo: Reading,
        newest: Option<(Timestamp, Timestamp)>,
    ) -> Option<Reading> {
        if let (Some(clump), Some((arrived, sent))) = (&mut self.0, newest)
            && TimingJudge::is_clump(echo.point.arrived - arrived, echo.point.sent - sent)
        {
            let EchoPoint { arrived, came, .. } = clump.point;
            *clump = echo;
            (clump.point.arrived, clump.point.came) = (arrived, came);
            return None;
        }
        self.0.replace(echo)
    }
}
