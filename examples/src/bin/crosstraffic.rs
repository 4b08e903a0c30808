//! Cross traffic: UDP datagrams at even distances, or bulk transfers over TCP; and what takes them.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use imtcp_examples::bulk;
use imtcp_examples::crosstraffic::{self, Options};
use imtcp_examples::output;
use imtcp_examples::shutdown;
use imtcp_examples::socket::Socket;
use serde::Serialize;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpListener;

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
        /// Compare the gaps between arrivals with this one, in nanoseconds.
        #[arg(long, value_name = "NANOSECONDS")]
        planned_gap_ns: Option<u64>,
    },
    /// Send bulk transfers over the kernel's TCP.
    TcpSend(bulk::Options),
    /// Count what arrives over TCP. SIGUSR1 begins the count anew.
    TcpReceive {
        /// The TCP address to listen on.
        #[arg(long, value_name = "ADDR:PORT")]
        listen: SocketAddr,
    },
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
    match arguments.side {
        Side::Send(options) => print(&crosstraffic::send(&options, shutdown).await?),
        Side::Receive {
            listen,
            planned_gap_ns,
        } => {
            let socket =
                Socket::bind(listen).with_context(|| format!("cannot listen on {listen}"))?;
            output::say(format_args!("listening on {}", socket.local()));
            let planned = planned_gap_ns.map(Duration::from_nanos);
            print(&crosstraffic::receive(socket, planned, shutdown).await?)
        }
        Side::TcpSend(options) => print(&bulk::send(&options, shutdown).await?),
        Side::TcpReceive { listen } => {
            let listener = TcpListener::bind(listen).await;
            let listener = listener.with_context(|| format!("cannot listen on {listen}"))?;
            output::say(format_args!("listening on {}", listener.local_addr()?));
            print(&bulk::receive(listener, shutdown).await?)
        }
    }
}

fn print(tally: &impl Serialize) -> Result<()> {
    Ok(output::print(&serde_json::to_string(tally)?)?)
}
