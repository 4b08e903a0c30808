//! What the command line of the server can say.

use super::frames::Frames;
use crate::controller::ControllerKind;
use crate::requirement;
use crate::tls::Identity;
use anyhow::{Result, ensure};
use clap::Args;
use imtcp_cc::promise::Requirement;
use imtcp_cc::quiche::Detail;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How to serve.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The folder whose files are served.
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,

    /// The UDP address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4433")]
    pub listen: SocketAddr,

    /// The certificate in PEM, followed by those of its issuers; without it a self-signed one is
    /// made.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,

    /// The certificate's private key in PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,

    /// The congestion controller.
    #[arg(long, value_enum, default_value_t = ControllerKind::Imtcp)]
    pub controller: ControllerKind,

    /// Bytes of link-layer header to count for each packet in estimates, besides IP and UDP: 14 to
    /// speak of Ethernet frames as traffic control does.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(..=100)
    )]
    pub link_header: u64,

    /// Write a qlog of each connection into this folder.
    #[arg(long, value_name = "DIR")]
    pub qlog: Option<PathBuf>,

    /// Let these qlogs also hold what `imtcp-qlog replay` needs, which doubles them.
    #[arg(long, requires = "qlog")]
    pub qlog_replay: bool,

    /// Let bodies come in frames, as those of a live source do: "60 kB per 33 ms".
    #[arg(long, value_name = "SIZE per PERIOD", value_parser = Frames::parse)]
    pub frames: Option<Frames>,

    /// Write the estimates as they are made into this CSV file.
    #[arg(long, value_name = "FILE")]
    pub estimates: Option<PathBuf>,

    /// Require this rate of application data on each connection: "8 Mbit/s per 2 s", or "exactly
    /// 3.3 Mbit/s per 4 s" if no more is wanted. What the path does not allow is required as soon
    /// as it does.
    #[arg(long, value_name = "RATE per PERIOD", value_parser = requirement::parse)]
    pub promise: Option<Requirement>,

    /// Write how each slot of the promise ended, and each change of its status, into this CSV file.
    #[arg(long, value_name = "FILE", requires = "promise")]
    pub slots: Option<PathBuf>,
}

impl Options {
    /// How much the controllers write to qlogs.
    pub(super) fn detail(&self) -> Detail {
        if self.qlog_replay {
            Detail::Replay
        } else {
            Detail::Events
        }
    }

    /// What is required on each connection.
    pub(super) fn requirement(&self) -> Result<Option<Requirement>> {
        ensure!(
            self.promise.is_none() || self.controller.makes_promises(),
            "--promise needs --controller imtcp or imtcp-off; quiche's own cannot be asked for a \
             rate"
        );
        Ok(self.promise)
    }

    pub(super) fn identity(&self) -> Result<Identity> {
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => Identity::read(cert, key),
            _ => Identity::self_signed(vec!["localhost".into(), self.listen.ip().to_string()]),
        }
    }
}
