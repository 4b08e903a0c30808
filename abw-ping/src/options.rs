//! The command line.

use crate::output::Subject;
use clap::{Parser, ValueEnum};
use imtcp_cc::standalone::{Method, Settings};
use imtcp_cc::units::Bytes;
use std::time::Duration;

/// Measures how much bandwidth the path to a host has left, by echo requests that the host answers.
///
/// Echo replies are as large as requests, so both directions are loaded, and the value is that of
/// the tighter one. Rates count IP packets, headers included.
#[derive(Debug, Parser)]
#[command(name = "abw-ping", version)]
pub struct Options {
    /// The host, by name or address; with --quic and a port behind it.
    #[arg(value_name = "HOST")]
    pub target: String,

    /// Measure towards a QUIC server, at HOST:PORT, by padded PING packets. Acknowledgements are
    /// small, so this is the way there. The certificate is not checked.
    #[arg(long)]
    pub quic: bool,

    /// Use IPv4 only.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,

    /// Use IPv6 only.
    #[arg(short = '6', long)]
    ipv6: bool,

    /// How to search: by trains, or as the paper prints it.
    #[arg(long, value_enum, default_value_t = Search::Trains)]
    method: Search,

    /// The size of a probe packet in bytes, IP header included.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(64..=9000)
    )]
    packet: u64,

    /// Done when the interval is narrower than this share of the value.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share)]
    alpha: f64,

    /// Send no more than so many bytes. The default is 1 000 000, or 5 000 000 for the paper's
    /// search, and no bound with --continuous.
    #[arg(long, value_name = "BYTES")]
    bytes: Option<u64>,

    /// Measure no longer than so many seconds. The default is 5, or 30 for the paper's search, and
    /// no bound with --continuous.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time: Option<f64>,

    /// The queue in milliseconds that a burst may build.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 4,
        value_parser = clap::value_parser!(u64).range(1..=1000)
    )]
    queue: u64,

    /// How often to measure, one after the other.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "continuous",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    count: u32,

    /// Follow the path until Ctrl-C, or to the bounds of --bytes and --time.
    #[arg(long)]
    pub continuous: bool,

    /// Print results as JSON, one object a line; with --continuous one each second.
    #[arg(long)]
    pub json: bool,

    /// Show no line of progress.
    #[arg(short, long)]
    pub quiet: bool,
}

/// The methods of `imtcp_cc::standalone`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Search {
    /// Bursts with tails at the capacity's gap.
    Trains,
    /// The paper's search by streams of rising rate.
    Search,
}

/// Which addresses will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Any,
    Four,
    Six,
}

impl Options {
    /// Which addresses will do.
    pub fn family(&self) -> Family {
        match (self.ipv4, self.ipv6) {
            (true, _) => Family::Four,
            (_, true) => Family::Six,
            _ => Family::Any,
        }
    }

    /// How many measurements are wanted.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The name of the method.
    pub fn method(&self) -> &'static str {
        match self.method {
            Search::Trains => "trains",
            Search::Search => "search",
        }
    }

    /// What is measured: at this address, by this protocol, over this kind of socket.
    pub fn subject(
        &self,
        address: String,
        protocol: &'static str,
        socket: &'static str,
    ) -> Subject {
        Subject {
            target: self.target.clone(),
            address,
            protocol,
            socket,
        }
    }

    /// The settings of the measurement.
    pub fn settings(&self) -> Settings {
        let (method, bytes, seconds) = match self.method {
            Search::Trains => (Method::Trains, 1_000_000, 5.0),
            Search::Search => (Method::Search, 5_000_000, 30.0),
        };
        let bounded = !self.continuous;
        Settings {
            method,
            packet: Bytes::new(self.packet),
            narrow_enough: self.alpha,
            most_bytes: self.bytes.or(bounded.then_some(bytes)).map(Bytes::new),
            longest: self
                .time
                .or(bounded.then_some(seconds))
                .map(Duration::from_secs_f64),
            continuous: self.continuous,
            queue: Duration::from_millis(self.queue),
            ..Settings::default()
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let fits = value > 0.0 && value <= 1.0;
    fits.then_some(value)
        .ok_or_else(|| "it must be above 0 and at most 1".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let fits = (0.01..=86_400.0).contains(&value);
    fits.then_some(value)
        .ok_or_else(|| "it must be 0.01 to 86400".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(line: &str) -> Settings {
        let words = ["abw-ping"].into_iter().chain(line.split_whitespace());
        Options::try_parse_from(words).expect(line).settings()
    }

    fn refused(line: &str) -> bool {
        let words = ["abw-ping"].into_iter().chain(line.split_whitespace());
        Options::try_parse_from(words).is_err()
    }

    #[test]
    fn bounds_hold_unless_the_path_is_followed() {
        let once = settings("host");
        assert_eq!(once.most_bytes, Some(Bytes::new(1_000_000)));
        assert_eq!(once.longest, Some(Duration::from_secs(5)));
        let followed = settings("host --continuous");
        assert_eq!((followed.most_bytes, followed.longest), (None, None));
        let bounded = settings("host --continuous --bytes 7000 --time 2.5");
        assert_eq!(bounded.most_bytes, Some(Bytes::new(7000)));
        assert_eq!(bounded.longest, Some(Duration::from_millis(2500)));
    }

    #[test]
    fn values_outside_their_ranges_are_refused() {
        for line in [
            "host --alpha 0",
            "host --alpha nan",
            "host --packet 63",
            "host --time 0",
            "host --time inf",
            "host --queue 0",
            "host --count 0",
            "host --count 2 --continuous",
            "host -4 -6",
            "",
        ] {
            assert!(refused(line), "{line}");
        }
    }
}
