//! What is required: it comes, changes and goes.

use super::super::exit::NEARLY;
use super::super::law::PromiseLaw;
use super::super::requirement::Requirement;
use super::super::status::Status;
use super::super::steering::Standing;
use super::Keeper;
use super::path_state::PathState;
use crate::event::{Emit, Event};
use crate::units::Timestamp;

impl Keeper {
    #[inline]
    pub(super) fn follow_requirement(&mut self, now: Timestamp, emit: Emit<'_>) {
        let Some(requirement) = self.seat.take_requirement() else {
            return;
        };
        // The mailbox may still be as it was made. And who asks for the same again begins no new
        // slot.
        if requirement != self.requirement {
            self.begin(requirement, now, emit);
        }
    }

    pub(super) fn begin(
        &mut self,
        requirement: Option<Requirement>,
        now: Timestamp,
        emit: Emit<'_>,
    ) {
        // Before the share is given back: it says whether the slot competed.
        self.leave_slot(now);
        let kept = |old: Requirement| requirement.is_some_and(|new| new.rate() <= old.rate());
        if !self.requirement.is_some_and(kept) {
            // Who asks for more comes anew. Who asks for less fits where it fitted before.
            self.share.give_back();
        }
        self.follow_rate(requirement, now);
        self.requirement = requirement;
        self.evaluation = None;
        self.control = None;
        self.standing = Standing::OnTarget;
        self.warned = None;
        self.status = Status::Idle;
        self.next_look = now;
        emit(Event::PromiseChanged { requirement });
    }

    /// The present slot has no outcome. What it had counts for the exit alone, unless the path was
    /// out.
    fn leave_slot(&mut self, now: Timestamp) {
        self.account_until(now);
        let (Some(requirement), Some(slot)) = (self.requirement, self.evaluation) else {
            return;
        };
        let Some(path) = self
            .last_path
            .filter(|_| self.settings.law != PromiseLaw::Paper)
        else {
            return;
        };
        let path = PathState { now, ..path };
        if self.outage_in(slot.start, now, &path).is_some() {
            return;
        }
        let is_at_bound = self.share.holds() && self.is_at_bound(&path, &requirement);
        let whole = self.dropped.add(&slot, &requirement, now, is_at_bound);
        if let Some((outcome, is_hopeless)) = whole {
            self.exit.on_slot(outcome, is_hopeless);
        }
    }

    /// What slots have taught of a rate holds for all that are as high or nearly so. Where one
    /// failed, a much lower one has not been tried.
    fn follow_rate(&mut self, requirement: Option<Requirement>, now: Timestamp) {
        let is_like = |old: Requirement| {
            requirement.is_some_and(|new| new.rate() >= old.rate().scaled(NEARLY))
        };
        if !self.requirement.is_some_and(is_like) {
            self.weight.forget_missed();
        }
        match requirement {
            Some(new) => self.exit.on_required(new.rate(), now),
            None => {
                let per = self.period();
                self.exit.on_withdrawn(now, per);
            }
        }
    }
}
