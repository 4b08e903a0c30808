//! What the command line can say.

use crate::release::Release;
use anyhow::{Result, anyhow, ensure};
use clap::{Parser, ValueEnum};
use imtcp_cc::promise::Requirement;
use imtcp_cc::units::Bandwidth;
use imtcp_examples::requirement;
use quantity::{RATES, SPANS};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The shortest time in which a client of a good path takes something for certain.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(500);

/// An HTTP/3 server for files and video. What a request says of the rate that it needs becomes the
/// connection's promise; what is measured of the path goes to the player as CMSD.
#[derive(Clone, Debug, Parser)]
#[command(name = "imtcp-serve")]
pub struct Options {
    /// The folder whose files are served. Nothing leads out of it; names that begin with a dot are
    /// not served.
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,

    /// The UDP address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4433")]
    pub listen: SocketAddr,

    /// The congestion controller.
    #[arg(long, value_enum, default_value_t = ControllerKind::Imtcp)]
    pub cc: ControllerKind,

    /// How the release time of a packet is waited for, where the controller names one.
    #[arg(long, value_enum, default_value_t = Release::Auto)]
    pub release: Release,

    /// The certificate in PEM, followed by those of its issuers. Without it a self-signed one is
    /// made at the first start.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,

    /// The certificate's private key in PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,

    /// Where the self-signed pair is kept.
    #[arg(long, value_name = "DIR", default_value = ".imtcp-serve")]
    pub tls_dir: PathBuf,

    /// Write a qlog of each connection into this folder. Its name is the connection's, as in the
    /// log and in the CSV files.
    #[arg(long, value_name = "DIR")]
    pub qlog: Option<PathBuf>,

    /// How qlogs are compressed while they are written; their names then end in .gz or .zst.
    #[arg(long, value_enum, default_value_t = QlogCompression::None, requires = "qlog")]
    pub qlog_compression: QlogCompression,

    /// Log all that a controller is fed, for `imtcp-qlog replay`. It doubles a qlog.
    #[arg(long, requires = "qlog")]
    pub qlog_replay: bool,

    /// Write the estimates as they are made into this CSV file.
    #[arg(long, value_name = "FILE")]
    pub estimates: Option<PathBuf>,

    /// Write what became of the promises into this CSV file.
    #[arg(long, value_name = "FILE")]
    pub slots: Option<PathBuf>,

    /// Serve Prometheus' metrics over plain HTTP at this address of the host's own, 127.0.0.1:9433
    /// for one.
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,

    /// Show the connections live, on a page over plain HTTP at this address of the host's own,
    /// 127.0.0.1:9434 for one.
    #[arg(long, value_name = "ADDR:PORT")]
    pub dashboard: Option<SocketAddr>,

    /// Require this rate on every connection, besides what its requests do: "8 Mbit/s per 2 s", or
    /// "exactly 3.3 Mbit/s per 4 s" if no more is wanted.
    #[arg(long, value_name = "RATE per PERIOD", value_parser = requirement::parse)]
    pub promise: Option<Requirement>,

    /// Require rates by path, as this file in TOML says.
    #[arg(long, value_name = "FILE")]
    pub rates: Option<PathBuf>,

    /// The period over which rates of CMCD and of priorities are means. Below two round trips
    /// nothing can be promised.
    #[arg(long, value_name = "SPAN", default_value = "4 s", value_parser = span)]
    pub period: Duration,

    /// The highest rate that a request can require, by itself or by a rule of --rates.
    #[arg(long, value_name = "RATE", default_value = "100 Mbit/s", value_parser = rate)]
    pub most: Bandwidth,

    /// Give players with a comfortable buffer the rate that they need and no more. Their choice of
    /// quality has to go by CMSD then.
    #[arg(long)]
    pub steady: bool,

    /// Bytes of link-layer header to count for each packet in estimates, besides IP and UDP.
    #[arg(long, value_name = "BYTES", default_value_t = 0,
          value_parser = clap::value_parser!(u64).range(..=100))]
    pub link_header: u64,

    /// Forget a client that says nothing for so long.
    #[arg(long, value_name = "SPAN", default_value = "30 s", value_parser = span)]
    pub idle: Duration,

    /// Give up an answer of which a client takes nothing for so long.
    #[arg(long, value_name = "SPAN", default_value = "60 s", value_parser = span)]
    pub patience: Duration,

    /// At SIGTERM, wait so long for the answers that have begun.
    #[arg(long, value_name = "SPAN", default_value = "10 s", value_parser = span)]
    pub drain: Duration,

    /// Begin handshakes with clients that have not shown that their address is theirs. It saves a
    /// round trip, and lets others make this server send to third parties.
    #[arg(long)]
    pub no_retry: bool,

    /// How the log is written to standard error. RUST_LOG chooses what, `info` unless set.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log: LogFormat,
}

/// A congestion controller by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControllerKind {
    /// ImTCP: measures while it sends.
    Imtcp,
    /// The same without measuring. It makes promises as well.
    ImtcpOff,
    /// quiche's CUBIC.
    Cubic,
    /// quiche's BBRv2.
    Bbr2,
    /// quiche's Reno.
    Reno,
}

