//! Sums over gaps.

/// Sums over gaps of one kind. Each connection keeps hundreds of them, so they have single
/// precision: a slice's gaps add up to its length within a few nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GapSums {
    pub(super) gaps: u32,
    pub(super) own_bits: f32,
    pub(super) sent_s: f32,
    pub(super) arrived_s: f32,
}

impl GapSums {
    #[inline]
    pub(super) fn add(&mut self, own_bits: f32, sent_s: f32, arrived_s: f32) {
        self.gaps += 1;
        self.own_bits += own_bits;
        self.sent_s += sent_s;
        self.arrived_s += arrived_s;
    }

    pub(super) fn with(self, other: &Self) -> Self {
        Self {
            gaps: self.gaps + other.gaps,
            own_bits: self.own_bits + other.own_bits,
            sent_s: self.sent_s + other.sent_s,
            arrived_s: self.arrived_s + other.arrived_s,
        }
    }

    /// Bits of other traffic that the link carried in these gaps.
    pub(super) fn foreign_bits(&self, capacity: f64) -> f64 {
        capacity * f64::from(self.arrived_s) - f64::from(self.own_bits)
    }

    /// The time in which the packets left.
    pub(super) fn sent_s(&self) -> f64 {
        f64::from(self.sent_s)
    }
}

/// Gaps of which the sending gap is also the gap at the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spaced {
    pub(super) sums: GapSums,
    /// Sums of a^2/s, ab/s and b^2/s, with a the arrival gap, b the own bits and s the sending
    /// gap. They give the scatter of foreign bits for any capacity.
    pub(super) scatter: [f32; 3],
}

impl Spaced {
    #[inline]
    pub(super) fn add(&mut self, own_bits: f32, sent_s: f32, arrived_s: f32) {
        self.sums.add(own_bits, sent_s, arrived_s);
        self.scatter[0] += arrived_s * arrived_s / sent_s;
        self.scatter[1] += arrived_s * own_bits / sent_s;
        self.scatter[2] += own_bits * own_bits / sent_s;
    }

    pub(super) fn with(mut self, other: &Self) -> Self {
        self.sums = self.sums.with(&other.sums);
        for (sum, part) in self.scatter.iter_mut().zip(other.scatter) {
            *sum += part;
        }
        self
    }

    pub(super) fn rate(&self, capacity: f64) -> f64 {
        self.sums.foreign_bits(capacity) / self.sums.sent_s()
    }

    /// The squared scatter of single gaps about their common rate.
    pub(super) fn squares(&self, capacity: f64) -> f64 {
        let [aa, ab, bb] = self.scatter.map(f64::from);
        let squares = capacity * capacity * aa - 2.0 * capacity * ab + bb;
        let rate = self.rate(capacity);
        (squares - rate * rate * self.sums.sent_s()).max(0.0)
    }
}

/// Sums over stretches in which the link may have been idle. Others sent no more than the own data
/// left room for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct OpenSums {
    pub(super) own_bits: f32,
    pub(super) arrived_s: f32,
}

impl OpenSums {
    pub(super) fn with(self, other: &Self) -> Self {
        Self {
            own_bits: self.own_bits + other.own_bits,
            arrived_s: self.arrived_s + other.arrived_s,
        }
    }
}
