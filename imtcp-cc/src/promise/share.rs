//! One promise among those of its process on the same path.
//!
//! The ledger is behind a lock. The packet path tries it once in a control slot, and once in half a
//! round trip while nothing was known of the path yet. It does not wait for the lock there: if
//! another connection has it, what was allowed last holds until the next try. Only who gives a
//! share back waits, for as long as another connection's few lines take.

use super::ledger::{Allowance, Grant, Ledger, PathLimits, Renewal};
use super::requirement::Requirement;
use crate::units::Bandwidth;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The bounds that the promises of a process share, by path: what they take from others
/// ([`crate::Config::promise_ceiling`]) and how they answer losses
/// ([`crate::Config::promise_weight`]). Clones are the same bounds. The adapter's factory has one;
/// a transport of one's own tells each controller of it ([`crate::ImTcp::bounded_by`]).
#[derive(Clone, Debug, Default)]
pub struct Bounds(Arc<Mutex<Ledger<IpAddr>>>);

impl Bounds {
    /// `None` while another connection has it.
    fn try_ledger(&self) -> Option<MutexGuard<'_, Ledger<IpAddr>>> {
        match self.0.try_lock() {
            Ok(ledger) => Some(ledger),
            // A ledger is plain data. At worst a share was not written down.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger<IpAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a promise reports, and what it asks for if it has no share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) requirement: Requirement,
    /// `None` while nothing is known of the path.
    pub(super) limits: Option<PathLimits>,
    pub(super) renewal: Renewal,
}

/// Where a promise stands among those on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing is decided: nothing is known of the path, or nothing was asked.
    Open,
    /// It may compete.
    Held(Grant),
    /// It does not fit beside the others.
    Refused,
}

/// The share of one promise. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Share {
    /// `None` for a controller whose transport does not tell of others. It may always compete.
    path: Option<(Bounds, IpAddr)>,
    /// The bound on N for a promise that is alone.
    most: f64,
    place: Place,
    allowance: Allowance,
}

impl Share {
    /// The share of a promise that knows of no other. `most` is the bound on its N.
    pub(super) fn of_everything(most: f64) -> Self {
        Self {
            path: None,
            most,
            place: Place::Open,
            allowance: alone(most),
        }
    }

    /// From now on the promise is one of those that `bounds` has on the path to `host`.
    pub(super) fn bounded_by(&mut self, bounds: &Bounds, host: IpAddr) {
        self.give_back();
        self.path = Some((bounds.clone(), host));
    }

    pub(super) fn is_shared(&self) -> bool {
        self.path.is_some()
    }

    /// Whether the promise may compete.
    pub(super) fn holds(&self) -> bool {
        self.path.is_none() || matches!(self.place, Place::Held(_))
    }

    /// Whether it may not, because others came before.
    pub(super) fn is_refused(&self) -> bool {
        self.place == Place::Refused
    }

    /// Whether to ask again as soon as something is known of the path.
    pub(super) fn is_open(&self) -> bool {
        self.path.is_some() && self.place == Place::Open
    }

    /// The promises that came before this one, in goodput. For one that was refused these are all,
    /// and for one that has not asked there are none.
    pub(super) fn before(&self) -> Bandwidth {
        self.allowance.before
    }

    /// The bound on N.
    pub(super) fn weight(&self) -> f64 {
        self.allowance.weight
    }

    /// The bound on N at which more is of no use to ask for.
    pub(super) fn bound(&self) -> f64 {
        self.allowance.bound
    }

    /// Renews the share, or asks for one.
    pub(super) fn settle(&mut self, claim: &Claim) {
        let Some((bounds, host)) = &self.path else {
            return;
        };
        let Some(mut ledger) = bounds.try_ledger() else {
            return;
        };
        let grant = match self.place {
            Place::Held(grant) => Some(grant),
            _ => ledger.join(host, &claim.requirement, claim.limits.as_ref()),
        };
        if let Some(grant) = grant {
            self.place = Place::Held(grant);
            self.allowance = ledger.renew(host, grant, &claim.renewal);
        } else {
            self.place = match claim.limits {
                Some(_) => Place::Refused,
                None => Place::Open,
            };
            self.allowance = Allowance {
                before: ledger.granted(host),
                ..alone(claim.renewal.most)
            };
        }
    }

