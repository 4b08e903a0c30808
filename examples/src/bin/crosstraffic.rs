//! Sends UDP datagrams at even distances, or counts those that arrive.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use imtcp_examples::crosstraffic::{self, Options};
use imtcp_examples::shutdown;
use imtcp_examples::socket::Socket;
use std::net::SocketAddr;
use std::process::ExitCode;

/// Cross traffic for a path under test. SIGTERM or Ctrl-C ends it and prints the total as JSON.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    side: Side,
}

#[derive(Subcommand)]
enum Side {
    /// Send datagrams of one size at even distances.
    Send(Options),
    /// Count the datagrams that arrive.
    Receive {
        /// The UDP address to listen on.
        #[arg(long, value_name = "ADDR:PORT")]
        listen: SocketAddr,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    let shutdown = shutdown::requested()?;
    let tally = match arguments.side {
        Side::Send(options) => crosstraffic::send(&options, shutdown).await?,
        Side::Receive { listen } => {
            let socket =
                Socket::bind(listen).with_context(|| format!("cannot listen on {listen}"))?;
            eprintln!("listening on {}", socket.local());
            crosstraffic::receive(socket, shutdown).await?
        }
    };
    println!("{}", serde_json::to_string(&tally)?);
    Ok(())
}
