//! The bursts in which Linux sends. It hands segments to the device in groups that hold about a
//! millisecond's worth of data, and waits a moment for the window to have room for a whole group.

use std::time::Duration;

/// A group has two segments at least, and no more bytes than this.
const LEAST: u64 = 2;
const MOST_BYTES: u64 = 65_536;
/// The window is taken to be sent faster than once a round trip: twice while it is far below the
/// threshold, in per cent.
const FAR_BELOW: u64 = 200;
const NEAR: u64 = 120;
/// A group is what the rate carries in a 1024th of a second.
const GROUPS_A_SECOND: u64 = 1024;
/// A group on a short round trip is larger: the bytes halve with each so many microseconds.
const HALVES_EVERY_US: u128 = 512;
/// A sender that was silent for longer does not wait.
const RECENT: Duration = Duration::from_millis(1);
/// Nor does one with room for this part of the window.
const PART: u64 = 3;

/// The window, its threshold, and the segment's size in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) window: u64,
    pub(super) threshold: u64,
    pub(super) segment: u64,
}

/// What is left of the group that is under way.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    left: u64,
    last_sent: Option<Duration>,
}

impl Bursts {
    /// Whether a segment leaves now, with room in the window for so many.
    pub(super) fn lets_go(&mut self, now: Duration, room: u64, group: u64, window: u64) -> bool {
        if self.left > 0 {
            return true;
        }
        let is_recent = |at: Duration| now.saturating_sub(at) <= RECENT;
        let waits = room < group && room < window / PART && self.last_sent.is_some_and(is_recent);
        if !waits {
            self.left = room.min(group);
        }
        !waits
    }

    /// A segment left.
    pub(super) fn sent(&mut self, now: Duration) {
        self.left = self.left.saturating_sub(1);
        self.last_sent = Some(now);
    }

    /// What is under way ends: the sender was held up.
    pub(super) fn end(&mut self) {
        self.left = 0;
    }
}

/// The segments of a group.
pub(super) fn group(sizes: Sizes, smoothed: Duration, shortest: Duration) -> u64 {
    let Sizes {
        window,
        threshold,
        segment,
    } = sizes;
    let factor = match window < threshold / 2 {
        true => FAR_BELOW,
        false => NEAR,
    };
    let smoothed_us = u64::try_from(smoothed.as_micros()).unwrap_or(u64::MAX);
    let a_second = (window * segment * factor / 100).saturating_mul(1_000_000);
    let rate = a_second / smoothed_us.max(1);
    let halvings = shortest.as_micros() / HALVES_EVERY_US;
    let more = u32::try_from(halvings).ok();
    let more = more.and_then(|halvings| MOST_BYTES.checked_shr(halvings));
    let bytes = (rate / GROUPS_A_SECOND + more.unwrap_or(0)).min(MOST_BYTES);
    (bytes / segment.max(1)).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_group_is_about_a_millisecond() {
        let sizes = |window| Sizes {
            window,
            threshold: 10,
            segment: 1500,
        };
        // 100 segments in 30 ms: 5 MB/s, 1.2 times that in 1/1024 s is 5859 bytes.
        assert_eq!(group(sizes(100), MS(30), MS(30)), 3);
        assert_eq!(group(sizes(10), MS(30), MS(30)), 2, "two at least");
        assert_eq!(
            group(sizes(10_000), MS(30), MS(30)),
            43,
            "65536 bytes at most"
        );
        // 2 ms: 65536 / 2^3 bytes more.
        assert_eq!(group(sizes(10), MS(200), MS(2)), 5);
    }

    #[test]
    fn it_waits_for_a_whole_group_unless_it_was_silent() {
        let mut bursts = Bursts::default();
        assert!(bursts.lets_go(MS(0), 1, 4, 100), "the first");
        bursts.sent(MS(0));
        assert!(!bursts.lets_go(MS(1), 3, 4, 100));
        assert!(bursts.lets_go(MS(1), 4, 4, 100));
        for room in (1..=4).rev() {
            assert!(bursts.lets_go(MS(1), room, 4, 100), "the rest of the group");
            bursts.sent(MS(1));
        }
        assert!(!bursts.lets_go(MS(1), 3, 4, 100));
        assert!(bursts.lets_go(MS(3), 1, 4, 100), "2 ms of silence");
    }
}
