//! The memory of the gate: until when data is held, and what became of the last permission.

use std::cmp;
use std::time::Duration;
use std::time::Instant;

/// When a permission that could not be used is tried again first; the granularity of quiche's
/// timers (kGranularity, RFC 9002, section 6.1.2).
const FIRST_RETRY: Duration = Duration::from_millis(1);

/// The buffer of the packet that is about to be built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shortage {
    pub(super) now: Instant,
    /// Its size.
    pub(super) offered: usize,
    /// A packet of this size would not be cut short.
    pub(super) enough: usize,
}

/// The gate's memory between two questions.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// When the gate wants to be asked again.
    timer: Option<Instant>,
    /// The packet being built was released by the controller.
    released: bool,
    /// The largest buffer that was offered of late.
    whole: usize,
    /// The buffer offered last was too small.
    declined: bool,
    /// The controller said no to the last question with a whole buffer, and nothing has happened
    /// since.
    answered_no: bool,
    /// How often in a row a released packet took no data.
    unused: u32,
}

impl Hold {
    /// A packet is begun.
    pub(super) fn begin_packet(&mut self) {
        self.released = false;
    }

    /// Nothing is held back any more, or a new answer follows.
    pub(super) fn end(&mut self) {
        self.timer = None;
        self.answered_no = false;
    }

    /// Data is held until something happens, at `time` at the latest.
    pub(super) fn until(&mut self, time: Option<Instant>) {
        self.timer = time;
        self.answered_no = true;
    }

    /// The controller lets the packet go.
    pub(super) fn release(&mut self) {
        self.released = true;
    }

    /// The packet leaves without a question.
    pub(super) fn pass_by(&mut self) {
        self.declined = false;
        self.answered_no = false;
    }

    pub(super) fn is_released(&self) -> bool {
        self.released
    }

    /// A packet left; whether it used a release.
    pub(super) fn take_release(&mut self, app_data: bool) -> bool {
        let used = std::mem::take(&mut self.released) && app_data;
        if used {
            self.unused = 0;
        }
        used
    }

    /// Whether the data had better wait for a larger buffer.
    ///
    /// An event loop that fills a GSO buffer offers no more than the size of the batch's first
    /// packet. If that was an acknowledgement of forty bytes, data has no room: a permission to
    /// send would come to nothing, or to a runt in the place of a whole packet. The timer asks
    /// again, and the next batch begins with a whole buffer. Data waits once only, because a caller
    /// may have no larger buffer.
    pub(super) fn declines(&mut self, shortage: &Shortage) -> bool {
        let is_short = shortage.offered < cmp::min(self.whole, shortage.enough);
        if is_short && !self.declined {
            self.declined = true;
            if !self.answered_no {
                self.timer.get_or_insert(shortage.now);
            }
            return true;
        }
        if is_short || shortage.offered > self.whole {
            self.whole = shortage.offered;
        }
        self.declined = false;
        false
    }

    /// Gives data that stays behind a timer, and one that does not spin.
    pub(super) fn leave_behind(&mut self, now: Instant, pto: Duration, has_loss_timer: bool) {
        if std::mem::take(&mut self.released) {
            // The data was allowed to leave, and no packet could take it. The reason is not known
            // here.
            let wait = FIRST_RETRY.saturating_mul(1 << self.unused.min(16));
            self.unused = self.unused.saturating_add(1);
            self.timer = Some(now + cmp::min(wait, pto));
        } else if self.timer.is_none() && !has_loss_timer {
            self.timer = Some(now + pto);
        }
    }

    pub(super) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Clears a time that has come, so that it is not due for ever; the `send()` that follows asks
    /// anew. It has nothing to do with the loss timer, which counts probe timeouts.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        if self.timer.is_some_and(|time| time <= now) {
            self.end();
        }
    }
}
