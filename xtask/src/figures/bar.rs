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
    /// Whether the limit itself misses, as in "fewer than".
    #[serde(default)]
    pub strict: bool,
}

/// The numbers between which it is good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The least.
    pub least: Option<f64>,
    /// The most.
    pub most: Option<f64>,
    /// Whether these themselves are too little and too much.
    pub strict: bool,
}

/// What several seeds come to: what is held to a least, and what to a most. Where they come to one
/// number both are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// What a least is about.
    pub low: f64,
    /// What a most is about.
    pub high: f64,
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
            self.has_limit() || !self.strict,
            "`strict` needs a limit to be strict about"
        );
        ensure!(
            self.has_limit() || self.published.is_some(),
            "a bar needs at_least, at_most, at_least_times, at_most_times, or published alone"
        );
        Ok(())
    }

    /// Its limit, from what the others have: what makes a least, and what makes a most.
    pub fn limit(&self, others: &[Ends]) -> Option<Limit> {
        let best_least = others.iter().map(|other| other.low).reduce(f64::max);
        let best_most = others.iter().map(|other| other.high).reduce(f64::min);
        let times = |times: Option<f64>, best: Option<f64>| match (times, best) {
            (Some(times), Some(best)) => Some(Some(times * best + self.plus)),
            (Some(_), None) => None,
            (None, _) => Some(None),
        };
        Some(Limit {
            least: self.at_least.or(times(self.at_least_times, best_least)?),
            most: self.at_most.or(times(self.at_most_times, best_most)?),
            strict: self.strict,
        })
    }
}

impl Limit {
    /// Holds numbers to it. What never came is infinite, and misses a limit that is infinite, too.
    /// What floats lose on the way is forgiven; what is rounded away for people is not.
    pub fn verdict(self, ends: Ends, digits: usize) -> Verdict {
        match self.missed_by(ends, digits) {
            None => Verdict::Met,
            Some(_) => Verdict::Missed,
        }
    }

    /// The number that misses it, if one does.
    pub fn missed_by(self, ends: Ends, digits: usize) -> Option<f64> {
        let slack = 0.5 * 0.1_f64.powi(i32::try_from(digits).unwrap_or(i32::MAX)) * 1e-6;
        let slack = if self.strict { -slack } else { slack };
        let beyond = |ahead: f64| ahead > slack;
        let is_little = |least: f64| !ends.low.is_finite() || beyond(least - ends.low);
        let is_much = |most: f64| !ends.high.is_finite() || beyond(ends.high - most);
        if self.least.is_some_and(is_little) {
            return Some(ends.low);
        }
        self.most.is_some_and(is_much).then_some(ends.high)
    }

    /// The number that is nearest to missing it: the one that does, or else what a most is about.
    pub fn shown(self, ends: Ends, digits: usize) -> f64 {
        let other = if self.most.is_some() {
            ends.high
        } else {
            ends.low
        };
        self.missed_by(ends, digits).unwrap_or(other)
    }

    /// In words, such as `at most 5.0`.
    pub fn words(self, digits: usize) -> String {
        let (least_sign, most_sign) = if self.strict {
            (">", "<")
        } else {
            ("≥", "≤")
        };
        match (self.least, self.most) {
            (Some(least), Some(most)) => format!("{least:.digits$} to {most:.digits$}"),
            (Some(least), None) => format!("{least_sign} {least:.digits$}"),
            (None, Some(most)) => format!("{most_sign} {most:.digits$}"),
            (None, None) => String::new(),
        }
    }
}

impl Ends {
    /// One number for both.
    pub fn both(number: f64) -> Self {
        Self {
            low: number,
            high: number,
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
        let verdict = |limit: Limit, number| limit.verdict(Ends::both(number), 2);
        assert_eq!(verdict(limit, 0.949), Verdict::Missed);
        assert_eq!(verdict(limit, 0.95), Verdict::Met);
        assert_eq!(verdict(limit, f64::INFINITY), Verdict::Missed);
        assert_eq!(limit.words(2), "0.95 to 1.05");
        for strict in [false, true] {
            let others_never = Limit {
                least: None,
                most: Some(f64::INFINITY),
                strict,
            };
            assert_eq!(verdict(others_never, f64::INFINITY), Verdict::Missed);
            assert_eq!(verdict(others_never, 9.0), Verdict::Met);
        }
    }

    #[test]
    fn a_low_end_is_held_to_the_least_and_a_high_end_to_the_most() {
        let bar = bar("at_least = 0.95\nat_most = 1.05");
        let limit = bar.limit(&[]).expect("it needs no others");
        let ends = |low, high| Ends { low, high };
        assert_eq!(limit.verdict(ends(0.95, 1.05), 2), Verdict::Met);
        assert_eq!(limit.verdict(ends(0.90, 1.00), 2), Verdict::Missed);
        assert_eq!(limit.verdict(ends(1.00, 1.06), 2), Verdict::Missed);
        assert_eq!(limit.shown(ends(0.90, 1.00), 2), 0.90);
        assert_eq!(limit.shown(ends(0.95, 1.06), 2), 1.06);
    }

    #[test]
    fn a_strict_limit_is_missed_by_as_much_as_the_others_have() {
        let fewer = bar("at_most_times = 1\nstrict = true\nagainst = { by = \"b\" }");
        let limit = fewer.limit(&[Ends::both(7.0), Ends::both(9.0)]);
        let limit = limit.expect("there are others");
        assert_eq!(limit.words(0), "< 7");
        assert_eq!(limit.verdict(Ends::both(7.0), 0), Verdict::Missed);
        assert_eq!(limit.verdict(Ends::both(6.0), 0), Verdict::Met);
        assert!(bar("published = \"4\"\nstrict = true").check().is_err());
    }

    #[test]
    fn others_make_a_limit_and_the_best_of_them_counts() {
        let most = bar("at_most_times = 0.5\nagainst = { by = \"b\" }");
        let others = [Ends::both(0.4), Ends::both(0.3)];
        let limit = most.limit(&others).expect("there are others");
        assert_eq!((limit.least, limit.most), (None, Some(0.15)));
        let least = bar("at_least_times = 1.1\nplus = 1\nagainst = { by = \"b\" }");
        assert_eq!(
            least
                .limit(&[10.0, 20.0].map(Ends::both))
                .and_then(|limit| limit.least),
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
