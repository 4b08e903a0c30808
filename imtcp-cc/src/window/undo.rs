//! Finds congestion events that were spurious (RFC 9438, section 4.9.2). An event was spurious if
//! each packet that was declared lost in it has been acknowledged after all. A lone loss is treated
//! likewise: one packet of at least fifty.

/// How many packets separate two events at least if a single loss is to be a lone one. Then fewer
/// than 2 % of the packets are lost, which is also what BBR tolerates (BBR.LossThresh of
/// draft-ietf-ccwg-bbr).
const LONE_AMONG: u64 = 50;

/// Follows the losses of the last congestion event, in constant memory. Packets are numbered in the
/// order in which they are sent, so the packets of an event form a range of numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossRecord {
    largest_sent: u64,
    /// The first packet number of the last event.
    from: u64,
    /// The first packet number of the next event: that of the first packet sent after the last
    /// event began.
    next_from: u64,
    /// The number of packets of the last event that were declared lost and not acknowledged since.
    missing: u64,
    /// The number of packets of the next event that have been declared lost.
    fresh: u64,
    /// Whether the last event can prove spurious: it rests on losses alone.
    is_refutable: bool,
    /// Whether the window is as if the last event had not been. What is still found to be lost of
    /// its packets is answered anew, and so belongs to the next event.
    is_undone: bool,
}

impl LossRecord {
    /// A packet left.
    pub fn on_sent(&mut self, number: u64) {
        self.largest_sent = self.largest_sent.max(number);
    }

    /// A packet was declared lost. [`LossRecord::on_reaction`] follows.
    pub fn on_lost(&mut self, number: u64) {
        if number >= self.next_from || self.is_undone {
            self.fresh = self.fresh.saturating_add(1);
        } else if number >= self.from {
            self.missing = self.missing.saturating_add(1);
        }
    }

    /// The window law was told of the losses. `began` is true if it reduced the window, so that a
    /// new event began.
    pub fn on_reaction(&mut self, began: bool) {
        if began {
            self.from = self.next_from;
            self.next_from = self.largest_sent.saturating_add(1);
            self.missing = 0;
            self.is_refutable = true;
            self.is_undone = false;
        }
        self.missing = self.missing.saturating_add(self.fresh);
        self.fresh = 0;
    }

    /// The losses that were just passed on are stray: they belong to no event.
    pub fn on_stray(&mut self) {
        self.fresh = 0;
    }

    /// The reduction of the last event was undone.
    pub fn on_undone(&mut self) {
        self.is_undone = true;
    }

    /// Whether the last event is a lone loss, which says little about congestion.
    pub fn is_lone(&self) -> bool {
        let packets = self.next_from.saturating_sub(self.from);
        self.is_refutable && self.missing <= 1 && packets >= LONE_AMONG
    }

    /// The last event cannot prove spurious: it also rests on an ECN mark or on persistent
    /// congestion.
    pub fn on_proof(&mut self) {
        self.is_refutable = false;
    }

    /// A packet that had been declared lost was acknowledged. True if no packet of the last event
    /// is missing any more, so that the event was spurious.
    pub fn on_spurious(&mut self, number: u64) -> bool {
        let is_of_event = (self.from..self.next_from).contains(&number);
        if !self.is_refutable || !is_of_event || self.missing == 0 {
            return false;
        }
        self.missing -= 1;
        self.is_refutable = self.missing > 0;
        !self.is_refutable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets 0 to 99 were sent, and packets 10, 11 and 12 were declared lost.
    fn three_lost() -> LossRecord {
        let mut record = LossRecord::default();
        record.on_sent(99);
        for number in 10..13 {
            record.on_lost(number);
        }
        record.on_reaction(true);
        record
    }

    #[test]
    fn one_loss_among_fifty_packets_is_a_lone_one() {
        let event = |lost: &[u64], sent| {
            let mut record = LossRecord::default();
            record.on_sent(sent);
            lost.iter().for_each(|&number| record.on_lost(number));
            record.on_reaction(true);
            record
        };
        assert!(event(&[10], 49).is_lone());
        assert!(!event(&[10], 48).is_lone(), "49 packets");
        assert!(!event(&[10, 11], 49).is_lone(), "two losses");
        let mut marked = event(&[10], 49);
        marked.on_proof();
        assert!(!marked.is_lone());
        let mut late = event(&[10], 49);
        late.on_lost(12);
        assert!(!late.is_lone(), "the second loss was found later");
        let mut next = event(&[10], 49);
        next.on_sent(80);
        next.on_lost(70);
        next.on_reaction(true);
        assert!(!next.is_lone(), "31 packets after the last event");
    }

    #[test]
    fn the_last_of_the_lost_packets_refutes_the_event() {
        let mut record = three_lost();
        assert!(!record.on_spurious(12));
        assert!(!record.on_spurious(10));
        assert!(record.on_spurious(11));
        assert!(!record.on_spurious(11), "once");
    }

    #[test]
    fn packets_lost_later_in_the_same_event_count() {
        let mut record = three_lost();
        record.on_lost(50);
        record.on_reaction(false);
        assert!(![10, 11, 12].map(|n| record.on_spurious(n)).contains(&true));
        assert!(record.on_spurious(50));
    }

    #[test]
    fn an_older_event_is_no_longer_of_interest() {
        let mut record = three_lost();
        record.on_sent(120);
        // One packet of each event.
        record.on_lost(99);
        record.on_lost(100);
        record.on_reaction(true);
        assert!(
            ![10, 11, 12, 99]
                .map(|n| record.on_spurious(n))
                .contains(&true)
        );
        assert!(record.on_spurious(100));
    }

    #[test]
    fn stray_losses_belong_to_no_event() {
        let mut record = three_lost();
        record.on_sent(200);
        record.on_lost(150);
        record.on_stray();
        assert!(![10, 11, 150].map(|n| record.on_spurious(n)).contains(&true));
        assert!(record.on_spurious(12));
        // The next event begins with the packets after the last one, and not with the stray loss.
        record.on_lost(160);
        record.on_reaction(true);
        assert!(record.is_lone());
    }

    #[test]
    fn a_mark_is_not_refuted() {
        let mut record = three_lost();
        record.on_proof();
        assert!(![10, 11, 12].map(|n| record.on_spurious(n)).contains(&true));
    }
}