/// How a qlog is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QlogCompression {
    /// Not at all.
    None,
    /// By gzip.
    Gzip,
    /// By zstd.
    Zstd,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object of JSON a line.
    Json,
}

impl ControllerKind {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Imtcp => "imtcp",
            Self::ImtcpOff => "imtcp-off",
            Self::Cubic => "cubic",
            Self::Bbr2 => "bbr2",
            Self::Reno => "reno",
        }
    }

    /// quiche's name of it, if it is quiche's.
    pub fn built_in(self) -> Option<&'static str> {
        match self {
            Self::Imtcp | Self::ImtcpOff => None,
            Self::Cubic => Some("cubic"),
            Self::Bbr2 => Some("bbr2_gcongestion"),
            Self::Reno => Some("reno"),
        }
    }
}

impl Options {
    /// Checks what one option says of another, and numbers that no server can have.
    ///
    /// # Errors
    /// Says which do not go together, and what would.
    pub fn check(&self) -> Result<()> {
        self.check_controller()?;
        self.check_numbers()?;
        for (option, address, port) in [
            ("--metrics", self.metrics, 9433),
            ("--dashboard", self.dashboard, 9434),
        ] {
            ensure!(
                address.is_none_or(|address| address.ip().is_loopback()),
                "{option} is plain HTTP for this host alone; take an address like 127.0.0.1:{port}"
            );
        }
        Ok(())
    }

    /// An option that does nothing is a mistake.
    fn check_controller(&self) -> Result<()> {
        if self.cc.built_in().is_none() {
            return Ok(());
        }
        ensure!(
            self.promise.is_none(),
            "--promise needs --cc imtcp or imtcp-off; quiche's own cannot be asked for a rate"
        );
        ensure!(
            self.rates.is_none() && !self.steady,
            "--rates and --steady need --cc imtcp or imtcp-off; quiche's own keep no rate"
        );
        ensure!(
            self.estimates.is_none() && self.slots.is_none(),
            "--estimates and --slots need --cc imtcp or imtcp-off; quiche's own tell neither"
        );
        ensure!(
            !self.qlog_replay && self.link_header == 0,
            "--qlog-replay and --link-header are for what --cc imtcp and imtcp-off measure"
        );
        Ok(())
    }

    fn check_numbers(&self) -> Result<()> {
        let (most, period) = (self.most, self.period);
        Requirement::new(most, period).map_err(|why| {
            anyhow!(
                "no request could require anything of --most {most} and --period {period:?}: {why}"
            )
        })?;
        ensure!(
            self.idle >= Duration::from_millis(1),
            "--idle below 1 ms would forget no client at all; take some seconds"
        );
        ensure!(
            self.patience >= SHORTEST_PATIENCE,
            "--patience below {SHORTEST_PATIENCE:?} would give up answers on good paths"
        );
        Ok(())
    }
}

fn span(text: &str) -> Result<Duration, String> {
    let (nanos, _) = quantity::parse(text, SPANS)
        .map_err(|error| format!("{error}; write `4 s` or `500 ms`"))?;
    Ok(Duration::from_nanos(nanos))
}

fn rate(text: &str) -> Result<Bandwidth, String> {
    let (bits, _) =
        quantity::parse(text, RATES).map_err(|error| format!("{error}; write `100 Mbit/s`"))?;
    Ok(Bandwidth::from_bps(bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(arguments: &[&str]) -> Result<Options> {
        let line = ["imtcp-serve", "--root", "."].iter().chain(arguments);
        let options = Options::try_parse_from(line)?;
        options.check().map(|()| options)
    }

    #[test]
    fn the_command_line_is_sound() {
        Options::command().debug_assert();
        let options = parse(&["--promise", "8 Mbit/s per 2 s"]).expect("good");
        assert_eq!(options.period, Duration::from_secs(4));
        assert_eq!(options.most, Bandwidth::from_mbps(100));
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        for (arguments, expected) in [
            (
                &["--cc", "cubic", "--promise", "8 Mbit/s per 2 s"][..],
                "--cc imtcp",
            ),
            (&["--cc", "bbr2", "--slots", "a.csv"], "--cc imtcp"),
            (&["--cc", "cubic", "--rates", "rates.toml"], "--rates and"),
            (&["--cc", "cubic", "--steady"], "--steady need --cc imtcp"),
            (&["--cc", "reno", "--link-header", "14"], "--link-header"),
            (
                &["--cc", "reno", "--qlog", ".", "--qlog-replay"],
                "--qlog-replay",
            ),
            (&["--period", "0 s"], "--period 0ns: a period"),
            (&["--period", "61 min"], "100µs to 3600s"),
            (&["--most", "1 kbit/s"], "--most 1.0 kbit/s"),
            (&["--idle", "100 us"], "--idle below 1 ms"),
            (&["--metrics", "0.0.0.0:9433"], "127.0.0.1:9433"),
            (&["--dashboard", "[::]:9434"], "--dashboard is plain"),
            (&["--cert", "cert.pem"], "--key"),
            (&["--period", "4"], "write `4 s`"),
            (&["--patience", "1 ms"], "--patience below 500ms"),
            (&["--most", "4 Mbps"], "unknown unit `Mbps`"),
            (&["--cc", "vegas"], "imtcp-off"),
        ] {
            let error = parse(arguments).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
