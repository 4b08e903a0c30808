//! The file of estimates that `serve --estimates` writes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The estimator that the controller itself goes by.
pub const DEFAULT_ESTIMATOR: &str = "statistical";

/// One line of the file; rates in bit/s.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Seconds since the server's start.
    pub time_s: f64,
    /// Who made it.
    pub estimator: String,
    /// The value.
    pub available_bps: f64,
    /// Lower end of its 95 % interval.
    pub low_bps: f64,
    /// Upper end of its 95 % interval.
    pub high_bps: f64,
}

/// Reads the file, but for lower bounds.
pub fn read(path: &Path) -> Result<Vec<Estimate>> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the estimates in {}", path.display()))?;
    text.lines()
        .skip(1)
        .filter(|line| !line.contains("lower_bound"))
        .map(|line| parse(line).with_context(|| format!("not an estimate: `{line}`")))
        .collect()
}

fn parse(line: &str) -> Option<Estimate> {
    let mut fields = line.split(',').skip(1);
    let mut field = || fields.next();
    Some(Estimate {
        time_s: field()?.parse().ok()?,
        estimator: field()?.to_owned(),
        available_bps: field()?.parse().ok()?,
        low_bps: field()?.parse().ok()?,
        high_bps: field()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_by_its_columns() {
        let expected = Estimate {
            time_s: 2.4,
            estimator: "statistical".to_owned(),
            available_bps: 70e6,
            low_bps: 60e6,
            high_bps: 80e6,
        };
        let line = "1,2.4,statistical,70000000,60000000,80000000,4.0,";
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse("1,2.4,statistical,70000000"), None, "it is cut off");
    }
}
