//! `imtcp-fleet`: a fleet's logs as a table, and questions to it.

mod commands;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A fleet's qlogs as a table with one row per connection, and questions to it.
///
/// Folders may also be addresses of object storage, such as s3://bucket/logs; keys and endpoints
/// come from the environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT, ...).
#[derive(Debug, Parser)]
#[command(name = "imtcp-fleet", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make rows of the logs that the table does not have yet.
    Ingest(commands::ingest::Arguments),
    /// Ask a ready question, or say which there are.
    Ask(commands::ask::Arguments),
    /// Ask in SQL; the table is `connections`.
    Sql(commands::ask::SqlArguments),
    /// Write a page with the answers to all ready questions.
    Report(commands::ask::ReportArguments),
    /// Make a large table like another one, to try questions on.
    Synthesize(commands::synthesize::Arguments),
    /// Run the scheduler of a cluster.
    Scheduler(commands::cluster::SchedulerArguments),
    /// Run an executor of a cluster.
    Executor(commands::cluster::ExecutorArguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Plans of several sketches are deep.
        .thread_stack_size(8 << 20)
        .build()?;
    runtime.block_on(async {
        match command {
            Command::Ingest(arguments) => commands::ingest::run(arguments).await,
            Command::Ask(arguments) => commands::ask::run(arguments).await,
            Command::Sql(arguments) => commands::ask::sql(arguments).await,
            Command::Report(arguments) => commands::ask::report(arguments).await,
            Command::Synthesize(arguments) => commands::synthesize::run(arguments).await,
            Command::Scheduler(arguments) => commands::cluster::scheduler(arguments).await,
            Command::Executor(arguments) => commands::cluster::executor(arguments).await,
        }
    })
}
