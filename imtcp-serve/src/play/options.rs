//! What the command line of the player can say.

use super::abr::Rule;
use clap::{Parser, ValueEnum};
use http::Uri;
use quantity::SPANS;
use std::path::PathBuf;
use std::time::Duration;

/// Plays a title over HTTP/3 without showing it, and tells what a viewer would have seen: as JSON
/// on standard output, and in files. The server's certificate is not checked: this is for trials.
#[derive(Clone, Debug, Parser)]
#[command(name = "imtcp-play")]
pub struct Options {
    /// The manifest: `https://127.0.0.1:4433/title/manifest.mpd` (DASH), or a playlist whose name
    /// ends in `.m3u8` (HLS). Segments are CMAF files of their own, not ranges of one.
    pub url: Uri,

    /// How the bit rate is chosen.
    #[arg(long, value_enum, default_value_t = Rule::Throughput)]
    pub abr: Rule,

    /// Let what the server says of the path (CMSD: `etp`, `mb`) guide the choice, where it says it.
    #[arg(long)]
    pub use_cmsd: bool,

    /// Where to say what the player needs.
    #[arg(long, value_enum, default_value_t = Dialect::Header)]
    pub cmcd: Dialect,

    /// Begin to play, at the start and after a stall, with so much in the buffer.
    #[arg(long, value_name = "SPAN", default_value = "2 s", value_parser = span)]
    pub startup: Duration,

    /// How much the buffer holds. It must have room for two segments.
    #[arg(long, value_name = "SPAN", default_value = "20 s", value_parser = span)]
    pub buffer: Duration,

    /// Stop after so much of the title.
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub play: Option<Duration>,

    /// Give a server up that sends nothing for so long.
    #[arg(long, value_name = "SPAN", default_value = "10 s", value_parser = span)]
    pub patience: Duration,

    /// Write the figures into this file too, as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// The file that the server writes with `--slots`, where it runs on this machine and has no
    /// other player: the figures tell how its slots ended.
    #[arg(long, value_name = "FILE")]
    pub server_slots: Option<PathBuf>,

    /// Write a line for each segment into this CSV file.
    #[arg(long, value_name = "FILE")]
    pub segments: Option<PathBuf>,
}

/// How CMCD travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// Four header fields.
    Header,
    /// One argument of the query.
    Query,
    /// Not at all.
    Off,
}

fn span(text: &str) -> Result<Duration, String> {
    let (nanos, _) = quantity::parse(text, SPANS)
        .map_err(|error| format!("{error}; write `4 s` or `500 ms`"))?;
    Ok(Duration::from_nanos(nanos))
}
