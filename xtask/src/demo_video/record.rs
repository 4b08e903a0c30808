//! What a play has left: the player's figures, its segments, and what the server wrote of its
//! promise and of the path.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::testbed::estimates::{DEFAULT_ESTIMATOR, read as read_estimates};
use crate::testbed::parse;

/// What `imtcp-play` prints, as far as the tables need it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Qoe {
    pub startup_delay_s: Option<f64>,
    pub stalls: u32,
    pub stalled_s: f64,
    pub mean_bitrate_kbps: f64,
    pub switches: u32,
    /// `None` under a controller that promises nothing.
    pub slots: Option<Slots>,
}

/// How the server's slots ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Slots {
    pub kept: u32,
    pub source_limited: u32,
    pub missed: u32,
    /// More than the player needed, so that it could climb.
    pub tried: u32,
}

/// A segment, as `imtcp-play --segments` writes it.
#[derive(Clone, Debug, Deserialize)]
pub struct Segment {
    pub began_s: f64,
    pub took_s: f64,
    pub bytes: f64,
    pub bitrate_kbps: f64,
    pub throughput_kbps: f64,
    pub buffer_before_s: f64,
    pub buffer_after_s: f64,
    pub stalled_s: f64,
}

/// A line of the server's file of slots.
#[derive(Clone, Debug, Deserialize)]
pub struct SlotLine {
    pub event: String,
    pub what: String,
    pub start_s: Option<f64>,
    pub end_s: Option<f64>,
    pub required_bps: Option<f64>,
    pub achieved_bps: Option<f64>,
    pub note: String,
    pub seconds: Option<f64>,
}

/// A play and everything that is known of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Play {
    pub controller: &'static str,
    /// How many TCP flows were beside it.
    pub flows: u32,
    pub run: u32,
    pub qoe: Qoe,
    /// What these flows had together, in bit/s.
    pub rivals_bps: Option<f64>,
    #[serde(skip)]
    pub segments: Vec<Segment>,
    #[serde(skip)]
    pub slots: Vec<SlotLine>,
    /// Seconds, and bit/s.
    #[serde(skip)]
    pub estimates: Vec<(f64, f64)>,
}

/// What `crosstraffic tcp-receive` prints.
#[derive(Deserialize)]
struct Tally {
    bytes: u64,
    seconds: f64,
}

/// The goodput of the TCP flows, from what their receiver printed.
pub fn goodput(printed: &str) -> Result<f64> {
    let tally: Tally = parse(printed)?;
    Ok(tally.bytes as f64 * 8.0 / tally.seconds.max(1e-3))
}

impl Play {
    /// Reads the files of the play whose names begin so.
    pub fn read(&mut self, named: &dyn Fn(&str) -> std::path::PathBuf) -> Result<()> {
        let figures = named("qoe.json");
        let text = fs::read_to_string(&figures);
        self.qoe = parse(&text.with_context(|| format!("cannot read {}", figures.display()))?)?;
        self.segments = rows(&named("segments.csv"))?;
        if self.qoe.slots.is_some() {
            self.slots = rows(&named("slots.csv"))?;
            let all = read_estimates(&named("estimates.csv"))?.into_iter();
            let own = all.filter(|one| one.estimator == DEFAULT_ESTIMATOR);
            self.estimates = own.map(|one| (one.time_s, one.available_bps)).collect();
        }
        Ok(())
    }

    /// The segments that came fast enough for the player to stay at their bit rate.
    pub fn fast_enough(&self) -> usize {
        let is_enough = |one: &&Segment| one.throughput_kbps * super::USED >= one.bitrate_kbps;
        self.segments.iter().filter(is_enough).count()
    }

    /// When the last segment had come, or the last picture was shown.
    pub fn end_s(&self) -> f64 {
        let last = self.segments.last();
        last.map_or(0.0, |last| last.began_s + last.took_s + last.buffer_after_s)
    }
}

/// The lines of a file of values that are separated by commas.
pub fn rows<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>> {
    let context = || format!("cannot read {}", file.display());
    let mut reader = csv::Reader::from_path(file).with_context(context)?;
    let rows = reader.deserialize().collect::<Result<Vec<T>, _>>();
    rows.with_context(context)
}

impl fmt::Display for Qoe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.startup_delay_s {
            Some(delay) => write!(f, "began after {delay:.2} s")?,
            None => write!(f, "never began")?,
        }
        write!(
            f,
            ", {} stalls of {:.1} s, {:.0} kbit/s, {} switches",
            self.stalls, self.stalled_s, self.mean_bitrate_kbps, self.switches
        )?;
        match self.slots {
            Some(slots) => write!(f, ", slots kept: {slots}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept + self.source_limited;
        write!(f, "{kept} of {}", kept + self.missed)?;
        match self.tried {
            0 => Ok(()),
            tried => write!(f, " ({tried} tries)"),
        }
    }
}

impl std::iter::Sum for Slots {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            kept: sum.kept + one.kept,
            source_limited: sum.source_limited + one.source_limited,
            missed: sum.missed + one.missed,
            tried: sum.tried + one.tried,
        })
    }
}
