//! Decides which promises may run side by side on a host.
//!
//! Each connection sees its own path. Whoever keeps the ledger names the path, for example by
//! destination prefix, and the ledger admits a promise only if all promises on that path fit
//! together. [`super::Bounds`] is the ledger that connections of one process keep by themselves. An
//! application that knows better which of them share a tight link may keep one of its own. A ledger
//! is plain data: an application with several threads keeps it behind a lock.
//!
//! A grant belongs to a path, and a promise to a connection. When a connection has moved
//! ([`super::Promise::moves`]), its grant is given back, and another is asked for on the new path.

mod sharing;

pub(super) use sharing::{Allowance, Renewal};

use super::requirement::Requirement;
use crate::units::Bandwidth;
use std::collections::BTreeMap;
use std::fmt;

/// The largest number of promises on one path. More are refused, whatever they ask for.
const MOST_GRANTS: usize = 10_000;

/// The rates of a path as a connection on it knows them, in goodput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLimits {
    /// The bandwidth that is available to this connection, its own traffic included
    /// ([`super::Outlook::available`]).
    pub available: Bandwidth,
    /// The part of the promises already granted on the path that this connection itself carries
    /// now.
    pub own: Bandwidth,
    /// The capacity of the path, if known.
    pub capacity: Option<Bandwidth>,
    /// The largest share of the capacity that all promises of the path together may take from
    /// others; 0 to 1.
    pub ceiling: f64,
}

/// An admitted promise. [`Ledger::release`] gives its share back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grant(u64);

/// Says why a promise was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The rate that was asked for.
    pub asked: Bandwidth,
    /// The rate that would be admitted now.
    pub possible: Bandwidth,
    /// The sum of the other promises on the path.
    pub granted: Bandwidth,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cannot be promised beside {} that are promised on this path already; {} can",
            self.asked, self.granted, self.possible
        )
    }
}

impl std::error::Error for Refused {}

/// What a granted promise has, and what it does with it. Grants are in the order in which they were
/// given.
#[derive(Clone, Copy, Debug)]
struct Holding {
    rate: Bandwidth,
    /// The goodput of the connection now. What it has beyond the rate gives way.
    carried: Bandwidth,
    /// N - 1 that it needs, and the part of it that is reserved for it.
    wanted: f64,
    reserved: f64,
}

/// Promises by path. `K` names a path: connections with the same key share its tight link.
#[derive(Clone, Debug)]
pub struct Ledger<K> {
    paths: BTreeMap<K, BTreeMap<Grant, Holding>>,
    next: u64,
}

