//! What one train says.

use crate::measurement::record::PacketRecord;
use crate::path::ack::EchoQuality;
use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// A packet waits if it is later than the fastest one by more than this share of the time that the
/// link takes for a packet. In a token bucket the first packets do not wait.
const WAITS: f64 = 0.25;

/// The place of a train in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrainShape {
    /// The index of its first packet.
    pub first: usize,
    /// The packets that leave back to back.
    pub burst: usize,
    /// All its packets.
    pub packets: usize,
}

/// A part of a train in which the link was busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// The bits that arrived in it.
    pub bits: f64,
    /// The time from the first to the last packet where they were sent, in seconds.
    pub sent_s: f64,
    /// The time from the first to the last reply, in seconds.
    pub received_s: f64,
}

impl Part {
    pub fn plus(self, other: Self) -> Self {
        Self {
            bits: self.bits + other.bits,
            sent_s: self.sent_s + other.sent_s,
            received_s: self.received_s + other.received_s,
        }
    }

    pub fn minus(self, other: Self) -> Self {
        Self {
            bits: self.bits - other.bits,
            sent_s: self.sent_s - other.sent_s,
            received_s: self.received_s - other.received_s,
        }
    }

    /// The part from one reply to the next. What arrived between them counts, also where its own
    /// time is not known.
    fn between(packets: &[PacketRecord], earlier: &Seen, later: &Seen) -> Self {
        let inside = packets.get(earlier.index + 1..=later.index);
        let arrived = inside
            .unwrap_or_default()
            .iter()
            .filter(|p| p.has_arrived());
        Self {
            bits: arrived.map(|packet| packet.size.as_bits_f64()).sum(),
            sent_s: later.sent_s - earlier.sent_s,
            received_s: later.received_s - earlier.received_s,
        }
    }
}

/// A train of which the link was busy for a part at least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// The part of the burst.
    pub burst: Part,
    /// The part of the tail.
    pub tail: Part,
    /// The packets that passed before the first that waited.
    pub free: usize,
    /// When the last reply came.
    pub at: Timestamp,
}

/// What can be read from a train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reading {
    /// A sample.
    Sample(Sample),
    /// No packet waited: the link was faster than the train.
    NoQueue,
    /// Too few replies.
    TooFew,
}

/// A reply, in times since the first packet of its train left.
#[derive(Clone, Copy, Debug)]
struct Seen {
    index: usize,
    sent_s: f64,
    received_s: f64,
}

impl Seen {
    fn delay_s(&self) -> f64 {
        self.received_s - self.sent_s
    }
}

/// The time of a packet's reply. A reply that was overtaken has its own time too: each packet is
/// answered by itself. To leave out the late ones would leave a choice of early ones.
fn own_time(packet: &PacketRecord) -> Option<Timestamp> {
    let own = |quality| matches!(quality, EchoQuality::Single | EchoQuality::Reordered);
    packet
        .echo
        .filter(|echo| own(echo.quality))
        .map(|echo| echo.at)
}

fn seen(packets: &[PacketRecord]) -> Vec<Seen> {
    let Some(origin) = packets.first().map(|p| p.sent) else {
        return Vec::new();
    };
    let since = |at: Timestamp| (at - origin).as_secs_f64();
    let timed = packets.iter().enumerate().filter_map(|(index, packet)| {
        Some(Seen {
            index,
            sent_s: since(packet.sent),
            received_s: since(own_time(packet)?),
        })
    });
    timed.collect()
}

/// Reads a train. `base` is the shortest round trip, and `gap_s` the time in seconds that the link
/// is taken to need for a packet.
///
/// A busy part begins with a packet that waited. It ends where the next packet left so late that
/// the link may have been idle before it came. Both are known when a packet arrives, and say
/// nothing of what comes later, so the choice does not favour any traffic.
pub(super) fn read(
    packets: &[PacketRecord],
    shape: &TrainShape,
    base: Duration,
    gap_s: f64,
) -> Reading {
    let seen = seen(packets);
    if seen.len() < 2 {
        return Reading::TooFew;
    }
    let waited = |p: &Seen| p.delay_s() - base.as_secs_f64();
    let Some(start) = seen.iter().position(|p| waited(p) > WAITS * gap_s) else {
        return Reading::NoQueue;
    };
    let (mut burst, mut tail) = (Part::default(), Part::default());
    let mut is_busy = false;
    for pair in seen[start..].windows(2) {
        let [earlier, later] = pair else { continue };
        is_busy |= waited(earlier) > WAITS * gap_s;
        is_busy &= later.sent_s - earlier.sent_s <= gap_s + waited(earlier);
        if !is_busy {
            continue;
        }
        let part = Part::between(packets, earlier, later);
        if later.index < shape.burst {
            burst = burst.plus(part);
        } else {
            tail = tail.plus(part);
        }
    }
    let last = packets.iter().filter_map(own_time).max();
    Reading::Sample(Sample {
        burst,
        tail,
        free: seen[start].index,
        at: last.unwrap_or_default(),
    })
}

/// A burst that found no queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Passed {
    /// The bytes that arrived behind its first packet.
    pub bytes: Bytes,
    /// The longest time in which they can have come.
    pub span: Duration,
    /// When the last reply came.
    pub at: Timestamp,
}

/// What of a burst has passed, and how fast at least. Its first packet cannot have been back before
/// the shortest round trip, `base`, was over. What arrived at an unknown time, as acknowledgements
/// of several packets tell, was there by the last reply. `None` if nothing came behind the first.
pub(super) fn passed(packets: &[PacketRecord], base: Duration) -> Option<Passed> {
    let last = *seen(packets).last()?;
    let arrived = packets.get(1..=last.index)?.iter();
    let arrived = arrived.filter(|packet| packet.has_arrived());
    let bytes = arrived.fold(Bytes::ZERO, |sum, packet| sum + packet.size);
    let at = own_time(packets.get(last.index)?)?;
    let since = at.saturating_since(packets.first()?.sent);
    (bytes > Bytes::ZERO).then(|| Passed {
        bytes,
        span: since.saturating_sub(base),
        at,
    })
}

/// The capacity that a first burst shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    /// Bits per second.
    pub capacity: f64,
    /// The packets that passed before the first that waited.
    pub free: usize,
}

/// Reads the first burst, before any capacity is known. `None` if the packets did not wait longer
/// and longer, by `least_rise` at least, or if too few are back.
pub(super) fn capacity(
    packets: &[PacketRecord],
    base: Duration,
    least_rise: Duration,
) -> Option<Found> {
    let seen = seen(packets);
    let last = *seen.last()?;
    let rise = last.delay_s() - base.as_secs_f64();
    if seen.len() < 2 || rise < least_rise.as_secs_f64() {
        return None;
    }
    let step = rise / (seen.len() - 1) as f64;
    let waits = |p: &Seen| p.delay_s() - base.as_secs_f64() > WAITS * step;
    let start = seen.iter().position(waits)?;
    let busy = Part::between(packets, &seen[start], &last);
    (busy.bits > 0.0 && busy.received_s > 0.0).then(|| Found {
        capacity: busy.bits / busy.received_s,
        free: seen[start].index,
    })
}
