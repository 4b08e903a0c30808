//! What one acknowledgement declared lost, and whether a full queue can have taken it.

use crate::loss_run::LossRun;
use crate::units::Timestamp;
use std::time::Duration;

/// So many packets in a row are a run. A managed queue drops one packet here and there: where it
/// drops one in ten, one loss in a thousand begins such a run.
const LEAST_RUN: u32 = 4;

/// So many packets are a run that lasts. A full queue takes every second packet if they come twice
/// as fast as it empties, as in slow start. Then one loss in 128 begins such a run.
const LEAST_LASTING_RUN: u32 = 8;

/// Of the packets that left meanwhile, so many were lost at least: three of four.
const LEAST_DENSITY: (u64, u64) = (3, 4);

/// What is known when packets are declared lost.
#[derive(Clone, Copy, Debug)]
pub(in crate::window) struct LossEvent {
    pub(in crate::window) now: Timestamp,
    /// The time from the oldest to the newest of the lost packets when they were sent.
    pub(in crate::window) sent_over: Duration,
    /// smoothed_rtt (RFC 9002, section 5.3).
    pub(in crate::window) smoothed_rtt: Duration,
    /// The window, in full datagrams.
    pub(in crate::window) window: f64,
    pub(in crate::window) is_slow_start: bool,
}

/// The packets that one acknowledgement declared lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fresh {
    pub(super) packets: u32,
    /// How many runs begin among them. One may have begun before.
    pub(super) runs: u32,
    /// The numbers of the first and of the last packet.
    range: Option<(u64, u64)>,
}

impl Fresh {
    pub(super) fn on_lost(&mut self, number: u64, run: &mut LossRun) {
        self.packets += 1;
        self.runs += u32::from(run.begins_with(number));
        let (first, last) = self.range.unwrap_or((number, number));
        self.range = Some((first.min(number), last.max(number)));
    }

    /// Whether these packets are lost in runs, on average.
    pub(super) fn is_of_runs(&self) -> bool {
        self.packets >= LEAST_RUN * self.runs
    }

    /// Whether they are a run that lasted for longer than a burst: the path took nearly nothing of
    /// what was sent meanwhile. A full queue has a free place each time that a packet leaves it.
    pub(super) fn lasted(&self, event: &LossEvent) -> bool {
        let pace = event.smoothed_rtt.as_secs_f64() / event.window.max(1.0);
        let Some((first, last)) = self.range else {
            return false;
        };
        let dense = u64::from(self.packets) * LEAST_DENSITY.1
            > last.saturating_sub(first).saturating_mul(LEAST_DENSITY.0);
        dense
            && self.packets >= LEAST_LASTING_RUN * self.runs.max(1)
            && event.sent_over.as_secs_f64() >= pace * f64::from(LEAST_RUN)
    }
}
