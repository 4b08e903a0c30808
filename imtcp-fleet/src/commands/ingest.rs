//! `ingest`.

use anyhow::{Result, bail};
use chrono::Utc;
use clap::Args;
use imtcp_fleet::ingest::{self, Options, Outcome, Progress};
use imtcp_fleet::labels::Labels;
use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::time::Duration;

/// Reasons that are told one by one.
const MOST_REASONS: usize = 10;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folders or addresses of logs (.sqlog, .qlog, .jsonl, also with .gz or .zst).
    #[arg(required = true)]
    sources: Vec<String>,
    /// The folder or address of the table; it may be new.
    #[arg(long, short)]
    table: String,
    /// A CSV file with the columns log (the path below its source), address, began, controller:
    /// what logs do not say of themselves.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Files with this ending in place of the log's tell the truth (CSV; t_s, truth_bps), such as
    /// `-estimates.csv` beside logs of the simulator.
    #[arg(long, value_name = "ENDING")]
    truth: Option<String>,
    /// Logs that are read at a time; the processors of this machine unless given.
    #[arg(long)]
    jobs: Option<usize>,
    /// Logs of a batch at most. A run that is killed loses the batch that it is at.
    #[arg(long, default_value_t = 512)]
    batch: usize,
    /// Leave logs that were written to within so many seconds: they may not be complete.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    settle: u64,
}

pub async fn run(arguments: Arguments) -> Result<()> {
    let labels = match &arguments.labels {
        Some(file) => Labels::read(file)?,
        None => Labels::default(),
    };
    let options = Options {
        sources: arguments.sources,
        table: arguments.table,
        labels,
        truth: arguments.truth,
        jobs: arguments.jobs.unwrap_or_else(super::cores),
        batch: arguments.batch,
        settle: Duration::from_secs(arguments.settle),
    };
    let progress = Progress::new(stderr().is_terminal());
    let outcome = ingest::run(&options, Utc::now(), &progress).await?;
    let told = tell(&outcome, &progress);
    if outcome.rows == 0 && !outcome.refused.is_empty() {
        bail!("none of the new logs could be read");
    }
    told
}

fn tell(outcome: &Outcome, progress: &Progress) -> Result<()> {
    for refused in outcome.refused.iter().take(MOST_REASONS) {
        eprintln!("warning: {}: {}", refused.log, refused.reason);
    }
    let unnamed = outcome.refused.len().saturating_sub(MOST_REASONS);
    if unnamed > 0 {
        eprintln!("warning: and {unnamed} more logs that could not be read");
    }
    let seconds = progress.elapsed().as_secs_f64();
    let logs = outcome.rows + outcome.refused.len() as u64;
    let megabytes = progress.bytes() as f64 / 1e6;
    let text = format!(
        "{} new rows of {logs} logs, {megabytes:.1} MB, in {seconds:.2} s: {:.0} logs/s, \
         {:.1} MB/s; {} were there before, {} are too young, {} batches were taken up again\n",
        outcome.rows,
        logs as f64 / seconds,
        megabytes / seconds,
        outcome.before,
        outcome.unsettled,
        outcome.resumed
    );
    super::print(text.as_bytes())
}
