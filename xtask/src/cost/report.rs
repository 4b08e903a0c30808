//! One table of everything, with bars.

use std::fmt;

/// What a figure has to be.
#[derive(Clone, Copy, Debug)]
pub enum Bar {
    /// This much or more.
    AtLeast(f64),
    /// This much or less.
    AtMost(f64),
}

impl Bar {
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bar) => value >= bar,
            Self::AtMost(bar) => value <= bar,
        }
    }
}

#[derive(Clone, Debug)]
struct Row {
    what: String,
    value: f64,
    bar: Option<Bar>,
    note: String,
}

/// The rows so far.
#[derive(Clone, Debug, Default)]
pub struct Report(Vec<Row>);

impl Report {
    /// A figure with a bar. No figure at all misses it.
    pub fn bar(&mut self, what: &str, value: f64, bar: Bar, note: &str) {
        self.add(what, value, Some(bar), note);
    }

    /// A figure.
    pub fn figure(&mut self, what: &str, value: f64, note: &str) {
        self.add(what, value, None, note);
    }

    fn add(&mut self, what: &str, value: f64, bar: Option<Bar>, note: &str) {
        self.0.push(Row {
            what: what.to_owned(),
            value,
            bar,
            note: note.to_owned(),
        });
    }

    /// Whether a bar was missed.
    pub fn has_missed(&self) -> bool {
        let mut bars = self.0.iter().filter_map(|row| Some((row.bar?, row.value)));
        bars.any(|(bar, value)| !bar.is_met_by(value))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | figure | bar | | |\n|---|---|---|---|---|")?;
        for Row {
            what,
            value,
            bar,
            note,
        } in &self.0
        {
            let (bar, verdict) = match bar {
                Some(bar) => {
                    let verdict = if bar.is_met_by(*value) {
                        "met"
                    } else {
                        "MISSED"
                    };
                    let text = match bar {
                        Bar::AtLeast(least) => format!(">= {least}"),
                        Bar::AtMost(most) => format!("<= {most}"),
                    };
                    (text, verdict)
                }
                None => (String::new(), ""),
            };
            let value = match value.is_nan() {
                true => "none".to_owned(),
                false => format!("{value:.1}"),
            };
            writeln!(f, "| {what} | {value} | {bar} | {verdict} | {note} |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_or_missed() {
        let mut report = Report::default();
        report.figure("memory", 3.0, "");
        report.bar("goodput", 98.0, Bar::AtLeast(98.0), "");
        assert!(!report.has_missed());
        report.bar("time", f64::NAN, Bar::AtMost(105.0), "of nothing");
        assert!(report.has_missed());
        let text = report.to_string();
        assert!(text.contains("| goodput | 98.0 | >= 98 | met |"), "{text}");
        assert!(
            text.contains("| time | none | <= 105 | MISSED | of nothing |"),
            "{text}"
        );
    }
}
