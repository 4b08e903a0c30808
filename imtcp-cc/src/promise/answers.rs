//! For how long packets have waited for an answer, and when the path was out.
//!
//! While a path is out nothing that is sent is acknowledged, not even the probes after timeouts
//! (RFC 9002, section 6.2). Flows that fill a queue take some of the packets and leave others, so
//! an outage says nothing of rivals: neither how hard to compete, nor what they yield.

use crate::units::Timestamp;
use std::time::Duration;

/// After this long without an acknowledgement nothing arrives. A lost probe takes two round trips.
pub(super) const SILENT_ROUND_TRIPS: u32 = 2;

/// The default of max_ack_delay (RFC 9000, section 18.2).
const USUAL_ACK_DELAY: Duration = Duration::from_millis(25);

/// A silence of so many timeouts is an outage. Each timeout is twice as long as the one before
/// (RFC 9002, section 6.2.1), so by then the probes of two are lost, and those of a third have
/// left. With three in place of seven, losses by chance were taken for outages where 15 % are lost.
const OUTAGE_TIMEOUTS: u32 = 7;

/// The time after which a missing answer counts as silence.
fn timeout(smoothed_rtt: Duration) -> Duration {
    smoothed_rtt * SILENT_ROUND_TRIPS + USUAL_ACK_DELAY
}

fn is_outage(silence: Duration, smoothed_rtt: Duration) -> bool {
    silence >= timeout(smoothed_rtt) * OUTAGE_TIMEOUTS
}

/// Follows the answers to what was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    last: Option<Timestamp>,
    /// The time since which packets in flight have not been acknowledged.
    awaited_since: Option<Timestamp>,
    /// The last outage that ended: from when until when. Of two in a slot the first is forgotten.
    outage: Option<Outage>,
}

impl Answers {
    /// A packet left.
    pub(super) fn on_sent(&mut self, now: Timestamp) {
        self.awaited_since.get_or_insert(now);
    }

    /// An acknowledgement came, and other packets are in flight or not. Returns the time since the
    /// one before. Of a pause in which nothing was in flight it has a round trip at most: a busy
    /// source may be idle for that long between two writes. Of an outage it has a timeout.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        now: Timestamp,
        is_awaiting: bool,
        smoothed_rtt: Duration,
    ) -> Duration {
        let since = self.awaited_since.unwrap_or(now);
        let silence = now.saturating_since(since);
        let is_outage = is_outage(silence, smoothed_rtt);
        if is_outage {
            self.outage = Some(Outage {
                from: since,
                until: now,
            });
        }
        self.awaited_since = is_awaiting.then_some(now);
        let Some(last) = self.last.replace(now) else {
            return Duration::ZERO;
        };
        match is_outage {
            true => timeout(smoothed_rtt),
            false => now
                .saturating_since(last)
                .min(silence.saturating_add(smoothed_rtt)),
        }
    }

    /// For how long nothing that was sent has been acknowledged; zero while an answer may still be
    /// on its way.
    pub(super) fn silence(&self, now: Timestamp, smoothed_rtt: Duration) -> Duration {
        let silence = |since| now.saturating_since(since);
        let silence = self.awaited_since.map_or(Duration::ZERO, silence);
        match silence >= timeout(smoothed_rtt) {
            true => silence,
            false => Duration::ZERO,
        }
    }

    /// The outage that lasts at `now`, or the last one: from when until when.
    pub(super) fn outage(&self, now: Timestamp, smoothed_rtt: Duration) -> Option<Outage> {
        self.awaited_since
            .filter(|since| is_outage(now.saturating_since(*since), smoothed_rtt))
            .map(|from| Outage { from, until: now })
            .or(self.outage)
    }
}

/// A span in which nothing that was sent was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outage {
    pub(super) from: Timestamp,
    until: Timestamp,
}

impl Outage {
    /// How much of a span was within the outage.
    pub(super) fn within(&self, start: Timestamp, end: Timestamp) -> Duration {
        self.until.min(end).saturating_since(self.from.max(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(ms))
    }

    #[test]
    fn seven_timeouts_without_an_answer_are_an_outage() {
        let mut answers = Answers::default();
        answers.on_sent(at_ms(0));
        // Two round trips and 25 ms are a timeout: 105 ms.
        assert_eq!(answers.silence(at_ms(104), RTT), Duration::ZERO);
        assert_eq!(answers.silence(at_ms(105), RTT), Duration::from_millis(105));
        assert_eq!(answers.outage(at_ms(734), RTT), None);
        let outage = answers.outage(at_ms(735), RTT).expect("seven timeouts");
        assert_eq!(outage.from, at_ms(0));
        assert_eq!(
            answers.on_ack(at_ms(800), true, RTT),
            Duration::ZERO,
            "the first"
        );
        let outage = answers.outage(at_ms(810), RTT).expect("the last one");
        let within = |start, end| outage.within(at_ms(start), at_ms(end));
        assert_eq!(within(0, 1000), Duration::from_millis(800));
        assert_eq!(within(200, 300), Duration::from_millis(100));
        assert_eq!(within(900, 1000), Duration::ZERO);
        // An idle connection is not out, however long.
        let mut idle = Answers::default();
        idle.on_sent(at_ms(0));
        idle.on_ack(at_ms(40), false, RTT);
        assert_eq!(idle.outage(at_ms(10_000), RTT), None);
    }

    #[test]
    fn of_a_pause_a_round_trip_counts() {
        let mut answers = Answers::default();
        answers.on_sent(at_ms(0));
        answers.on_ack(at_ms(40), true, RTT);
        assert_eq!(
            answers.on_ack(at_ms(70), false, RTT),
            Duration::from_millis(30)
        );
        // Ten seconds later a packet leaves, and is answered after 40 ms.
        answers.on_sent(at_ms(10_070));
        let counted = answers.on_ack(at_ms(10_110), false, RTT);
        assert_eq!(counted, Duration::from_millis(80));
        // A pause of less than a round trip counts as a whole.
        answers.on_sent(at_ms(10_120));
        let counted = answers.on_ack(at_ms(10_160), false, RTT);
        assert_eq!(counted, Duration::from_millis(50));
    }
}
