//! Whether a player is promised the rate that the next higher quality takes.
//!
//! A player that goes by throughput climbs when it sees enough for the next bit rate. What it sees
//! beside others is what it was promised, so a promise of its present need keeps it where it is. So
//! the server promises one rung more, if the path may carry it, and learns by trying:
//!
//! - a slot that is missed ends the try, and there is a rest;
//! - so does a try of which the player makes no use: what nobody uses is left to others;
//! - each rest is twice as long as the one before, until a try succeeds (as RFC 8084, section 3.1,
//!   has it for circuit breakers).

/// The first rest and the longest one, in slots.
const FIRST_REST: u32 = 1;
const LONGEST_REST: u32 = 64;

/// A try of which the player makes no use for so many slots ends. Players remember up to twenty
/// segments (FESTIVE); with slots of two segments that is some more than half of them.
const PATIENCE: u32 = 6;

/// Where the climb is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Climb {
    /// The slots that were kept in this try. `None` if there is none.
    trying: Option<u32>,
    /// For how many slots there is no try.
    rest: u32,
    next_rest: u32,
}

impl Default for Climb {
    fn default() -> Self {
        Self {
            trying: None,
            rest: 0,
            next_rest: FIRST_REST,
        }
    }
}

impl Climb {
    /// Whether the rate of the next quality is to be promised.
    pub fn is_on(self) -> bool {
        self.trying.is_some()
    }

    /// Whether a try may begin.
    pub fn is_ready(self) -> bool {
        self.rest == 0 && self.trying.is_none()
    }

    /// Begins a try.
    pub fn begin(&mut self) {
        if self.is_ready() {
            self.trying = Some(0);
        }
    }

    /// A slot of what is in force has ended.
    pub fn on_slot(&mut self, is_kept: bool) {
        match self.trying {
            Some(kept) if is_kept && kept + 1 < PATIENCE => self.trying = Some(kept + 1),
            Some(_) => self.give_up(),
            // What the path does not carry now is no ground to climb from.
            None if !is_kept => self.rest = self.rest.max(FIRST_REST),
            None => self.rest = self.rest.saturating_sub(1),
        }
    }

    /// The player has changed to another quality.
    pub fn on_switch(&mut self, is_up: bool) {
        let was_on = self.trying.take().is_some();
        if is_up && was_on {
            self.next_rest = FIRST_REST;
        }
    }

    /// The try was of no use, or the path does not allow it.
    pub fn give_up(&mut self) {
        self.trying = None;
        self.rest = self.next_rest;
        self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many slots pass until it may try again.
    fn rest(climb: &mut Climb) -> u32 {
        for slots in 0..=LONGEST_REST {
            climb.begin();
            if climb.is_on() {
                return slots;
            }
            climb.on_slot(true);
        }
        u32::MAX
    }

    #[test]
    fn each_try_that_fails_doubles_the_rest_and_a_success_ends_that() {
        let mut climb = Climb::default();
        assert_eq!(rest(&mut climb), 0, "nothing was tried before");
        let mut rests = Vec::new();
        for _ in 0..8 {
            climb.on_slot(false);
            assert!(!climb.is_on());
            rests.push(rest(&mut climb));
        }
        assert_eq!(rests, [1, 2, 4, 8, 16, 32, 64, 64]);
        climb.on_switch(true);
        assert!(!climb.is_on(), "the next rung is another try");
        assert_eq!(rest(&mut climb), 0);
        climb.on_slot(false);
        assert_eq!(rest(&mut climb), 1);
    }

    #[test]
    fn a_try_that_the_player_makes_no_use_of_ends() {
        let mut climb = Climb::default();
        climb.begin();
        for _ in 1..PATIENCE {
            climb.on_slot(true);
            assert!(climb.is_on());
        }
        climb.on_slot(true);
        assert!(!climb.is_on());
        assert_eq!(rest(&mut climb), FIRST_REST);
    }

    #[test]
    fn after_a_missed_slot_there_is_a_kept_one_before_a_try() {
        let mut climb = Climb::default();
        climb.on_slot(false);
        climb.on_slot(false);
        assert_eq!(rest(&mut climb), 1);
    }
}