    /// Gives the share back. It can be asked for again. Until then others bound nothing: what they
    /// left when it was asked for last may be long ago.
    pub(super) fn give_back(&mut self) {
        if let (Some((bounds, host)), Place::Held(grant)) = (&self.path, self.place) {
            bounds.ledger().release(host, grant);
        }
        self.place = Place::Open;
        self.allowance = alone(self.most);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

fn alone(most: f64) -> Allowance {
    Allowance {
        before: Bandwidth::ZERO,
        weight: most,
        bound: most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    const NETWORK: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 0));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 0));

    fn share(bounds: &Bounds, host: IpAddr) -> Share {
        let mut share = Share::of_everything(4.0);
        share.bounded_by(bounds, host);
        share
    }

    /// 12 of 30 Mbit/s, none of which are free.
    fn claim() -> Claim {
        let rate = Bandwidth::from_mbps(12);
        Claim {
            requirement: Requirement::new(rate, Duration::from_secs(2)).expect("possible"),
            limits: Some(PathLimits {
                available: Bandwidth::ZERO,
                own: Bandwidth::ZERO,
                capacity: Some(Bandwidth::from_mbps(30)),
                ceiling: 0.5,
            }),
            renewal: Renewal {
                rate,
                carried: rate,
                weight: 4.0,
                most: 4.0,
            },
        }
    }

    #[test]
    fn a_share_is_given_back_by_whoever_rests_leaves_or_is_dropped() {
        let bounds = Bounds::default();
        let [mut one, mut two] = [share(&bounds, NETWORK), share(&bounds, NETWORK)];
        let mut elsewhere = share(&bounds, OTHER);
        one.settle(&claim());
        two.settle(&claim());
        elsewhere.settle(&claim());
        assert!(one.holds() && two.is_refused() && elsewhere.holds());
        assert_eq!(two.before(), Bandwidth::from_mbps(12));
        one.give_back();
        two.give_back();
        assert_eq!(two.before(), Bandwidth::ZERO, "it asks for nothing");
        assert_eq!((two.weight(), two.bound()), (4.0, 4.0));
        two.settle(&claim());
        one.settle(&claim());
        assert!(two.holds() && one.is_refused());
        drop(two);
        one.settle(&claim());
        assert!(one.holds() && !one.is_open());
        one.bounded_by(&bounds, OTHER);
        assert_eq!(bounds.ledger().granted(&NETWORK), Bandwidth::ZERO);
        one.settle(&claim());
        assert!(one.is_refused());
    }

    #[test]
    fn nothing_is_refused_while_nothing_is_known_and_nobody_waits_for_the_lock() {
        let bounds = Bounds::default();
        let [mut one, mut two] = [share(&bounds, NETWORK), share(&bounds, NETWORK)];
        one.settle(&claim());
        let unknown = Claim {
            limits: None,
            ..claim()
        };
        two.settle(&unknown);
        assert!(two.is_open() && !two.holds());
        let busy = bounds.ledger();
        two.settle(&claim());
        one.settle(&claim());
        drop(busy);
        assert!(two.is_open() && one.holds(), "as it was");
        two.settle(&claim());
        assert!(two.is_refused());
    }

    #[test]
    fn who_knows_of_no_other_may_always_compete() {
        let mut share = Share::of_everything(4.0);
        share.settle(&claim());
        assert!(share.holds() && !share.is_open() && !share.is_refused());
        assert_eq!((share.weight(), share.bound()), (4.0, 4.0));
    }

    #[test]
    fn connections_on_many_threads_never_hold_more_than_the_ceiling() {
        let bounds = Bounds::default();
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..500 {
                        let mut share = share(&bounds, NETWORK);
                        share.settle(&claim());
                        let granted = bounds.ledger().granted(&NETWORK);
                        assert!(granted <= Bandwidth::from_mbps(12), "{granted}");
                    }
                });
            }
        });
        assert_eq!(bounds.ledger().granted(&NETWORK), Bandwidth::ZERO);
    }
}
