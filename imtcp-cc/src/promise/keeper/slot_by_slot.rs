//! From slot to slot: which slot ends, what its outcome is, and what the next one has to do.

use super::super::answers::Outage;
use super::super::dropped::Dropped;
use super::super::exit::{NEARLY, is_in_vain};
use super::super::law::PromiseLaw;
use super::super::ledger::{PathLimits, Renewal};
use super::super::requirement::{FEWEST_ROUND_TRIPS, Requirement};
use super::super::share::Claim;
use super::super::slots::{ControlSlot, EvaluationSlot, evaluation_rounds, next_target, rounds_up};
use super::super::status::{Outcome, SlotReport};
use super::super::steering::Standing;
use super::steer::needed;
use super::{Keeper, Need, PathState};
use crate::event::{Emit, Event};
use crate::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// The largest number of slots that are reported one by one after a silence without any event.
/// After a longer silence nobody counts them any more.
const MOST_OVERDUE: u32 = 64;

impl Keeper {
    pub(super) fn follow_slots(
        &mut self,
        path: &PathState,
        requirement: &Requirement,
        emit: Emit<'_>,
    ) {
        let Some(control) = self.control else {
            // For how long data waited before is none of the first slot's.
            self.account_until(path.now);
            self.begin_evaluation(path.now, path, requirement);
            let bw = self.required_packets(path, requirement);
            self.begin_control(path, requirement, bw, emit);
            return;
        };
        if !self.is_control_over(path, &control) {
            return;
        }
        // Time is accounted to the slots that end before they are judged.
        let slot_end = self.evaluation.map_or(path.now, |slot| slot.end);
        self.account_until(path.now.min(slot_end));
        let lasted = path.now.saturating_since(control.start);
        let bw = self.required_packets(path, requirement);
        let lacking = self.end_control(path, lasted, bw);
        let crossed = self.end_evaluations(path, requirement, emit);
        // The aim is computed again, because the shortfall of the slot is part of it.
        let bw = self.required_packets(path, requirement);
        let left = self.control_length(path, requirement);
        // g_0 = bw, the required rate: an evaluation slot owes nothing to the one before.
        let target = if crossed {
            bw
        } else {
            next_target(bw, lacking, lasted, path.smoothed.saturating_mul(left))
        };
        self.stand(target, lacking, lasted);
        self.begin_control(path, requirement, target, emit);
    }

    /// Whether the control slot is over. It ends on time, unless the evaluation slot would then
    /// have less than another control slot left. It always ends with the evaluation slot.
    fn is_control_over(&self, path: &PathState, control: &ControlSlot) -> bool {
        let Some(evaluation) = self.evaluation else {
            return true;
        };
        let left = evaluation.end.saturating_since(path.now);
        let least = path.smoothed.saturating_mul(FEWEST_ROUND_TRIPS);
        left.is_zero() || (path.now >= control.end() && left >= least)
    }

    fn begin_evaluation(&mut self, start: Timestamp, path: &PathState, requirement: &Requirement) {
        self.evaluation = Some(EvaluationSlot::new(start, requirement));
        // If nothing came back for a whole slot, the earlier warning held all along.
        let silent = start + requirement.per() <= path.now && self.status.is_warning();
        self.warned = silent.then_some(start);
        self.need = self.outlook(path).map(|outlook| Need {
            enough: outlook.probability_available(requirement.rate(), requirement.per()),
            depth: outlook.depth(requirement.rate()),
        });
        self.next_look = path.now;
    }

    fn begin_control(
        &mut self,
        path: &PathState,
        requirement: &Requirement,
        target: f64,
        emit: Emit<'_>,
    ) {
        let length = self.control_length(path, requirement);
        let mut control = ControlSlot::new(path.now, path.smoothed, length, target);
        control.steered = !path.slow_start;
        self.control = Some(control);
        self.settle(path, requirement);
        let goodput = self.goodput_of(path).as_bits_f64();
        emit(Event::ControlSlotStarted {
            target: Bandwidth::from_bps_f64(target * goodput),
            round_trips: length,
        });
    }

    /// Renews the share among the promises on this path, or asks for one. A promise that rests has
    /// none.
    pub(super) fn settle(&mut self, path: &PathState, requirement: &Requirement) {
        if !self.share.is_shared() {
            return;
        }
        if self.exit.is_resting() {
            self.share.give_back();
            return;
        }
        let bw = self.required_packets(path, requirement);
        let target = self.control.map_or(bw, |control| control.target);
        let limits = self.outlook(path).map(|outlook| PathLimits {
            available: outlook.available,
            own: Bandwidth::ZERO,
            capacity: outlook.capacity,
            ceiling: self.settings.ceiling,
        });
        self.share.settle(&Claim {
            requirement: *requirement,
            limits,
            renewal: Renewal {
                rate: requirement.rate(),
                carried: self.carried(path.now),
                weight: self
                    .weight
                    .needed(needed(target, bw), path.smoothed.as_secs_f64()),
                most: self.settings.weight,
            },
        });
        self.weight.bound(self.share.weight());
    }

    fn control_length(&self, path: &PathState, requirement: &Requirement) -> u32 {
        let whole = evaluation_rounds(requirement.per(), path.smoothed);
        let left = self.evaluation.map_or(whole, |slot| {
            rounds_up(slot.end.saturating_since(path.now), path.smoothed)
        });
        self.length.next(left, whole)
    }

