//! How qlogs are written.

use clap::{Args, ValueEnum};
use imtcp_cc::quiche::Detail;
use imtcp_qlog::write::{Compression, Level};
use imtcp_sim::run::Qlog;
use std::path::Path;

#[derive(Debug, Args)]
pub struct Style {
    /// How much of a qlog to write.
    #[arg(long, value_enum, default_value_t = LevelName::All)]
    qlog_level: LevelName,
    /// How to compress qlogs.
    #[arg(long, value_enum, default_value_t = CompressionName::None)]
    qlog_compression: CompressionName,
    /// Log all that the controller is fed, for `imtcp-qlog replay`.
    #[arg(long)]
    qlog_replay: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelName {
    /// The controller's events, losses, states, and metrics every 10 ms.
    Events,
    /// Also packets without their frames, and all metrics.
    Packets,
    /// Everything that quiche logs.
    All,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CompressionName {
    None,
    Gzip,
    Zstd,
}

impl Style {
    /// The qlogs of a run whose files go into `folder`.
    pub fn qlog(&self, folder: &Path) -> Qlog {
        Qlog {
            folder: folder.to_owned(),
            level: match self.qlog_level {
                LevelName::Events => Level::Events,
                LevelName::Packets => Level::Packets,
                LevelName::All => Level::All,
            },
            compression: match self.qlog_compression {
                CompressionName::None => Compression::None,
                CompressionName::Gzip => Compression::Gzip,
                CompressionName::Zstd => Compression::Zstd,
            },
            detail: if self.qlog_replay {
                Detail::Replay
            } else {
                Detail::Events
            },
        }
    }
}
