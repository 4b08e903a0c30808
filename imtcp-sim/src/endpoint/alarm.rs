//! One side's wake-ups. Scheduled events are not cancelled when a timer moves to a later time, so
//! some of them come for nothing.

use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// A timer that is due at once, or fires without effect, is asked again after so long: time always
/// advances.
const LEAST_TIMER: Duration = Duration::from_micros(1);

/// Remembers the instant for which an event is scheduled.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    armed: Option<Timestamp>,
}

impl Alarm {
    /// The side has to be woken when `due`. Returns an instant for which no event is scheduled yet.
    pub(super) fn arm(&mut self, now: Timestamp, due: Option<Timestamp>) -> Option<Timestamp> {
        let wake = match due? {
            due if due <= now => now + LEAST_TIMER,
            later => later,
        };
        let earlier = self.armed.is_none_or(|armed| wake < armed);
        earlier.then(|| *self.armed.insert(wake))
    }

    /// Postpones what is due before `until` to that instant.
    pub(super) fn postpone(&mut self, until: Timestamp) {
        self.armed = self.armed.map(|armed| armed.max(until));
    }

    /// An event that was scheduled for now fires. Says whether it is the one that counts.
    pub(super) fn fires(&mut self, now: Timestamp) -> bool {
        let fires = self.armed == Some(now);
        if fires {
            self.armed = None;
        }
        fires
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(millis))
    }

    #[test]
    fn only_an_earlier_instant_is_scheduled_anew() {
        let mut alarm = Alarm::default();
        assert_eq!(alarm.arm(at(1), Some(at(5))), Some(at(5)));
        assert_eq!(alarm.arm(at(1), Some(at(9))), None);
        assert_eq!(alarm.arm(at(1), Some(at(3))), Some(at(3)));
        assert!(alarm.fires(at(3)));
        assert!(!alarm.fires(at(5)), "it was overtaken by the one at 3 ms");
        assert_eq!(alarm.arm(at(5), Some(at(9))), Some(at(9)));
    }

    #[test]
    fn what_is_due_already_comes_a_little_later() {
        let mut alarm = Alarm::default();
        assert_eq!(alarm.arm(at(5), Some(at(2))), Some(at(5) + LEAST_TIMER));
        assert_eq!(alarm.arm(at(5), None), None);
    }
}
