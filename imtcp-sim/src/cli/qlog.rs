//! How qlogs are written.

use clap::Args;
use imtcp_cc::quiche::Detail;
use imtcp_qlog::write::{Compression, Level};
use imtcp_sim::run::Qlog;
use std::path::Path;

#[derive(Debug, Args)]
pub struct Style {
    /// How much of a qlog to write.
    #[arg(long, value_enum, default_value_t)]
    qlog_level: Level,
    /// How to compress qlogs.
    #[arg(long, value_enum, default_value_t)]
    qlog_compression: Compression,
    /// Log all that the controller is fed, for `imtcp-qlog replay`.
    #[arg(long)]
    qlog_replay: bool,
}

impl Style {
    /// Whether it is what a qlog is without any option.
    pub fn is_usual(&self) -> bool {
        let usual = (Level::default(), Compression::default(), false);
        (self.qlog_level, self.qlog_compression, self.qlog_replay) == usual
    }

    /// The qlogs of a run whose files go into `folder`.
    pub fn qlog(&self, folder: &Path) -> Qlog {
        Qlog {
            folder: folder.to_owned(),
            level: self.qlog_level,
            compression: self.qlog_compression,
            detail: if self.qlog_replay {
                Detail::Replay
            } else {
                Detail::Events
            },
        }
    }
}
