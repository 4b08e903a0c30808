//! Many clients at once: what a server's cost and its endurance are measured with.

mod live;
mod roaming;
mod together;
mod visitor;

use anyhow::Result;
use clap::{Parser, Subcommand};
use http::Uri;
use serde::Serialize;
use std::io::Write;
use std::time::Duration;

/// Clients of HTTP/3 that come in a crowd. They do not look at certificates.
#[derive(Clone, Debug, Parser)]
#[command(name = "imtcp-crowd")]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// All connect, stay idle for a while, and then fetch the same file at the same time.
    Together(Together),
    /// Clients come, fetch, change their port, pause, and leave or vanish, for a given time.
    Live(Live),
}

#[derive(Clone, Debug, clap::Args)]
struct Together {
    /// The file: `https://127.0.0.1:4433/file`.
    url: Uri,

    /// How many clients.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,

    /// How long they stay idle before they fetch.
    #[arg(long, value_name = "SPAN", default_value = "0 s", value_parser = span)]
    idle: Duration,

    /// How long they stay afterwards.
    #[arg(long, value_name = "SPAN", default_value = "0 s", value_parser = span)]
    stay: Duration,
}

#[derive(Clone, Debug, clap::Args)]
struct Live {
    /// The folder's address. It has files named 100k, 1m and 10m, of any size.
    url: Uri,

    /// How many clients at the same time.
    #[arg(long, value_name = "COUNT", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,

    /// How long clients go on to come.
    #[arg(long = "for", value_name = "SPAN", default_value = "60 s", value_parser = span)]
    length: Duration,
}

fn span(text: &str) -> Result<Duration, quantity::QuantityError> {
    let (nanos, _) = quantity::parse(text, quantity::SPANS)?;
    Ok(Duration::from_nanos(nanos))
}

impl Options {
    /// Sends the crowd. It prints what it does as objects of JSON, one a line.
    ///
    /// # Errors
    /// The address is none. Errors of single clients are counted.
    pub async fn run(self) -> Result<()> {
        match self.what {
            What::Together(options) => together::run(options).await,
            What::Live(options) => live::run(options).await,
        }
    }
}

/// Whoever started the crowd may have stopped listening to it, which is no reason to end.
fn say(what: &impl Serialize) -> Result<()> {
    let line = serde_json::to_string(what)?;
    let _ = writeln!(std::io::stdout(), "{line}");
    Ok(())
}
