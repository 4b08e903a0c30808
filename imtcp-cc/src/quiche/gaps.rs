//! Planned and achieved distances between packets.

use crate::units::Timestamp;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// Hears how well a host keeps the distances that are measured with: those between successive
/// packets of a probe stream or a train. It is called on the packet path, so it must be quick and
/// must not block.
pub trait GapObserver: Debug + Send + Sync {
    /// Two packets were to leave `planned` apart, and left `achieved` apart.
    fn on_gap(&self, planned: Duration, achieved: Duration);
}

/// Compares plans with what happened, on one path.
#[derive(Debug)]
pub(super) struct Gaps {
    observer: Arc<dyn GapObserver>,
    last: Option<Departure>,
}

/// A packet that another one follows at a distance.
#[derive(Clone, Copy, Debug)]
struct Departure {
    planned: Timestamp,
    sent: Timestamp,
}

impl Gaps {
    pub(super) fn new(observer: Arc<dyn GapObserver>) -> Self {
        let last = None;
        Self { observer, last }
    }

    /// A packet left at `sent` that had been due at `due`. It has no such time if it followed no
    /// other one. `is_followed` tells whether another one follows it.
    pub(super) fn on_sent(&mut self, sent: Timestamp, due: Option<Timestamp>, is_followed: bool) {
        if let (Some(last), Some(due)) = (self.last, due) {
            let planned = due.saturating_since(last.planned);
            self.observer
                .on_gap(planned, sent.saturating_since(last.sent));
        }
        // A stream begins when its first packet leaves.
        let planned = due.filter(|_| self.last.is_some()).unwrap_or(sent);
        self.last = is_followed.then_some(Departure { planned, sent });
    }

    /// A packet left that nobody had planned.
    pub(super) fn on_unplanned(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<(u128, u128)>>);

    impl GapObserver for Heard {
        fn on_gap(&self, planned: Duration, achieved: Duration) {
            let pair = (planned.as_micros(), achieved.as_micros());
            self.0.lock().expect("not poisoned").push(pair);
        }
    }

    fn at(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    #[test]
    fn gaps_are_those_between_packets_of_one_sequence() {
        let heard = Arc::new(Heard::default());
        let mut gaps = Gaps::new(Arc::clone(&heard) as Arc<dyn GapObserver>);
        gaps.on_sent(at(104), None, true);
        gaps.on_sent(at(510), Some(at(504)), true);
        gaps.on_sent(at(904), Some(at(904)), false);
        // Another sequence.
        gaps.on_sent(at(2000), None, true);
        gaps.on_unplanned();
        gaps.on_sent(at(2200), Some(at(2100)), true);
        gaps.on_sent(at(2290), Some(at(2300)), false);
        let heard = heard.0.lock().expect("not poisoned");
        assert_eq!(*heard, [(400, 406), (400, 394), (100, 90)]);
    }
}
