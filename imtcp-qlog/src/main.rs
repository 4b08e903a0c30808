//! `imtcp-qlog`: what qlogs say of measurements, promises and packets.

mod commands;

use clap::{Args, Parser, Subcommand};
use imtcp_qlog::table::Table;
use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Reads qlogs: what they say of a connection's measurements, promises and packets.
///
/// A file may be a JSON text sequence (.sqlog), JSON lines or one JSON object (.qlog), plain or
/// compressed by gzip or zstd, from any QUIC stack. `-` is standard input.
#[derive(Debug, Parser)]
#[command(name = "imtcp-qlog", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Without a command: what `summary` does.
    #[command(flatten)]
    files: SummaryArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add up a log: estimates, measurements, packets, window, promises.
    Summary(SummaryArguments),
    /// Draw a log: one HTML page to zoom in, which works offline.
    Plot(commands::plot::Arguments),
    /// List probe streams, or show one of them packet by packet.
    Streams(commands::streams::Arguments),
    /// Compare several runs in one table, and on one page.
    Compare(commands::compare::Arguments),
    /// Write every value of a log as a row, as CSV or Parquet.
    Export(commands::export::Arguments),
    /// Rewrite a log so that qvis opens and draws it.
    Qvis(commands::qvis::Arguments),
    /// Make a qlog of quiche's conformant, smaller, or compressed.
    Rewrite(commands::rewrite::Arguments),
    /// Run the measurement again from what the controller was fed, with other parameters.
    Replay(commands::replay::Arguments),
    /// Make a fleet's logs a table with one row per connection, and ask it (runs `imtcp-fleet`).
    Fleet(commands::fleet::Arguments),
}

#[derive(Debug, Args)]
struct SummaryArguments {
    /// Qlogs.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print every event of the namespace imtcp as CSV. Of several files one table is made.
    #[arg(long)]
    csv: bool,
    /// Stop at the first damaged record instead of leaving it out.
    #[arg(long)]
    strict: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has seen enough.
        Err(error) if is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut output = io::stdout().lock();
    match &arguments.command {
        None => summary(&arguments.files, &mut output),
        Some(Command::Summary(arguments)) => summary(arguments, &mut output),
        Some(Command::Plot(arguments)) => commands::plot::run(arguments),
        Some(Command::Streams(arguments)) => commands::streams::run(arguments, &mut output),
        Some(Command::Compare(arguments)) => commands::compare::run(arguments, &mut output),
        Some(Command::Export(arguments)) => commands::export::run(arguments, &mut io::stdout()),
        Some(Command::Qvis(arguments)) => commands::qvis::run(arguments),
        Some(Command::Rewrite(arguments)) => commands::rewrite::run(arguments),
        Some(Command::Replay(arguments)) => commands::replay::run(arguments, &mut output),
        Some(Command::Fleet(arguments)) => commands::fleet::run(arguments),
    }
}

fn summary(arguments: &SummaryArguments, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    if !arguments.csv {
        return commands::summary::run(&arguments.files, arguments.strict, output);
    }
    let mut table = Table::default();
    for file in &arguments.files {
        let mut log = commands::open(file, arguments.strict)?;
        table.read(&mut log)?;
        commands::warn(&log);
    }
    Ok(table.write(output)?)
}
