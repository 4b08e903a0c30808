//! How late packets came, without keeping each.

use serde::{Deserialize, Serialize};

/// The width of a class.
const CLASS_NS: u64 = 1000;

/// A packet that is later counts as this late, except for the maximum.
const CLASSES: usize = 20_000;

/// A histogram in classes of a microsecond.
pub struct Lateness {
    classes: Vec<u64>,
    count: u64,
    latest_ns: u64,
}

/// Its quantiles, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Half of the packets were less late.
    #[serde(rename = "p50")]
    pub p50_us: f64,
    /// 99 % of the packets were less late.
    #[serde(rename = "p99")]
    pub p99_us: f64,
    /// The latest packet.
    #[serde(rename = "max")]
    pub max_us: f64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            classes: vec![0; CLASSES],
            count: 0,
            latest_ns: 0,
        }
    }
}

impl Lateness {
    /// Counts a packet.
    pub fn add(&mut self, late_ns: u64) {
        let class = usize::try_from(late_ns / CLASS_NS).unwrap_or(CLASSES);
        self.classes[class.min(CLASSES - 1)] += 1;
        self.count += 1;
        self.latest_ns = self.latest_ns.max(late_ns);
    }

    /// The quantiles of all packets so far.
    pub fn summary(&self) -> Summary {
        Summary {
            p50_us: self.quantile(0.5),
            p99_us: self.quantile(0.99),
            max_us: self.latest_ns as f64 / 1000.0,
        }
    }

    /// The upper end of the class in which the quantile lies.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = self.count as f64 * share;
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen as f64 >= wanted && seen > 0 {
                return (class + 1) as f64;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_what_was_added() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.summary(), Summary::default());
        for _ in 0..98 {
            lateness.add(7_500);
        }
        lateness.add(40_200);
        lateness.add(90_000_000);
        let expected = Summary {
            p50_us: 8.0,
            p99_us: 41.0,
            max_us: 90_000.0,
        };
        assert_eq!(lateness.summary(), expected);
    }
}
