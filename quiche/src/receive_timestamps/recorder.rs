//! The times at which packets arrived, kept as long as they are worth telling.

use std::collections::VecDeque;
use std::mem;
use std::time::Instant;

use super::codec::Stamp;
use super::Parameters;
use crate::ranges::RangeSet;

/// More packets than this are not kept. It bounds memory where the peer's limit does not; a packet
/// of 1500 bytes has no room for more times, since each takes a byte at least.
const CAPACITY: usize = 1024;

struct Received {
    /// Microseconds since the origin; never 0.
    micros: u64,
    packet_number: u64,
    /// Whether it was there when an ACK frame was sent.
    acked: bool,
}

/// The receive times of the packets that came since the last ACK frame but one.
pub(super) struct Recorder {
    start: Instant,
    /// By ascending time.
    received: VecDeque<Received>,
    /// What the next frame may say; kept for its memory.
    stamps: Vec<Stamp>,
}

impl Recorder {
    /// A recorder for a connection that starts at `start`.
    pub(super) fn new(start: Instant) -> Self {
        Self {
            start,
            received: VecDeque::new(),
            stamps: Vec::new(),
        }
    }

    /// Notes that a packet arrived, and forgets the oldest where there are more than `asked` for.
    pub(super) fn record(&mut self, packet_number: u64, now: Instant, asked: &Parameters) {
        let capacity = usize::try_from(asked.max_per_ack()).map_or(CAPACITY, |n| n.min(CAPACITY));
        while self.received.len() >= capacity {
            if self.received.pop_front().is_none() {
                return;
            }
        }
        let micros = self.since_origin(now);
        // An application that sets the clock for each datagram may turn it back, and a frame cannot
        // say that: what is told is in the order of time. Among equal times the larger number comes
        // last, as it would have without reordering, which makes fewer ranges.
        let earlier =
            |entry: &Received| (entry.micros, entry.packet_number) < (micros, packet_number);
        let place = self.received.iter().rposition(earlier);
        self.received.insert(
            place.map_or(0, |index| index + 1),
            Received {
                micros,
                packet_number,
                acked: false,
            },
        );
    }

    /// The origin lies a microsecond before the start: it has to be less than every time that is
    /// reported (draft-ietf-quic-receive-ts-02, section 6.1), and a packet may come at once.
    fn since_origin(&self, now: Instant) -> u64 {
        let micros = now.saturating_duration_since(self.start).as_micros();
        // A variable-length integer can hold 146,000 years.
        u64::try_from(micros).map_or(octets::MAX_VAR_INT, |micros| {
            micros.saturating_add(1).min(octets::MAX_VAR_INT)
        })
    }

    /// What an ACK frame for `ranges` may say: the latest first, only of packets that it
    /// acknowledges, and no more than the peer `asked` for.
    pub(super) fn stamps(&mut self, ranges: &RangeSet, asked: &Parameters) -> &[Stamp] {
        self.stamps.clear();
        let acked = self
            .received
            .iter()
            .rev()
            .filter(|entry| ranges.contains(entry.packet_number));
        // The time is rounded, not the difference: that way errors do not add up, and no
        // difference becomes negative.
        self.stamps.extend(acked.map(|entry| Stamp {
            packet_number: entry.packet_number,
            ticks: entry.micros >> asked.exponent(),
        }));
        // More than that are kept only if the peer's parameters have changed since.
        let max = usize::try_from(asked.max_per_ack()).unwrap_or(usize::MAX);
        self.stamps.truncate(max);
        &self.stamps
    }

    /// An ACK frame is sent. Forgets the times that the frame before it could report already.
    pub(super) fn on_ack_sent(&mut self) {
        self.received
            .retain_mut(|entry| !mem::replace(&mut entry.acked, true));
    }
}
