//! Answers as CSV, and whether two of them are the same.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

/// By question.
pub type Answers = BTreeMap<String, String>;

/// The names of the ready questions, as the program lists them.
pub const QUESTIONS: [&str; 4] = ["available", "promises", "calibration", "controllers"];

/// How many rows two answers have, if they are the same. Engines write the same number in several
/// ways, so numbers are compared as such; their last binary digits may differ.
///
/// # Errors
/// They differ; the error tells where first.
pub fn same(one: &str, other: &str) -> Result<usize> {
    let (one, other) = (parsed(one)?, parsed(other)?);
    if one.len() != other.len() {
        bail!("{} rows against {}", one.len(), other.len());
    }
    for (number, (a, b)) in one.iter().zip(&other).enumerate() {
        let is_same = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b));
        if !is_same {
            bail!("row {number}: {} against {}", a.join(","), b.join(","));
        }
    }
    // The names are a row, too.
    Ok(one.len().saturating_sub(1))
}

fn parsed(text: &str) -> Result<Vec<Vec<String>>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text.as_bytes());
    let rows = reader.records().map(|record| {
        let record = record.context("an answer is no CSV")?;
        Ok(record.iter().map(str::to_owned).collect())
    });
    rows.collect()
}

fn is_same(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let (Ok(a), Ok(b)) = (a.parse::<f64>(), b.parse::<f64>()) else {
        return false;
    };
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        assert_eq!(same("a,b\nx,1.50\n", "a,b\nx,1.5\n").expect("the same"), 1);
        assert_eq!(same("a\n1\n2\n", "a\n1.0\n2.0\n").expect("the same"), 2);
    }

    #[test]
    fn other_rows_other_values_and_missing_ones_are_told() {
        for (one, other) in [
            ("a\n1\n", "a\n2\n"),
            ("a\n1\n", "a\n"),
            ("a,b\n1,\n", "a,b\n1,0\n"),
            ("a\n1.001\n", "a\n1.002\n"),
        ] {
            assert!(same(one, other).is_err(), "{one} {other}");
        }
    }
}