impl<K: Ord> Default for Ledger<K> {
    fn default() -> Self {
        Self {
            paths: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<K: Ord + Clone> Ledger<K> {
    /// Admits `requirement` on `path` if it fits beside what is granted there.
    ///
    /// All promises together may have what is available, or the ceiling's share of the capacity if
    /// that is more, but never more than the capacity. What is available to all is what this
    /// connection measured plus what the other granted promises carry, because they are cross
    /// traffic to it.
    ///
    /// # Errors
    /// The requirement does not fit. The error says what would be admitted.
    pub fn admit(
        &mut self,
        path: &K,
        requirement: &Requirement,
        limits: &PathLimits,
    ) -> Result<Grant, Refused> {
        let granted = self.granted(path);
        let room = room(limits, self.carried(path));
        let possible = if self.is_full(path) {
            Bandwidth::ZERO
        } else {
            room.saturating_sub(granted)
        };
        let asked = requirement.rate();
        if asked > possible {
            return Err(Refused {
                asked,
                possible,
                granted,
            });
        }
        // Whoever does not report is taken to carry what it was granted.
        Ok(self.enter(path, asked, asked))
    }

    fn enter(&mut self, path: &K, rate: Bandwidth, carried: Bandwidth) -> Grant {
        let grant = Grant(self.next);
        self.next += 1;
        let holding = Holding {
            rate,
            carried,
            wanted: 0.0,
            reserved: 0.0,
        };
        let grants = self.paths.entry(path.clone()).or_default();
        grants.insert(grant, holding);
        grant
    }

    fn holding(&mut self, path: &K, grant: Grant) -> Option<&mut Holding> {
        self.paths.get_mut(path)?.get_mut(&grant)
    }

    fn is_full(&self, path: &K) -> bool {
        let grants = self.paths.get(path);
        grants.is_some_and(|grants| grants.len() >= MOST_GRANTS)
    }

    /// Gives a share back. A share that is no longer there changes nothing.
    pub fn release(&mut self, path: &K, grant: Grant) {
        if let Some(grants) = self.paths.get_mut(path) {
            grants.remove(&grant);
            if grants.is_empty() {
                self.paths.remove(path);
            }
        }
    }

    /// The sum of what is granted on a path.
    pub fn granted(&self, path: &K) -> Bandwidth {
        self.sum(path, |holding| holding.rate)
    }

    /// What the connections of these promises carry now.
    fn carried(&self, path: &K) -> Bandwidth {
        self.sum(path, |holding| holding.carried)
    }

    fn sum(&self, path: &K, part: impl Fn(&Holding) -> Bandwidth) -> Bandwidth {
        let grants = self.paths.get(path).into_iter().flat_map(BTreeMap::values);
        grants.fold(Bandwidth::ZERO, |sum, holding| {
            sum.saturating_add(part(holding))
        })
    }
}

/// The rate that all promises on a path may have together. `carried` is what they carry now.
fn room(limits: &PathLimits, carried: Bandwidth) -> Bandwidth {
    let others = carried.saturating_sub(limits.own);
    let available = limits.available.saturating_add(others);
    let ceiling = limits
        .capacity
        .map_or(Bandwidth::ZERO, |c| c.scaled(limits.ceiling));
    available
        .max(ceiling)
        .min(limits.capacity.unwrap_or(Bandwidth::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn require(mbps: u64) -> Requirement {
        Requirement::new(Bandwidth::from_mbps(mbps), Duration::from_secs(2)).expect("possible")
    }

    fn limits(available: u64, own: u64) -> PathLimits {
        PathLimits {
            available: Bandwidth::from_mbps(available),
            own: Bandwidth::from_mbps(own),
            capacity: Some(Bandwidth::from_mbps(100)),
            ceiling: 0.5,
        }
    }

    #[test]
    fn what_fits_is_admitted_and_the_rest_is_told_what_would_fit() {
        let mut ledger = Ledger::default();
        // 20 available, but half of 100 may be reached: 30 and 15 fit, 10 more does not.
        let first = ledger
            .admit(&"10.0.0.0/8", &require(30), &limits(20, 0))
            .expect("fits");
        ledger
            .admit(&"10.0.0.0/8", &require(15), &limits(5, 0))
            .expect("fits");
        let refused = ledger
            .admit(&"10.0.0.0/8", &require(10), &limits(5, 0))
            .expect_err("55 of 50");
        assert_eq!(refused.possible, Bandwidth::from_mbps(5));
        assert_eq!(
            refused.to_string(),
            "10.00 Mbit/s cannot be promised beside 45.00 Mbit/s that are promised on this path \
             already; 5.00 Mbit/s can"
        );
        // Another path has its own room, and what is given back can be granted again.
        assert!(
            ledger
                .admit(&"192.0.2.0/24", &require(10), &limits(20, 0))
                .is_ok()
        );
        ledger.release(&"10.0.0.0/8", first);
        ledger.release(&"10.0.0.0/8", first);
        assert!(
            ledger
                .admit(&"10.0.0.0/8", &require(10), &limits(5, 0))
                .is_ok()
        );
    }

    #[test]
    fn the_granted_of_others_is_available_to_all_together() {
        let mut ledger = Ledger::default();
        ledger
            .admit(&1, &require(60), &limits(90, 0))
            .expect("fits");
        // A second connection sees 90 - 60 = 30: all together may have 90.
        assert!(
            ledger
                .clone()
                .admit(&1, &require(30), &limits(30, 0))
                .is_ok()
        );
        assert!(
            ledger
                .clone()
                .admit(&1, &require(31), &limits(30, 0))
                .is_err()
        );
        // The same connection again: it carries the 60 itself, and sees the 90.
        assert!(
            ledger
                .clone()
                .admit(&1, &require(30), &limits(90, 60))
                .is_ok()
        );
        assert!(
            ledger
                .clone()
                .admit(&1, &require(31), &limits(90, 60))
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn no_path_is_promised_more_than_its_capacity(
            asked in proptest::collection::vec((0u8..3, 1u64..80, 0u64..200, 0u64..100), 1..50),
        ) {
            let mut ledger = Ledger::default();
            for (path, mbps, available, own) in asked {
                let _ = ledger.admit(&path, &require(mbps), &limits(available, own));
                prop_assert!(ledger.granted(&path) <= Bandwidth::from_mbps(100));
            }
        }
    }
}
