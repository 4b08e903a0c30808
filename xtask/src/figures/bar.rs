//! What a number is held to, and what came of it.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::case::Where;

/// What a number is held to in some cases. Without a limit it only says what was published.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    /// The cases; all without any points.
    #[serde(default, rename = "where")]
    pub place: Where,
    /// What was published for these.
    pub published: Option<String>,
    /// The least that is good.
    pub at_least: Option<f64>,
    /// The most that is good.
    pub at_most: Option<f64>,
    /// So many times the best of those in `against`, at least.
    pub at_least_times: Option<f64>,
    /// So many times the best of those in `against`, at most.
    pub at_most_times: Option<f64>,
    /// The others: the same case with these points.
    #[serde(default)]
    pub against: Where,
    /// What is added to a limit that others make.
    #[serde(default)]
    pub plus: f64,
}

/// The numbers between which it is good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The least.
    pub least: Option<f64>,
    /// The most.
    pub most: Option<f64>,
}

/// What came of a bar in a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is met.
    Met,
    /// It is missed.
    Missed,
    /// There is nothing to hold to it, for this reason.
    Open(String),
}

impl Bar {
    /// Whether anything can miss it.
    pub fn has_limit(&self) -> bool {
        let fixed = self.at_least.or(self.at_most);
        fixed
            .or(self.at_least_times)
            .or(self.at_most_times)
            .is_some()
    }

    /// Whether it makes sense.
    pub fn check(&self) -> Result<()> {
        let relative = self.at_least_times.or(self.at_most_times).is_some();
        ensure!(
            relative != self.against.is_empty(),
            "`against` and `at_least_times` or `at_most_times` belong together"
        );
        ensure!(
            relative || self.plus == 0.0,
            "`plus` is added to what `against` makes; write the sum in place of it"
        );
        let twice =
            (self.at_least.and(self.at_least_times)).or(self.at_most.and(self.at_most_times));
        ensure!(
            twice.is_none(),
            "a number and `_times` for the same end; write two bars, and each counts"
        );
        ensure!(
            self.has_limit() || self.published.is_some(),
            "a bar needs at_least, at_most, at_least_times, at_most_times, or published alone"
        );
        Ok(())
    }

    /// Its limit, from what the others have.
    pub fn limit(&self, others: &[f64]) -> Option<Limit> {
        let best_least = others.iter().copied().reduce(f64::max);
        let best_most = others.iter().copied().reduce(f64::min);
        let times = |times: Option<f64>, best: Option<f64>| match (times, best) {
            (Some(times), Some(best)) => Some(Some(times * best + self.plus)),
            (Some(_), None) => None,
            (None, _) => Some(None),
        };
        Some(Limit {
            least: self.at_least.or(times(self.at_least_times, best_least)?),
            most: self.at_most.or(times(self.at_most_times, best_most)?),
        })
    }
}

impl Limit {
    /// Holds a number to it. What never came is infinite, and misses a limit that is infinite, too.
    /// What floats lose on the way is forgiven; what is rounded away for people is not.
    pub fn verdict(self, number: f64, digits: usize) -> Verdict {
        let slack = 0.5 * 0.1_f64.powi(i32::try_from(digits).unwrap_or(i32::MAX)) * 1e-6;
        let enough = self.least.is_none_or(|least| number >= least - slack);
        let little = self.most.is_none_or(|most| number <= most + slack);
        match enough && little && number.is_finite() {
            true => Verdict::Met,
            false => Verdict::Missed,
        }
    }

    /// In words, such as `at most 5.0`.
    pub fn words(self, digits: usize) -> String {
        match (self.least, self.most) {
            (Some(least), Some(most)) => format!("{least:.digits$} to {most:.digits$}"),
            (Some(least), None) => format!("≥ {least:.digits$}"),
            (None, Some(most)) => format!("≤ {most:.digits$}"),
            (None, None) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(text: &str) -> Bar {
        toml::from_str(text).expect("a bar")
    }

    #[test]
    fn a_number_outside_the_limit_misses_it_and_never_is_outside_of_any_most() {
        let bar = bar("at_least = 0.95\nat_most = 1.05");
        let limit = bar.limit(&[]).expect("it needs no others");
        assert_eq!(limit.verdict(0.949, 2), Verdict::Missed);
        assert_eq!(limit.verdict(0.95, 2), Verdict::Met);
        assert_eq!(limit.verdict(f64::INFINITY, 2), Verdict::Missed);
        assert_eq!(limit.words(2), "0.95 to 1.05");
        let others_never = Limit {
            least: None,
            most: Some(f64::INFINITY),
        };
        assert_eq!(others_never.verdict(f64::INFINITY, 2), Verdict::Missed);
        assert_eq!(others_never.verdict(9.0, 2), Verdict::Met);
    }

    #[test]
    fn others_make_a_limit_and_the_best_of_them_counts() {
        let most = bar("at_most_times = 0.5\nagainst = { by = \"b\" }");
        let limit = most.limit(&[0.4, 0.3]).expect("there are others");
        assert_eq!((limit.least, limit.most), (None, Some(0.15)));
        let least = bar("at_least_times = 1.1\nplus = 1\nagainst = { by = \"b\" }");
        assert_eq!(
            least.limit(&[10.0, 20.0]).and_then(|limit| limit.least),
            Some(23.0)
        );
        assert_eq!(least.limit(&[]), None, "nobody to compare with");
    }

    #[test]
    fn a_bar_of_others_needs_others() {
        assert!(bar("at_most_times = 0.5").check().is_err());
        assert!(bar("at_most = 5").check().is_ok());
    }

    #[test]
    fn a_limit_that_would_go_unheard_is_refused() {
        let against = "against = { by = \"b\" }";
        for keys in [
            "at_most = 5\nat_most_times = 2",
            "at_least = 1\nat_least_times = 2",
        ] {
            assert!(
                bar(&format!("{keys}\n{against}")).check().is_err(),
                "{keys}"
            );
        }
        assert!(bar("at_most = 5\nplus = 1").check().is_err());
        let both_ends = bar(&format!("at_least = 1\nat_most_times = 2\n{against}"));
        assert!(both_ends.check().is_ok());
    }
}
