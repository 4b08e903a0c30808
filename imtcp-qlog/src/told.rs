//! Estimates, as the controller logs them.

use serde::Deserialize;

/// An estimate of a log.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Told {
    /// When it was told, in milliseconds of the log.
    #[serde(skip)]
    pub time_ms: f64,
    /// By whom.
    pub estimator: String,
    /// The value in bits per second.
    pub available_bps: u64,
    /// The lower end of its interval.
    #[serde(default)]
    pub low_bps: u64,
    /// The upper end of its interval; a lower bound has none.
    #[serde(default)]
    pub high_bps: Option<u64>,
    /// What qualifies it.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The number of the path; missing in the log for the first.
    #[serde(default)]
    pub path: u32,
}

impl Told {
    /// Whether it says only that at least so much is available, and so is no estimate.
    pub fn is_lower_bound(&self) -> bool {
        self.flags.iter().any(|flag| flag == "lower_bound")
    }
}

/// The latest estimate is out of date, and there is no new one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Withdrawn {
    pub(crate) estimator: String,
    #[serde(default)]
    pub(crate) path: u32,
}
