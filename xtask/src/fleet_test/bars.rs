//! Figures with their bars.

use std::fmt;
use std::time::Duration;

use super::answers::same;

/// What was asked for, and what was seen.
#[derive(Debug, Default)]
pub struct Bars(Vec<Bar>);

#[derive(Debug)]
struct Bar {
    what: String,
    wanted: String,
    seen: String,
    is_met: bool,
}

impl Bars {
    /// Enters a figure.
    pub fn add(&mut self, what: &str, wanted: &str, seen: impl fmt::Display, is_met: bool) {
        self.0.push(Bar {
            what: what.to_owned(),
            wanted: wanted.to_owned(),
            seen: seen.to_string(),
            is_met,
        });
    }

    /// Enters whether an answer has the same rows as another one. `took` is the time that it took,
    /// where that is told.
    pub fn add_answer(&mut self, what: &str, one: &str, other: &str, took: Option<Duration>) {
        let (seen, is_met) = match (same(one, other), took) {
            (Ok(rows), Some(took)) => {
                let seen = format!("{rows} rows, {:.1} s", took.as_secs_f64());
                (seen, rows > 0)
            }
            (Ok(rows), None) => (format!("{rows} rows"), rows > 0),
            (Err(error), _) => (error.to_string(), false),
        };
        self.add(what, "same rows", seen, is_met);
    }

    /// Whether nothing was missed.
    pub fn are_all_met(&self) -> bool {
        self.0.iter().all(|bar| bar.is_met)
    }
}

impl fmt::Display for Bars {
    /// Misses come first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut order: Vec<&Bar> = self.0.iter().collect();
        order.sort_by_key(|bar| bar.is_met);
        for bar in order {
            let verdict = if bar.is_met { "met   " } else { "MISSED" };
            let Bar {
                what, wanted, seen, ..
            } = bar;
            writeln!(f, "{verdict}  {what:<44} {wanted:<22} {seen}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_come_first() {
        let mut bars = Bars::default();
        bars.add("a", "<= 1", 1, true);
        assert!(bars.are_all_met());
        bars.add("b", "<= 1", 2, false);
        assert!(!bars.are_all_met());
        let text = bars.to_string();
        assert!(text.starts_with("MISSED  b"), "{text}");
    }
}
