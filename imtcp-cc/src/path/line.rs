//! How long the tight link takes for a packet.

use crate::units::{Bandwidth, Bytes, Nanos};

/// A link that is faster by this factor has changed.
const FAR_FASTER: f64 = 1.25;

/// A link of some capacity. It remembers the packet that it was last asked about, because packets
/// that follow each other are nearly always of one size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    capacity: Option<Bandwidth>,
    /// The size of a packet, and its time at that capacity.
    size: Bytes,
    time: Option<Nanos>,
}

impl Line {
    /// The capacity is this from now on, if it is known.
    pub(super) fn set_capacity(&mut self, capacity: Option<Bandwidth>) {
        if self.capacity != capacity {
            self.capacity = capacity;
            self.time = self.time_for_any(self.size);
        }
    }

    /// How much longer a packet of this size took than it takes on a link of `capacity`, if that
    /// is faster.
    pub(super) fn saved_by(&self, capacity: Bandwidth, size: Bytes) -> Option<Nanos> {
        let before = self.capacity.filter(|before| capacity > *before)?;
        Some(
            before
                .nanos_for(size)
                .saturating_sub(capacity.nanos_for(size)),
        )
    }

    /// Whether a link of `capacity` is faster by so much that nobody has only learnt it better.
    pub(super) fn is_far_below(&self, capacity: Bandwidth) -> bool {
        // Nearly always the first comparison is enough.
        self.capacity
            .is_some_and(|before| capacity > before && capacity > before.scaled(FAR_FASTER))
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
