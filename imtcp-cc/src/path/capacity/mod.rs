//! The rate that the tight link could carry if it were ours alone.
//!
//! The value has two sources. If echoes come at the data's own time, it comes from dispersions of
//! packets ([`DispersionCapacity`]). Otherwise, or if there are no dispersions, it is the most
//! that was delivered ([`SustainedRate`]), which is a lower bound of the capacity.

mod dispersion;
mod rce;
mod sustained;

use dispersion::{DispersionCapacity, NewCapacity};
pub use rce::ResidualCapacity;
use sustained::SustainedRate;

use crate::path::ack::EchoGap;
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};

/// If delivery exceeds a capacity from dispersions by more than this factor, that capacity is
/// wrong.
const EXCEEDED: f64 = 1.25;

/// How many contradictions in a row show that echoes have a time of their own. One capacity may be
/// wrong by chance: a first pile is two gaps, and two echoes that waited behind another flow's
/// handshake on the way back can make it.
const MOST_CONTRADICTIONS: u32 = 2;

/// What a gap changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapacityNews {
    /// The capacity, if it changed.
    pub changed: Option<Bandwidth>,
    /// Since when the link has had it, on the sender's clock of departures. `None` if the link has
    /// not changed, and its capacity is only known better.
    pub since: Option<Timestamp>,
    /// Whether no capacity fits the dispersions, because others would have to send more than the
    /// link carries.
    pub contradiction: bool,
}

/// The capacity of the tight link, in IP-layer bits per second (C).
#[derive(Debug, Default)]
pub struct Capacity {
    dispersion: DispersionCapacity,
    sustained: SustainedRate,
    current: Option<Bandwidth>,
    coarse: bool,
    /// Whether no dispersions show the present value.
    bound: bool,
    /// How many capacities in a row were contradicted.
    contradictions: u32,
}

impl Capacity {
    /// A capacity of which nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything, but keeps the allocated memory.
    pub fn forget(&mut self) {
        self.dispersion.forget();
        self.sustained = SustainedRate::default();
        self.current = None;
        self.contradictions = 0;
    }

    /// The capacity, once known.
    pub fn get(&self) -> Option<Bandwidth> {
        self.current
    }

    /// Whether no dispersions show the value. It is the most that was delivered then, or, until so
    /// much was delivered again, what dispersions showed before.
    pub fn is_bound(&self) -> bool {
        self.current.is_some() && self.bound
    }

    /// The share by which the value may be wrong, if it is more than little.
    pub fn doubt(&self) -> f64 {
        self.dispersion.doubt()
    }

    /// `packets` packets with `bytes` on the wire were delivered. The newest left at `sent`, and
    /// its acknowledgement came at `came`.
    #[inline]
    pub fn on_delivered(
        &mut self,
        (sent, came): (Timestamp, Timestamp),
        bytes: Bytes,
        packets: u32,
        jitter: Nanos,
    ) -> Option<Bandwidth> {
        let before = self.sustained.get();
        self.sustained
            .on_delivered(sent, came, bytes, packets, jitter);
        // Most deliveries change nothing.
        (self.sustained.get() != before)
            .then(|| self.update())
            .flatten()
    }

    /// Takes a gap between echoes. `coarse` says whether echoes are read coarsely.
    #[inline]
    pub fn on_gap(&mut self, gap: &EchoGap, coarse: bool) -> CapacityNews {
        let before = (self.coarse, self.dispersion.get());
        self.coarse = coarse;
        let mut since = None;
        if coarse {
            self.dispersion.forget();
        } else if let Some(new) = self.dispersion.on_gap(gap) {
            since = self.on_change(&new);
        }
        match self.dispersion.is_contradicted().filter(|_| !coarse) {
            Some(true)
                if self.dispersion.read_blocks()
                    || self.dispersion.read_most()
                    || self.dispersion.read_longer() => {}
            Some(true) => {
                self.dispersion.forget();
                self.contradictions += 1;
            }
            Some(false) => self.contradictions = 0,
            None => {}
        }
        let contradiction = self.contradictions >= MOST_CONTRADICTIONS;
        if contradiction {
            self.contradictions = 0;
        }
        // Most gaps change nothing.
        let is_news = since.is_some() || before != (coarse, self.dispersion.get());
        CapacityNews {
            changed: is_news.then(|| self.update()).flatten(),
            since,
            contradiction,
        }
    }

    /// If the link has become slower, what it delivered before says nothing of it.
    fn on_change(&mut self, new: &NewCapacity) -> Option<Timestamp> {
        let is_slower = self.current.is_some_and(|before| before > new.capacity);
        if new.since.is_some() && is_slower {
            self.sustained = SustainedRate::default();
        }
        new.since
    }

    /// Whether more was delivered than the dispersions say that the link carries.
    #[inline]
    fn is_exceeded(&self) -> bool {
        let told = self.dispersion.supposed().zip(self.sustained.get());
        // Nearly always the first comparison is enough.
        told.is_some_and(|(found, delivered)| {
            delivered > found && delivered > found.scaled(EXCEEDED)
        })
    }

    #[inline]
    fn update(&mut self) -> Option<Bandwidth> {
        if self.is_exceeded() {
            // Packets that left at the pace of a value that is too low would be taken for evidence
            // of the next value.
            self.dispersion.forget();
        }
        let found = self.dispersion.get().filter(|_| !self.coarse);
        self.bound = found.is_none();
        let current = found.or(self.sustained.get());
        let changed = current != self.current;
        self.current = current.or(self.current);
        self.current.filter(|_| changed)
    }
}

#[cfg(test)]
mod tests;
