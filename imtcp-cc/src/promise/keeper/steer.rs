//! What the promise asks of the window and of the pacer.
//!
//! A path that loses packets is *crowded*: others take what they can get. A source that wants no
//! more than its rate is paced at that rate while the path is not crowded, and has a window to
//! spare. Paced packets fare badly at a queue that others keep full: they come at any time, and
//! theirs come when one has just left. On a crowded path such a source therefore competes like
//! one that uses all it can get, up to a window that is little more than it needs.

use super::super::law::PromiseLaw;
use super::super::requirement::{Demand, Requirement};
use super::super::slots::ControlSlot;
use super::super::steering::{self, Enough, PathRates, Position, SPARE, at_least, k_bw, pace};
use super::{Keeper, PathState};
use crate::control::{Proportion, Slope, Steering, WindowOrder};
use crate::units::{Bandwidth, Bytes};

/// The window of a source that wants no more than its rate, on a crowded path, as a multiple of
/// the window that its rate needs. With 1 a tenth of the slots were missed beside one flow of
/// quiche's CUBIC (`sweep beside`), because the round trip grows faster than the window follows.
const CROWDED_SPARE: f64 = 1.3;

/// The window that a loss answers in proportion, as a multiple of the window that the control slot
/// needs. The window has to be above its mean after half of all losses.
const NEEDED: f64 = 1.15;

/// The longest train of a source that wants no more than its rate, as a share of the slot and of
/// the packets between two losses. Such a source has little to spare: packets of a train that ends
/// in the next slot are missing in this one, and a full queue drops most of a train.
const GATHERED: f64 = 0.01;

/// What is aimed at when an acknowledgement comes. Rates are in packets per second, and windows in
/// packets.
struct Aim {
    /// The required rate and its margin.
    bw: f64,
    /// The rate that the control slot needs, within bounds.
    target: f64,
    /// k_bw: the slope that the control slot needs; none outside of control slots.
    k_bw: Option<f64>,
    window: f64,
    srtt: f64,
    /// How many packets come with an acknowledgement.
    group: f64,
    wants_no_more: bool,
    is_crowded: bool,
    /// How many packets are sent for each one that gets through.
    sent_for_each: f64,
    rates: Option<PathRates>,
}

impl Aim {
    /// Whether the source has to compete by its window to have its rate.
    fn is_pressed(&self) -> bool {
        self.is_crowded && self.k_bw.is_some_and(|k| k > 0.0)
    }

    /// The window of a source that wants no more, as a multiple of the window that it needs. On
    /// target it needs hardly any to spare on a crowded path.
    fn spare(&self) -> f64 {
        match (self.is_crowded, self.is_pressed()) {
            (false, _) => SPARE,
            (true, true) => CROWDED_SPARE,
            (true, false) => NEEDED,
        }
    }

    /// The rate at which a source that wants no more is paced. If it is pressed, its window bounds
    /// it.
    fn pace(&self) -> f64 {
        let spare = if self.is_pressed() {
            SPARE / CROWDED_SPARE
        } else {
            1.0
        };
        self.target * spare * self.sent_for_each
    }

    /// The window that is enough for a source that wants no more.
    fn enough(&self, length: u32) -> Enough {
        let rate = if self.is_crowded {
            self.target * self.sent_for_each
        } else {
            self.bw
        };
        let (window, srtt) = (self.window, self.srtt);
        Enough::of(
            rate,
            self.rates.as_ref(),
            window,
            srtt,
            length,
            self.spare(),
            self.group,
        )
    }
}

impl Keeper {
    pub(super) fn steer(&mut self, path: &PathState, requirement: &Requirement) -> Steering {
        let aim = self.aim(path, requirement);
        let is_ordinary = !self.competes();
        let order = if is_ordinary {
            WindowOrder::Free
        } else {
            self.order(path, &aim)
        };
        let pace = if is_ordinary { aim.bw } else { aim.pace() };
        let slot = aim.bw * requirement.per().as_secs_f64();
        let between_losses = self.weight.between_losses().unwrap_or(f64::INFINITY);
        Steering {
            order,
            most: None,
            packets_per_second: aim.wants_no_more.then_some(pace),
            gathered_packets: (requirement.wanted() == Demand::Exactly)
                .then_some(slot.min(between_losses) * GATHERED),
            proportion: match self.control {
                _ if is_ordinary => Some(Proportion::STANDARD),
                control => control.map(|control| self.proportion(path, &aim, &control)),
            },
        }
    }

    fn aim(&self, path: &PathState, requirement: &Requirement) -> Aim {
        let bw = self.required_packets(path, requirement);
        let window = path.cwnd.as_f64() / path.datagram.as_f64().max(1.0);
        Aim {
            bw,
            target: self.control.map_or(bw, |control| pace(control.target, bw)),
            k_bw: self
                .control
                .map(|control| k_bw(&self.position(path, &control, window)).unwrap_or(self.slope)),
            window,
            srtt: path.smoothed.as_secs_f64(),
            group: path.group,
            wants_no_more: requirement.wanted() == Demand::Exactly,
            is_crowded: self
                .last_congestion
                .is_some_and(|at| path.now.saturating_since(at) < requirement.per()),
            sent_for_each: self.sent_for_each(path),
            rates: self.path_rates(path),
        }
    }

