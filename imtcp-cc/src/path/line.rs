//! How long the tight link takes for a packet.

use crate::units::{Bandwidth, Bytes, Nanos};

/// A link that is faster by this factor than it was once thought to be is another one for the times
/// that were stated then. Values of one capacity differ by less.
const FASTER: f64 = 1.05;

/// A link of some capacity. It remembers the packet that it was last asked about, because packets
/// that follow each other are nearly always of one size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    capacity: Option<Bandwidth>,
    /// The least capacity for which a time was stated that has not been mended since.
    stated: Option<Bandwidth>,
    /// The size of a packet, and its time at that capacity.
    size: Bytes,
    time: Option<Nanos>,
}

impl Line {
    /// The capacity is this from now on, if it is known.
    pub(super) fn set_capacity(&mut self, capacity: Option<Bandwidth>) {
        if self.capacity != capacity {
            self.capacity = capacity;
            self.stated = match (self.stated, capacity) {
                (Some(stated), Some(capacity)) => Some(stated.min(capacity)),
                (stated, capacity) => stated.or(capacity),
            };
            self.time = self.time_for_any(self.size);
        }
    }

    /// How much longer a packet of this size took than it takes now, by times that were stated and
    /// have not been mended since. They have to be mended now.
    pub(super) fn mend(&mut self, size: Bytes) -> Option<Nanos> {
        let capacity = self.capacity?;
        let stated = self.stated.replace(capacity)?;
        let took = stated.nanos_for(size);
        (stated < capacity).then(|| took.saturating_sub(capacity.nanos_for(size)))
    }

    /// Whether times were stated for a link that is so much slower that they have to be mended.
    pub(super) fn is_far_faster(&self) -> bool {
        // Nearly always the first comparison is enough.
        let both = self.stated.zip(self.capacity);
        both.is_some_and(|(stated, now)| now > stated && now > stated.scaled(FASTER))
    }

    /// The time that the link needs for a packet of this size; `None` while its capacity is not
    /// known.
    pub(super) fn time_for(&mut self, size: Bytes) -> Option<Nanos> {
        if self.size != size {
            self.size = size;
            self.time = self.time_for_any(size);
        }
        self.time
    }

    /// The same for what is not likely to be asked about again.
    pub(super) fn time_for_any(&self, size: Bytes) -> Option<Nanos> {
        self.capacity.map(|capacity| capacity.nanos_for(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_steps_add_up_until_times_have_to_be_mended() {
        // A packet of 1250 bytes takes 1 ms at 10 Mbit/s.
        let packet = Bytes::new(1250);
        let at = |mbps: f64| Some(Bandwidth::from_bps_f64(mbps * 1e6));
        let mut line = Line::default();
        line.set_capacity(at(10.0));
        line.set_capacity(at(10.4));
        assert!(!line.is_far_faster(), "known better");
        line.set_capacity(at(12.5));
        assert!(line.is_far_faster());
        assert_eq!(line.mend(packet), Some(Nanos::new(200_000)));
        assert!(!line.is_far_faster(), "once");
        // A rise by 4 % four times is one by 17 %.
        for mbps in [13.0, 13.5, 14.0, 14.6] {
            line.set_capacity(at(mbps));
        }
        assert!(line.is_far_faster());
        // What was stated for the slowest link counts, however often the value went up and down.
        line.set_capacity(at(5.0));
        line.set_capacity(at(14.6));
        let saved = Nanos::new(2_000_000 - 684_931);
        assert!(
            line.mend(packet)
                .is_some_and(|mended| { mended.get().abs_diff(saved.get()) <= 1 })
        );
    }
}
