//! What connections of one process report to a ledger, and what each of them may take.

use super::{Grant, Ledger, PathLimits};
use crate::promise::requirement::Requirement;
use crate::units::Bandwidth;

/// What a promise reports when it renews its share.
#[derive(Clone, Copy, Debug)]
pub(in crate::promise) struct Renewal {
    pub(in crate::promise) rate: Bandwidth,
    /// The goodput that it has now.
    pub(in crate::promise) carried: Bandwidth,
    /// N that it needs, if it were alone.
    pub(in crate::promise) weight: f64,
    /// The bound on N for a promise that is alone ([`crate::Config::promise_weight`]).
    pub(in crate::promise) most: f64,
}

/// What a promise may take beside the others on its path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::promise) struct Allowance {
    /// The sum of the promises that came before it. They have the first call on the ceiling.
    pub(in crate::promise) before: Bandwidth,
    /// The bound on N until it renews its share.
    pub(in crate::promise) weight: f64,
    /// The bound on N that others leave to it as long as they need what they need now.
    pub(in crate::promise) bound: f64,
}

impl<K: Ord + Clone> Ledger<K> {
    /// Admits a promise of a connection that will report what it carries ([`Ledger::renew`]). The
    /// first on a path is always admitted: its own law bounds it. Another one is not admitted while
    /// nothing is known of the path. It is if the connection has the rate available beside what the
    /// others hold. This is the rule of [`Ledger::admit`] but for the capacity, so that connections
    /// whose tight links differ do not exclude each other. If not, [`Ledger::admit`] decides.
    pub(in crate::promise) fn join(
        &mut self,
        path: &K,
        requirement: &Requirement,
        limits: Option<&PathLimits>,
    ) -> Option<Grant> {
        let asked = requirement.rate();
        let granted = self.granted(path);
        if granted.is_zero() {
            return Some(self.enter(path, asked, Bandwidth::ZERO));
        }
        let limits = limits?;
        let available = limits.available.saturating_add(self.carried(path));
        if asked <= available.saturating_sub(granted) && !self.is_full(path) {
            return Some(self.enter(path, asked, Bandwidth::ZERO));
        }
        let grant = self.admit(path, requirement, limits).ok()?;
        self.holding(path, grant)?.carried = Bandwidth::ZERO;
        Some(grant)
    }