    fn order(&mut self, path: &PathState, aim: &Aim) -> WindowOrder {
        let enough = aim.enough(self.control.map_or(1, |control| control.length));
        if path.slow_start {
            return if aim.wants_no_more && aim.window >= enough.window {
                WindowOrder::LeaveSlowStart
            } else {
                WindowOrder::Free
            };
        }
        let Some(wanted) = aim.k_bw else {
            return WindowOrder::Free;
        };
        let k_max = |window: f64| {
            aim.rates.map_or(f64::NEG_INFINITY, |rates| {
                steering::k_max(&rates, self.standing, window, aim.srtt)
            })
        };
        let competes = !aim.wants_no_more || (aim.is_crowded && aim.window < enough.window);
        self.slope = if competes {
            let most = k_max(aim.window).min(self.exit.steepest(self.share.weight()));
            // N flows climb by N packets, but not beyond the window that is needed.
            let missing = NEEDED * aim.target * aim.srtt - aim.window;
            let least = self.weight.of(aim.bw, aim.srtt).min(missing);
            at_least(wanted, most, aim.window, least)
        } else {
            // Only a part of this window is sent.
            let k_max = SPARE * k_max(aim.window / SPARE);
            steering::exactly(wanted, k_max, aim.window, &enough)
        };
        let bytes = self.slope * path.datagram.as_f64().max(1.0);
        WindowOrder::Along(Slope::of(bytes, competes))
    }

    /// How the window answers congestion: in proportion to what the control slot needs.
    fn proportion(&self, path: &PathState, aim: &Aim, control: &ControlSlot) -> Proportion {
        let needed = needed(control.target, aim.bw);
        Proportion {
            weight: self.weight.of(needed, aim.srtt),
            needed: Bytes::from_f64(needed * aim.srtt * path.datagram.as_f64()),
        }
    }

    /// Whether the promise competes by more than any flow does. It may not while it rests, or while
    /// other promises on the path leave no room for it.
    pub(super) fn competes(&self) -> bool {
        self.share.holds() && !self.exit.is_resting()
    }

    /// The largest share of a capacity that this promise may reach by taking. The promises that
    /// came before it have the first call. `capacity` is of goodput.
    pub(super) fn ceiling(&self, capacity: Bandwidth) -> f64 {
        let before = self.share.before().as_bps_f64() / capacity.as_bps_f64().max(1.0);
        (self.settings.ceiling - before).max(0.0)
    }

    /// Whether nothing more can be done for the requirement: N is at its bound, or the rate is
    /// above what may be reached.
    pub(super) fn is_at_bound(&self, path: &PathState, requirement: &Requirement) -> bool {
        let bw = self.required_packets(path, requirement);
        let bare = self.bare_packets(path, requirement);
        let reach = path
            .capacity
            .and(self.path_rates(path))
            .map(|rates| rates.reach());
        let weight = self.weight.needed(bw, path.smoothed.as_secs_f64());
        weight.max(1.0) >= self.share.bound() || reach.is_some_and(|reach| reach < bare)
    }

    fn position(&self, path: &PathState, control: &ControlSlot, window: f64) -> Position {
        let idle = path
            .now
            .saturating_since(control.start)
            .saturating_sub(control.wanting);
        let in_flight = path.in_flight.as_f64() / path.datagram.as_f64().max(1.0);
        Position {
            due: control.due() - control.target * idle.as_secs_f64(),
            counted: control.achieved + in_flight,
            window,
            length: control.length,
            round: control.round(path.now),
        }
    }

    /// The rates of the path. The paper's law needs an estimate. Otherwise what was delivered last
    /// is available, too.
    fn path_rates(&self, path: &PathState) -> Option<PathRates> {
        let on_wire = path.on_wire.as_bits_f64().max(1.0);
        let packets = |rate: Bandwidth| rate.as_bps_f64() / on_wire;
        let known = |available, capacity: Bandwidth| PathRates {
            available,
            capacity: packets(capacity),
            ceiling: self.ceiling(capacity.scaled(self.goodput_of(path).as_bits_f64() / on_wire)),
        };
        let estimate = self.fresh_estimate(path);
        let estimated = estimate.map(|estimate| packets(estimate.available));
        if self.settings.law == PromiseLaw::Paper {
            return Some(known(estimated?, path.taking?));
        }
        let carried = self.carried(path.now).as_bps_f64() / self.goodput_of(path).as_bits_f64();
        Some(match path.capacity {
            Some(capacity) => known(estimated.unwrap_or(carried), capacity),
            None => PathRates::without_capacity(estimated.map_or(carried, |it| it.max(carried))),
        })
    }
}

/// The rate that a promise answers losses for, in packets per second, in a control slot with this
/// target.
pub(super) fn needed(target: f64, bw: f64) -> f64 {
    NEEDED * pace(target, bw).max(bw)
}
