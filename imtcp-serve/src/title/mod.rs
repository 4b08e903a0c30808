//! A title to try a server and a player with: several bit rates, CMAF segments, and the manifests
//! of DASH and HLS. It is made by ffmpeg, or of bytes that no decoder understands.

mod encoded;
mod synthetic;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use quantity::{RATES, SPANS};
use std::path::PathBuf;
use std::time::Duration;

/// Makes a title: `manifest.mpd` for DASH and `master.m3u8` for HLS, with the same CMAF segments.
#[derive(Clone, Debug, Parser)]
#[command(name = "imtcp-title")]
pub struct Plan {
    /// Where to. The folder is made; what is in it is overwritten.
    pub folder: PathBuf,

    /// How long the title is.
    #[arg(long, value_name = "SPAN", default_value = "60 s", value_parser = span)]
    pub length: Duration,

    /// How long a segment is.
    #[arg(long, value_name = "SPAN", default_value = "2 s", value_parser = span)]
    pub segment: Duration,

    /// The bit rates.
    #[arg(long, value_name = "RATE,...", value_delimiter = ',', value_parser = rate,
          default_value = "500 kbit/s,1 Mbit/s,2 Mbit/s,4 Mbit/s,8 Mbit/s,12 Mbit/s")]
    pub rates: Vec<u64>,

    /// Write files of the right sizes in place of a picture. It takes no ffmpeg and no time; a
    /// player that decodes cannot play it, and `imtcp-play` can.
    #[arg(long)]
    pub synthetic: bool,

    /// The program that encodes.
    #[arg(long, value_name = "PROGRAM", default_value = "ffmpeg")]
    pub ffmpeg: PathBuf,
}

/// The most files of one bit rate, and the most bit rates.
const MOST_SEGMENTS: u128 = 10_000;
const MOST_RATES: usize = 20;

impl Plan {
    /// Makes the title.
    ///
    /// # Errors
    /// Says what the plan or the machine lacks.
    pub fn make(&self) -> Result<()> {
        ensure!(
            self.segment >= Duration::from_millis(100) && self.segment <= self.length,
            "--segment has to be 100 ms at least, and no longer than the title"
        );
        ensure!(
            self.length.as_nanos() / self.segment.as_nanos() < MOST_SEGMENTS,
            "more than {MOST_SEGMENTS} segments; take longer ones"
        );
        let is_sound = |rate: &u64| (10_000..=1_000_000_000).contains(rate);
        ensure!(
            !self.rates.is_empty()
                && self.rates.len() <= MOST_RATES
                && self.rates.iter().all(is_sound),
            "--rates takes up to {MOST_RATES} rates, each from 10 kbit/s to 1 Gbit/s"
        );
        let made = std::fs::create_dir_all(&self.folder);
        made.with_context(|| format!("cannot make {}", self.folder.display()))?;
        if self.synthetic {
            synthetic::make(self)
        } else {
            encoded::make(self)
        }
    }
}

fn span(text: &str) -> Result<Duration, String> {
    let (nanos, _) = quantity::parse(text, SPANS)
        .map_err(|error| format!("{error}; write `4 s` or `500 ms`"))?;
    Ok(Duration::from_nanos(nanos))
}

fn rate(text: &str) -> Result<u64, String> {
    let read = quantity::parse(text, RATES);
    read.map(|(bits, _)| bits)
        .map_err(|error| format!("{error}; write `4 Mbit/s`"))
}
