//! The available bandwidth as it really was, where somebody knows it.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::io::Read;

/// A step function of time; empty where the truth is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth(Vec<(f64, f64)>);

#[derive(Deserialize)]
struct Point {
    t_s: f64,
    truth_bps: f64,
}

impl Truth {
    /// Reads a CSV file with the columns `t_s` and `truth_bps`, such as the simulator's
    /// `...-estimates.csv`.
    ///
    /// # Errors
    /// The text is something else.
    pub fn read(text: impl Read) -> Result<Self> {
        let mut points = Vec::new();
        for point in csv::Reader::from_reader(text).deserialize() {
            let Point { t_s, truth_bps } =
                point.context("the truth is a CSV file with the columns t_s and truth_bps")?;
            points.push((t_s * 1e3, truth_bps));
        }
        points.sort_by(|a: &(f64, f64), b| a.0.total_cmp(&b.0));
        Ok(Self(points))
    }

    /// The truth at a time in ms, in bit/s. A time in the log is rounded to microseconds.
    pub fn at(&self, time_ms: f64) -> Option<f64> {
        let until = self.0.partition_point(|point| point.0 <= time_ms + 1e-3);
        Some(self.0[until.checked_sub(1)?].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_holds_until_it_changes() {
        let text = "t_s,truth_bps,other\n2,30,x\n1,10,y\n";
        let truth = Truth::read(text.as_bytes()).expect("a truth");
        assert_eq!(truth.at(999.0), None);
        assert_eq!(truth.at(1000.0), Some(10.0));
        assert_eq!(truth.at(1999.0), Some(10.0));
        assert_eq!(truth.at(5000.0), Some(30.0));
        assert_eq!(Truth::default().at(1.0), None);
        let error = Truth::read("a,b\n1,2\n".as_bytes()).expect_err("no truth");
        assert!(error.to_string().contains("t_s and truth_bps"));
    }
}
