//! Which packets of a path say that marks are taken, and what is believed of the marks that come
//! back (RFC 9000, section 13.4.2 and appendix A.4).

use crate::cc::ecn::Counts;
use crate::cc::ecn::Marked;
use crate::cc::ecn::Validation;
use crate::packet::Epoch;

/// So many packets say it before it is known whether that comes through.
const TESTED_PACKETS: u32 = 10;
/// After so many probe timeouts in a row, which take three times the first, the marks may be what
/// keeps packets from arriving.
const TESTED_TIMEOUTS: u32 = 2;

/// How far the path is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Testing,
    /// Enough was sent. Nothing more is until an acknowledgement tells.
    Waiting,
    Capable,
    Failed,
}

/// The marks of one path.
#[derive(Debug, Default)]
pub(super) struct Marking {
    progress: Progress,
    /// Whether the controller takes marks; it is asked once. A controller that changed its mind
    /// would leave any number of runs.
    wanted: Option<bool>,
    tested: u32,
    /// Whether the datagram being built says it.
    marks: bool,
    spaces: [Space; Epoch::count()],
}

#[derive(Debug, Default)]
struct Space {
    validation: Validation,
    /// Runs of packet numbers that were sent with a mark, ascending. There are two at most: those
    /// that tested the path, and those since it is capable.
    runs: Vec<[u64; 2]>,
    /// Whether the last packet belongs to the last run.
    in_run: bool,
}

impl Marking {
    /// A datagram is begun. Returns whether it says that marks are taken. `wanted` asks the
    /// controller.
    pub(super) fn begin_datagram(&mut self, wanted: impl FnOnce() -> bool, timeouts: u32) -> bool {
        let is_tested = self.tested >= TESTED_PACKETS || timeouts >= TESTED_TIMEOUTS;
        if self.progress == Progress::Testing && is_tested {
            self.progress = Progress::Waiting;
        }
        let may = matches!(self.progress, Progress::Testing | Progress::Capable);
        self.marks = *self.wanted.get_or_insert_with(wanted) && may;
        self.marks
    }

    /// A packet of that datagram leaves.
    pub(super) fn on_sent(&mut self, epoch: Epoch, packet_number: u64) {
        let space = &mut self.spaces[epoch];
        if !self.marks {
            space.in_run = false;
            return;
        }
        self.tested = self.tested.saturating_add(1);
        space.validation.on_sent(Marked { ect0: 1, ect1: 0 });
        match space.runs.last_mut() {
            Some(run) if space.in_run => run[1] = packet_number,
            _ => space.runs.push([packet_number; 2]),
        }
        space.in_run = true;
    }

    /// An ACK frame acknowledged packets. Returns the peer's count of CE if it can be believed.
    pub(super) fn on_ack(
        &mut self,
        epoch: Epoch,
        largest_acked: u64,
        counts: Option<Counts>,
        newly_acked: impl Iterator<Item = u64>,
    ) -> Option<u64> {
        let space = &mut self.spaces[epoch];
        let runs = &space.runs;
        let was_marked = |number: &u64| runs.iter().any(|[a, b]| (a..=b).contains(&number));
        // Nearly all paths have no marks, and then nobody looks at the packets.
        let ect0 = match runs.is_empty() {
            true => 0,
            false => newly_acked.filter(was_marked).count() as u64,
        };
        let newly_acked = Marked { ect0, ect1: 0 };
        let ce = space.validation.on_ack(largest_acked, counts, newly_acked);
        if space.validation.has_failed() {
            self.progress = Progress::Failed;
        } else if ce.is_some() && newly_acked.ect0 > 0 && self.progress != Progress::Failed {
            self.progress = Progress::Capable;
        }
        ce.filter(|_| self.progress == Progress::Capable)
    }
}