    /// Renews the share of a promise, and says what it may take until the next time. What N exceeds
    /// one is shared: the promises of a path together have no more of it than one promise alone.
    /// Earlier ones come first, and what nobody needs is left to all.
    pub(in crate::promise) fn renew(
        &mut self,
        path: &K,
        grant: Grant,
        renewal: &Renewal,
    ) -> Allowance {
        let budget = (renewal.most - 1.0).max(0.0);
        let wanted = (renewal.weight - 1.0).clamp(0.0, budget);
        if let Some(holding) = self.holding(path, grant) {
            holding.rate = renewal.rate;
            holding.carried = renewal.carried;
            holding.wanted = wanted;
        }
        let (mut before, mut entitled, mut free) = (Bandwidth::ZERO, budget, budget);
        let (mut spare, mut others) = (budget - wanted, 0.0);
        for (other, holding) in self.paths.get(path).into_iter().flatten() {
            if *other == grant {
                continue;
            }
            if *other < grant {
                before = before.saturating_add(holding.rate);
                entitled -= holding.wanted;
            }
            free -= holding.reserved;
            spare -= holding.wanted;
            others += 1.0;
        }
        let entitled = entitled.max(0.0);
        // Others give back what they no longer have a right to when they renew their shares.
        let reserved = if others > 0.0 {
            let fair = wanted.min(entitled) + spare.max(0.0) / (1.0 + others);
            fair.min(free).max(0.0)
        } else {
            budget
        };
        if let Some(holding) = self.holding(path, grant) {
            holding.reserved = reserved;
        }
        Allowance {
            before,
            weight: 1.0 + reserved,
            bound: 1.0 + entitled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const PATH: &str = "192.0.2.0/24";

    fn require(mbps: u64) -> Requirement {
        Requirement::new(Bandwidth::from_mbps(mbps), Duration::from_secs(2)).expect("possible")
    }

    /// Of a path of 30 Mbit/s.
    fn limits(available: u64) -> PathLimits {
        PathLimits {
            available: Bandwidth::from_mbps(available),
            own: Bandwidth::ZERO,
            capacity: Some(Bandwidth::from_mbps(30)),
            ceiling: 0.5,
        }
    }

    fn renewal(mbps: u64, carried: u64, weight: f64) -> Renewal {
        Renewal {
            rate: Bandwidth::from_mbps(mbps),
            carried: Bandwidth::from_mbps(carried),
            weight,
            most: 4.0,
        }
    }

    #[test]
    fn the_first_is_served_and_who_does_not_fit_is_not() {
        let mut ledger = Ledger::default();
        // 20 are more than the ceiling's 15: alone that is the promise's own matter.
        let first = ledger.join(&PATH, &require(20), None).expect("alone");
        assert_eq!(ledger.join(&PATH, &require(1), None), None, "nothing known");
        ledger.release(&PATH, first);
        let first = ledger.join(&PATH, &require(12), None).expect("alone");
        // Of the ceiling 3 are left, and 4 are available to this connection.
        ledger.renew(&PATH, first, &renewal(12, 12, 1.0));
        let joins = |ledger: &Ledger<&str>, mbps, available| {
            let limits = limits(available);
            ledger.clone().join(&PATH, &require(mbps), Some(&limits))
        };
        assert!(joins(&ledger, 3, 0).is_some() && joins(&ledger, 4, 0).is_none());
        assert!(joins(&ledger, 4, 4).is_some() && joins(&ledger, 5, 4).is_none());
        // The first carries 5 of its 12. The other 7 will be missing in what is available.
        ledger.renew(&PATH, first, &renewal(12, 5, 1.0));
        assert!(joins(&ledger, 13, 20).is_some() && joins(&ledger, 14, 20).is_none());
        // It carries 17. Beyond its 12 it gives way.
        ledger.renew(&PATH, first, &renewal(12, 17, 1.0));
        assert!(joins(&ledger, 9, 4).is_some() && joins(&ledger, 10, 4).is_none());
        // 30 are available beside 12 that are carried: this is another tight link.
        ledger.renew(&PATH, first, &renewal(12, 12, 1.0));
        assert!(joins(&ledger, 30, 30).is_some());
    }

    #[test]
    fn the_weight_is_shared_in_the_order_of_coming() {
        let mut ledger = Ledger::default();
        let mut join = || ledger.join(&PATH, &require(2), Some(&limits(30)));
        let [one, two, three] = [join(), join(), join()].map(|grant| grant.expect("fits"));
        let mut renew = |grant, weight| {
            let allowance = ledger.renew(&PATH, grant, &renewal(2, 2, weight));
            (allowance.weight, allowance.bound)
        };
        // N - 1 is 3 for all. The first needs 2, the second 1.5: it has 1, and the third nothing.
        assert_eq!(renew(one, 3.0), (3.0 + 1.0 / 3.0, 4.0));
        assert_eq!(renew(two, 2.5).1, 2.0);
        assert_eq!(renew(one, 3.0), (3.0, 4.0), "nothing is to spare");
        assert_eq!(renew(two, 2.5), (2.0, 2.0));
        assert_eq!(renew(three, 2.0), (1.0, 1.0));
        // The first needs more. What the second has is free when it renews its share.
        assert_eq!(renew(one, 9.0), (3.0, 4.0));
        assert_eq!(renew(two, 2.5), (1.0, 1.0));
        assert_eq!(renew(one, 9.0), (4.0, 4.0));
    }

    #[test]
    fn alone_a_promise_has_all_and_knows_of_no_other() {
        let mut ledger = Ledger::default();
        let grant = ledger.join(&PATH, &require(12), None).expect("alone");
        for weight in [1.0, 1.1, 2.7, 4.0, 90.0] {
            let alone = Allowance {
                before: Bandwidth::ZERO,
                weight: 4.0,
                bound: 4.0,
            };
            assert_eq!(ledger.renew(&PATH, grant, &renewal(12, 3, weight)), alone);
        }
    }

    proptest! {
        #[test]
        fn promises_of_a_path_stand_for_no_more_flows_than_one_does(
            steps in proptest::collection::vec((0usize..5, 1.0..9.0f64, any::<bool>()), 1..80),
        ) {
            let mut ledger = Ledger::default();
            let mut held: [Option<(Grant, f64)>; 5] = [None; 5];
            for (who, weight, leaves) in steps {
                if leaves {
                    if let Some((grant, _)) = held[who].take() {
                        ledger.release(&PATH, grant);
                    }
                    continue;
                }
                let grant = held[who].map(|(grant, _)| grant);
                let grant = grant.or_else(|| ledger.join(&PATH, &require(2), Some(&limits(30))));
                let grant = grant.expect("2 of 30");
                let allowance = ledger.renew(&PATH, grant, &renewal(2, 2, weight));
                prop_assert!(allowance.weight >= 1.0);
                held[who] = Some((grant, allowance.weight));
                let beyond: f64 = held.iter().flatten().map(|(_, weight)| weight - 1.0).sum();
                prop_assert!(beyond <= 3.0 + 1e-9, "{beyond}");
            }
        }
    }
}
