//! Fetches a file over HTTP/3 and prints the goodput.

use anyhow::Result;
use clap::Parser;
use imtcp_examples::fetch::{Options, fetch};
use imtcp_examples::output;
use imtcp_examples::shutdown;
use std::process::ExitCode;

/// Fetch a file over HTTP/3 and print the goodput. The server may ask for fewer acknowledgements,
/// and is told when packets arrived.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,

    /// Print the result as JSON.
    #[arg(long)]
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
    let fetched = fetch(&arguments.options, shutdown::requested()?).await?;
    if arguments.json {
        output::print(&serde_json::to_string(&fetched)?)?;
    } else {
        output::print(&fetched)?;
    }
    Ok(())
}
