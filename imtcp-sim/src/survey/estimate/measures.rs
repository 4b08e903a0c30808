//! The scores as people read them: name, bar, value.

use super::super::Class;
use super::bars::{Bars, COVERAGE, FALSE_CONFIDENCE};
use super::score::Score;

/// A line of a table of scores.
pub struct Measure {
    /// With its unit.
    pub name: &'static str,
    /// What it has to be in a class, in words; empty where nothing is asked.
    pub bar: String,
    /// As [`Tally::misses`](super::Tally::misses) calls it; empty where nothing is asked.
    pub missed_as: &'static str,
    of: fn(&Score) -> Option<f64>,
    written: fn(f64) -> String,
}

impl Measure {
    /// All of them, with the bars of a class.
    pub fn all(class: Class) -> [Self; 9] {
        let bars = Bars::of(class);
        let measure = |name, missed_as, bar, of| Self {
            name,
            bar,
            missed_as,
            of,
            written: percent,
        };
        let most = |share: f64| format!("<= {}", percent(share));
        let [least, upper] = COVERAGE.map(percent);
        let coverage = format!("{least} to {upper}");
        let reach = format!(">= {}", percent(bars.reach));
        let [p50, p90] = [bars.error_p50, bars.error_p90].map(most);
        let unfounded = most(FALSE_CONFIDENCE);
        let lag = bars.lag_s.map_or(String::new(), |lag| format!("<= {lag}"));
        let nothing = String::new;
        let sharpest = "the least".to_owned();
        [
            measure("error, median, %", "median error", p50, |it| it.error_p50),
            measure("error, p90, %", "90th percentile of errors", p90, |it| {
                it.error_p90
            }),
            measure("bias, %", "", nothing(), |it| it.bias),
            measure("reach, %", "reach", reach, |it| Some(it.reach)),
            measure("with a value, %", "", nothing(), |it| Some(it.valued)),
            measure("coverage, %", "coverage", coverage, |it| it.coverage),
            measure("interval score, %", "sharpness", sharpest, |it| {
                it.interval_score
            }),
            measure(
                "falsely confident, %",
                "false confidence",
                unfounded,
                |it| Some(it.false_confidence),
            ),
            Self {
                written: seconds,
                ..measure("lag, s", "lag", lag, |it| it.lag_s)
            },
        ]
    }

    /// The value, in words.
    pub fn of(&self, score: &Score) -> String {
        (self.of)(score).map_or("-".to_owned(), self.written)
    }
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn seconds(seconds: f64) -> String {
    match seconds.is_finite() {
        true => format!("{seconds:.2}"),
        false => "never".to_owned(),
    }
}
