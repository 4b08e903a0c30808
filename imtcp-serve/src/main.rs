//! `imtcp-serve`: reads the command line, starts the server, and ends it at SIGTERM or Ctrl-C.

use anyhow::{Context, Result};
use clap::Parser;
use imtcp_examples::shutdown;
use imtcp_serve::options::LogFormat;
use imtcp_serve::{Options, Server};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tikv_jemallocator::Jemalloc;
use tracing_subscriber::EnvFilter;

/// After 2,000 connections that had come and gone by hundreds, the server had 32 MB with this one,
/// and 237 MB with glibc's, which keeps what lies below the highest piece in use.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[tokio::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A line for people, whatever RUST_BACKTRACE is for other programs.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<()> {
    log(options.log)?;
    allow_many_timers();
    let end = shutdown::requested()?;
    let server = Server::start(&options).await?;
    say(&format!("listening on https://{}/", server.address));
    if let Some(address) = server.metrics {
        say(&format!("metrics on http://{address}/metrics"));
    }
    if let Some(address) = server.dashboard {
        say(&format!("dashboard on http://{address}/"));
    }
    end.await;
    // Who asks once more does not want to wait for answers.
    let hurried = shutdown::requested()?;
    server.stop_unless(hurried).await;
    Ok(())
}

/// Each connection has a timer of its own, which is a file to the system. The usual limit is for
/// programs that know no other way to wait than `select(2)`.
fn allow_many_timers() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// Whoever started the server may have stopped listening to it, which is no reason to end.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Colours are for people at a terminal who have not asked for none (<https://no-color.org>).
fn has_colours() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !unwanted
}

fn log(format: LogFormat) -> Result<()> {
    let chosen = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    let filter = match &*chosen {
        "" => EnvFilter::new("warn,imtcp_serve=info"),
        chosen => EnvFilter::try_new(chosen).with_context(|| {
            format!("RUST_LOG={chosen} chooses nothing; write `debug`, or `warn,imtcp_serve=debug`")
        })?,
    };
    let to_errors = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(has_colours())
        // It would say that nobody reads the log to those who do not read it, and panic.
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => to_errors.init(),
        LogFormat::Json => to_errors.json().flatten_event(true).init(),
    }
    Ok(())
}