    /// Ends the control slot. Returns what it lacks, in packets per second; outside of planned
    /// time `aim` is due.
    fn end_control(&mut self, path: &PathState, lasted: Duration, aim: f64) -> f64 {
        let Some(control) = self.control else {
            return 0.0;
        };
        let lacking = control.lacking(lasted, aim);
        let bits = self.goodput_of(path).as_bits_f64();
        let carried = Bandwidth::from_bps_f64(control.throughput(lasted) * bits);
        self.carried = Some((carried, path.now));
        if let Some(requirement) = self.requirement {
            let whole = evaluation_rounds(requirement.per(), path.smoothed);
            self.length.on_slot(lacking <= 0.0, whole);
            let bw = self.bare_packets(path, &requirement);
            let was_out = self.outage_in(control.start, path.now, path).is_some();
            if control.steered && !was_out {
                let whole = bw * requirement.per().as_secs_f64();
                self.margin
                    .on_control_slot(lacking * lasted.as_secs_f64() / whole.max(1e-9));
            }
        }
        if control.wanting + control.srtt >= lasted {
            self.own_rate = self.carried;
        }
        lacking
    }

    /// Chooses between PT (3) and (4), with g_i - tput_{i-1}. A new evaluation slot does not count
    /// as on target just because it is new: the conditions of the last control slot will also hold
    /// for the next one.
    fn stand(&mut self, target: f64, lacking: f64, lasted: Duration) {
        let Some(ended) = self.control else { return };
        self.standing = if lacking > 0.0 {
            Standing::Behind {
                lacking: target - ended.throughput(lasted),
            }
        } else {
            match self.standing {
                Standing::OnTarget => Standing::OnTarget,
                // PT's "exists x": this holds for the rest of this evaluation slot.
                Standing::Behind { .. } if self.evaluation_began_before(ended.start) => {
                    Standing::Behind {
                        lacking: target - ended.throughput(lasted),
                    }
                }
                Standing::Behind { .. } => Standing::OnTarget,
            }
        };
    }

    fn evaluation_began_before(&self, start: Timestamp) -> bool {
        self.evaluation.is_some_and(|slot| slot.start <= start)
    }

    /// Ends all evaluation slots whose time has come. Returns true if there were any.
    fn end_evaluations(
        &mut self,
        path: &PathState,
        requirement: &Requirement,
        emit: Emit<'_>,
    ) -> bool {
        let mut ended = 0;
        while let Some(slot) = self.evaluation.filter(|slot| path.now >= slot.end) {
            self.account_until(slot.end);
            // Reads the slot again, because accounting changed it.
            let slot = self.evaluation.unwrap_or(slot);
            let outcome = slot.outcome(requirement, path.smoothed);
            self.dropped = Dropped::default();
            self.learn_of(&slot, outcome, path, requirement);
            let report = SlotReport {
                index: self.index,
                start: slot.start,
                end: slot.end,
                required: requirement.rate(),
                achieved: slot.achieved_rate(),
                outcome,
                warned: self.warned,
            };
            self.seat.report(&report);
            emit(Event::SlotEnded { report });
            self.index += 1;
            ended += 1;
            let start = if ended < MOST_OVERDUE {
                slot.end
            } else {
                path.now
            };
            // The time that nobody counts is not of the slot that begins.
            self.account_until(start);
            self.begin_evaluation(start, path, requirement);
        }
        ended > 0
    }

    /// Learns of the slot what it says of the path and of those beside.
    fn learn_of(
        &mut self,
        slot: &EvaluationSlot,
        outcome: Outcome,
        path: &PathState,
        requirement: &Requirement,
    ) {
        let outage = self.outage_in(slot.start, slot.end, path);
        let most = slot.end.saturating_since(slot.start).mul_f64(1.0 - NEARLY);
        let outage = outage.filter(|outage| {
            outcome == Outcome::Missed && outage.within(slot.start, slot.end) >= most
        });
        let outage = outage.filter(|outage| self.excused.is_none_or(|from| from == outage.from));
        if outcome.is_kept() {
            self.excused = None;
        }
        if let Some(outage) = outage {
            // It is one accident, however many slots it lasts, and nobody is to blame. Another one
            // before a slot was kept is no accident: a peer could end each slot with one.
            self.excused = Some(outage.from);
            let begins = outage.from >= slot.start;
            if let Some(need) = self.need.filter(|_| begins) {
                self.history.add(1.0, need.depth, false);
            }
            self.exit.on_slot(Outcome::SourceLimited, false);
            return;
        }
        if let (Some(need), true) = (self.need, outcome != Outcome::SourceLimited) {
            self.history.add(need.enough, need.depth, outcome.is_kept());
        }
        let due = EvaluationSlot::due(requirement).as_f64();
        let achieved = slot.achieved.as_f64() / due.max(1.0);
        self.margin.on_slot(outcome, achieved);
        let is_hopeless =
            is_in_vain(outcome, achieved, path.lost) && self.is_at_bound(path, requirement);
        // What is missed while others leave no room says nothing of what competing is worth.
        let counts = self.share.holds() || self.exit.is_resting() || outcome.is_kept();
        // The paper's law knows neither.
        if counts && self.settings.law != PromiseLaw::Paper {
            self.weight.on_slot(outcome);
            self.exit.on_slot(outcome, is_hopeless);
        }
    }

    /// The outage, if the path was out in this span.
    pub(super) fn outage_in(
        &self,
        start: Timestamp,
        end: Timestamp,
        path: &PathState,
    ) -> Option<Outage> {
        let outage = self.answers.outage(path.now, path.smoothed)?;
        (!outage.within(start, end).is_zero()).then_some(outage)
    }
}
