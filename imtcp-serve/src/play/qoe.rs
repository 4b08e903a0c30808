//! What a viewer would have seen, in figures.

use super::cmsd::Told;
use super::slots::Slots;
use anyhow::{Context, Result};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

/// Columns of the CSV file.
const COLUMNS: &str = "number,began_s,took_s,bytes,bitrate_kbps,throughput_kbps,buffer_before_s,\
                       buffer_after_s,stalled_s,etp_kbps,mb_kbps";

/// The quality of experience of a session. Times are in seconds, rates in kbit/s.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Qoe {
    /// What was played.
    pub url: String,
    /// `dash` or `hls`.
    pub format: &'static str,
    /// The rule that chose the bit rate.
    pub abr: &'static str,
    /// Whether it went by CMSD.
    pub uses_cmsd: bool,
    /// Why the session ended before the title did.
    pub error: Option<String>,
    /// From the first packet to the first picture. `None` if there was none.
    pub startup_delay_s: Option<f64>,
    /// How often the buffer ran empty.
    pub stalls: u64,
    /// For how long it was empty, all in all.
    pub stalled_s: f64,
    /// The mean of the segments' bit rates, by their durations.
    pub mean_bitrate_kbps: f64,
    /// How often the bit rate changed.
    pub switches: u64,
    /// What has been played.
    pub played_s: f64,
    /// Segments that came.
    pub segments: u64,
    /// Their content.
    pub bytes: u64,
    /// Their content over the time that they took.
    pub throughput_kbps: f64,
    /// What the server told.
    pub server: Server,
    /// What the server wrote of its slots, if it was looked at.
    pub slots: Option<Slots>,
    /// One row for each segment; they go into the CSV file.
    #[serde(skip)]
    pub rows: Vec<SegmentRow>,
}

/// What the server told by CMSD.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Server {
    /// Answers with `etp`.
    pub with_etp: u64,
    /// Answers with `mb`.
    pub with_mb: u64,
    /// The last `etp`.
    pub last_etp_kbps: Option<f64>,
    /// The last `mb`.
    pub last_mb_kbps: Option<f64>,
}

/// A segment.
#[derive(Clone, Debug)]
pub struct SegmentRow {
    /// When it was asked for.
    pub began_s: f64,
    /// How long it took to come.
    pub took_s: f64,
    /// How long it plays.
    pub duration_s: f64,
    /// Its length.
    pub bytes: u64,
    /// The bit rate of its quality.
    pub bitrate_kbps: f64,
    /// The buffer when it was asked for.
    pub buffer_before_s: f64,
    /// The buffer when it had come.
    pub buffer_after_s: f64,
    /// How long the viewer waited meanwhile, after the first picture.
    pub stalled_s: f64,
    /// The server's `etp`.
    pub etp_kbps: Option<f64>,
    /// The server's `mb`.
    pub mb_kbps: Option<f64>,
}

impl Server {
    pub(super) fn heard(&mut self, told: Told) {
        let kbps = |bps: f64| bps / 1000.0;
        self.with_etp += u64::from(told.estimated_bps.is_some());
        self.with_mb += u64::from(told.suggested_bps.is_some());
        self.last_etp_kbps = told.estimated_bps.map(kbps).or(self.last_etp_kbps);
        self.last_mb_kbps = told.suggested_bps.map(kbps).or(self.last_mb_kbps);
    }
}

impl Qoe {
    /// Adds a segment.
    pub(super) fn push(&mut self, row: SegmentRow) {
        let last = self.rows.last();
        let is_switch = last.is_some_and(|last| last.bitrate_kbps != row.bitrate_kbps);
        self.switches += u64::from(is_switch);
        self.segments += 1;
        self.bytes += row.bytes;
        self.rows.push(row);
        let total = |of: fn(&SegmentRow) -> f64| self.rows.iter().map(of).sum::<f64>();
        let shown = total(|row| row.duration_s);
        let took = total(|row| row.took_s);
        self.mean_bitrate_kbps = total(|row| row.bitrate_kbps * row.duration_s) / shown;
        if took > 0.0 {
            self.throughput_kbps = self.bytes as f64 * 8.0 / 1000.0 / took;
        }
    }

    /// As JSON.
    ///
    /// # Errors
    /// None that can happen.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Writes the line of each segment.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_rows(&self, path: &Path) -> Result<()> {
        let mut text = format!("{COLUMNS}\n");
        for (number, row) in self.rows.iter().enumerate() {
            let rate = |rate: Option<f64>| rate.map(|rate| format!("{rate:.0}"));
            let throughput = row.bytes as f64 * 8.0 / 1000.0 / row.took_s.max(1e-6);
            writeln!(
                text,
                "{},{:.3},{:.3},{},{:.0},{throughput:.0},{:.3},{:.3},{:.3},{},{}",
                number + 1,
                row.began_s,
                row.took_s,
                row.bytes,
                row.bitrate_kbps,
                row.buffer_before_s,
                row.buffer_after_s,
                row.stalled_s,
                rate(row.etp_kbps).unwrap_or_default(),
                rate(row.mb_kbps).unwrap_or_default(),
            )?;
        }
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
