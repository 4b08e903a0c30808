//! Serves the files of a folder over HTTP/3, and measures the available bandwidth meanwhile.

use anyhow::Result;
use clap::Parser;
use imtcp_examples::output;
use imtcp_examples::serve::{Options, Server};
use imtcp_examples::shutdown;
use std::process::ExitCode;

/// Serve the files of a folder over HTTP/3, and measure the available bandwidth meanwhile.
///
/// SIGTERM or Ctrl-C closes all connections, completes the logs and ends.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,

    /// At the end print what was sent, and how exactly packets left at their times.
    #[arg(long)]
    stats: bool,

    /// Print that as JSON.
    #[arg(long, requires = "stats")]
    json: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    let shutdown = shutdown::requested()?;
    let server = Server::bind(&arguments.options)?;
    output::say(format_args!("listening on {}", server.local()));
    let report = server.run(shutdown).await?;
    match (arguments.stats, arguments.json) {
        (true, true) => output::print(&serde_json::to_string(&report)?)?,
        (true, false) => output::print(&report)?,
        (false, _) => {}
    }
    Ok(())
}
