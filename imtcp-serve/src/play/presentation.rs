//! A title: its qualities, and the segments of each.

use anyhow::{Result, ensure};
use std::time::Duration;
use url::Url;

/// No title has more, of whatever it is; a manifest that says so is broken or malicious.
pub const MOST_SEGMENTS: usize = 20_000;
const MOST_QUALITIES: usize = 100;
const LONGEST_SEGMENT: Duration = Duration::from_secs(3600);

/// A file of a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Where it is.
    pub url: Url,
    /// How long it plays.
    pub duration: Duration,
}

/// The title in one quality.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    /// In bit/s.
    pub bitrate_bps: u64,
    /// What a decoder needs first.
    pub start: Option<Url>,
    /// In the order in which they play.
    pub segments: Vec<Segment>,
}

/// A title whose segments are all there.
#[derive(Clone, Debug, PartialEq)]
pub struct Presentation {
    /// By rising bit rate; at least one. All have as many segments.
    pub qualities: Vec<Quality>,
}

impl Presentation {
    /// Sorts the qualities, and checks that one can switch between them.
    ///
    /// # Errors
    /// One cannot, or there is nothing to play.
    pub fn new(mut qualities: Vec<Quality>) -> Result<Self> {
        ensure!(!qualities.is_empty(), "the manifest has no video");
        ensure!(
            qualities.len() <= MOST_QUALITIES,
            "the manifest has {} qualities; up to {MOST_QUALITIES} are read",
            qualities.len()
        );
        qualities.sort_by_key(|quality| quality.bitrate_bps);
        let count = qualities[0].segments.len();
        for quality in &qualities {
            let rate = quality.bitrate_bps;
            ensure!(rate > 0, "a quality has no bit rate");
            let own = quality.segments.len();
            ensure!(own > 0, "the quality of {rate} bit/s has no segments");
            ensure!(
                own == count,
                "the quality of {rate} bit/s has {own} segments, and the lowest has {count}: \
                 nobody can switch between them"
            );
            let is_sound = |segment: &Segment| {
                !segment.duration.is_zero() && segment.duration <= LONGEST_SEGMENT
            };
            ensure!(
                quality.segments.iter().all(is_sound),
                "the quality of {rate} bit/s has a segment without a duration, or of more than an \
                 hour"
            );
        }
        Ok(Self { qualities })
    }

    /// The bit rates, rising.
    pub fn ladder(&self) -> Vec<u64> {
        let rates = self.qualities.iter().map(|quality| quality.bitrate_bps);
        rates.collect()
    }

    /// How many segments there are.
    pub fn length(&self) -> usize {
        self.qualities[0].segments.len()
    }

    /// The longest segment.
    pub fn longest(&self) -> Duration {
        let all = self.qualities.iter().flat_map(|quality| &quality.segments);
        all.map(|segment| segment.duration)
            .max()
            .unwrap_or_default()
    }
}
