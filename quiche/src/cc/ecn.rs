//! Whether a peer's ECN counts can be believed (RFC 9000, section 13.4.2.1).
//!
//! An acknowledgement may count how many packets arrived with each ECN mark. A count is believed
//! only if it can be true: no more packets arrive with a mark than were sent with one, and each
//! newly acknowledged packet that was sent with a mark arrived with that mark, or with CE in its
//! place. After a count that cannot be true, none of the peer's counts is believed any more on that
//! path. Where no packet says that marks are taken, every count above zero is refused.
//!
//! Counts are of the connection, and validation is of a path. So after a change of the path the
//! peer's counts are above what was sent there, and the new path goes without marks.

/// The ECN counts of an ACK frame (RFC 9000, section 19.3.2): running totals of one packet number
/// space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that arrived with ECT(0).
    pub ect0: u64,
    /// Packets that arrived with ECT(1).
    pub ect1: u64,
    /// Packets that arrived with CE.
    pub ce: u64,
}

/// A number of packets that were sent with each mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// With ECT(0).
    pub ect0: u64,
    /// With ECT(1).
    pub ect1: u64,
}

impl Marked {
    fn total(self) -> u64 {
        self.ect0.saturating_add(self.ect1)
    }
}

/// The counts of one path and packet number space.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    sent: Marked,
    /// The newest counts.
    last: Counts,
    largest_acked: Option<u64>,
    failed: bool,
}

impl Validation {
    /// Packets were sent with marks.
    pub fn on_sent(&mut self, marked: Marked) {
        self.sent.ect0 = self.sent.ect0.saturating_add(marked.ect0);
        self.sent.ect1 = self.sent.ect1.saturating_add(marked.ect1);
    }

    /// An ACK frame acknowledged packets, of which so many had left with marks. Returns the peer's
    /// count of CE if it can be believed.
    pub fn on_ack(
        &mut self,
        largest_acked: u64,
        counts: Option<Counts>,
        newly_acked: Marked,
    ) -> Option<u64> {
        // A frame that was overtaken may have older counts. They prove nothing.
        if self.largest_acked >= Some(largest_acked) {
            return None;
        }
        self.largest_acked = Some(largest_acked);
        let valid = match counts {
            Some(counts) => self.can_be_true(counts, newly_acked),
            None => newly_acked.total() == 0,
        };
        self.failed |= !valid;
        let counts = counts.filter(|_| !self.failed)?;
        self.last = counts;
        (self.sent.total() > 0).then_some(counts.ce)
    }

    /// A count could not be true.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    fn can_be_true(&self, counts: Counts, newly_acked: Marked) -> bool {
        let (Some(ect0), Some(ect1), Some(ce)) = (
            counts.ect0.checked_sub(self.last.ect0),
            counts.ect1.checked_sub(self.last.ect1),
            counts.ce.checked_sub(self.last.ce),
        ) else {
            return false;
        };
        let missing = newly_acked.ect0.saturating_sub(ect0) + newly_acked.ect1.saturating_sub(ect1);
        // Each CE makes up for one mark that is missing.
        missing <= ce
            && counts.ect0 <= self.sent.ect0
            && counts.ect1 <= self.sent.ect1
            && counts.ce <= self.sent.total()
    }
}
