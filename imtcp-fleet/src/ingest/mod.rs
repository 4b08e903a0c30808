//! Logs become rows: in parallel, and so that an ingestion that was killed can go on.

mod batch;
mod connection;
mod journal;
mod progress;
mod truth;

pub use batch::Refused;
pub use progress::Progress;

use crate::labels::Labels;
use crate::place::Place;
use crate::write;
use anyhow::{Context, Result};
use batch::Reading;
use chrono::{DateTime, TimeDelta, Utc};
use futures::TryStreamExt;
use journal::{Done, Journal, Plan};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use std::collections::BTreeSet;
use std::time::Duration;

/// What to ingest, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folders or addresses of logs.
    pub sources: Vec<String>,
    /// The folder or address of the table.
    pub table: String,
    /// What logs do not say of themselves.
    pub labels: Labels,
    /// The ending of files with the truth, in place of the log's.
    pub truth: Option<String>,
    /// Logs that are read at a time.
    pub jobs: usize,
    /// Logs of a batch at most.
    pub batch: usize,
    /// Logs that were written to within this time are left for the next run.
    pub settle: Duration,
}

/// What an ingestion did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows that were written.
    pub rows: u64,
    /// Logs that did not become rows, with the reason.
    pub refused: Vec<Refused>,
    /// Logs that are in the table since an earlier run.
    pub before: u64,
    /// Logs that are too young.
    pub unsettled: u64,
    /// Batches of an earlier run that were ended now.
    pub resumed: u64,
}

/// Ingests what is new.
///
/// # Errors
/// A source or the table fails. What was done until then stays done.
pub async fn run(options: &Options, now: DateTime<Utc>, progress: &Progress) -> Result<Outcome> {
    let table = Place::made(&options.table)?;
    let mut journal = Journal::open(&table).await?;
    let mut outcome = Outcome::default();
    let reading = Reading {
        labels: &options.labels,
        truth: options.truth.as_deref(),
        jobs: options.jobs.max(1),
        progress,
    };
    for (number, plan) in journal.take_unfinished() {
        progress.expect(plan.logs.len() as u64);
        let again = async {
            let source = Place::existing(&plan.source)?;
            let written = make(&reading, &source, &table, number, &plan).await?;
            // A log that has changed since then may belong to another hour now.
            remove_strays(&table, number, &written.parts).await?;
            anyhow::Ok(written)
        };
        let written = again.await.with_context(|| {
            let file = journal.address(number);
            format!("taking up a batch again; if its logs are gone for good, delete {file}")
        })?;
        journal.finish(number, &written.done).await?;
        outcome.add(written.done);
        outcome.resumed += 1;
    }
    for source in &options.sources {
        let source = Place::existing(source)?;
        let logs = new_logs(&source, &journal, options.settle, now, &mut outcome).await?;
        progress.expect(logs.len() as u64);
        for logs in logs.chunks(options.batch.max(1)) {
            let plan = Plan {
                source: source.url.to_string(),
                logs: logs.to_vec(),
            };
            let number = journal.plan(&plan).await?;
            let written = make(&reading, &source, &table, number, &plan).await?;
            journal.finish(number, &written.done).await?;
            outcome.add(written.done);
        }
    }
    progress.end();
    Ok(outcome)
}

impl Outcome {
    fn add(&mut self, done: Done) {
        self.rows += done.rows;
        self.refused.extend(done.refused);
    }
}

/// A batch that is written, but not done.
struct Written {
    parts: BTreeSet<Path>,
    done: Done,
}

/// Writes a batch that is planned.
async fn make(
    reading: &Reading<'_>,
    source: &Place,
    table: &Place,
    number: u32,
    plan: &Plan,
) -> Result<Written> {
    let (rows, done) = reading.batch(source, plan).await?;
    let mut parts = BTreeSet::new();
    for (path, bytes) in write::parts(&journal::name(number), rows)? {
        let put = table.store.put(&path, PutPayload::from(bytes)).await;
        put.with_context(|| format!("writing {}", table.address(&path)))?;
        parts.insert(path);
    }
    Ok(Written { parts, done })
}

/// Takes away what a batch wrote before, and not now.
async fn remove_strays(table: &Place, number: u32, parts: &BTreeSet<Path>) -> Result<()> {
    let name = format!("{}.parquet", journal::name(number));
    let mut listed = table.store.list(None);
    while let Some(object) = listed.try_next().await.context("listing the table")? {
        let path = object.location;
        if path.filename() == Some(name.as_str()) && !parts.contains(&path) {
            let deleted = table.store.delete(&path).await;
            deleted.with_context(|| format!("deleting {}", table.address(&path)))?;
        }
    }
    Ok(())
}

/// The logs of a source that the table does not know, in the order of their paths.
async fn new_logs(
    source: &Place,
    journal: &Journal<'_>,
    settle: Duration,
    now: DateTime<Utc>,
    outcome: &mut Outcome,
) -> Result<Vec<String>> {
    let settle = TimeDelta::from_std(settle).unwrap_or(TimeDelta::MAX);
    let mut logs = Vec::new();
    let mut listed = source.store.list(None);
    while let Some(object) = listed
        .try_next()
        .await
        .with_context(|| format!("listing {}", source.url))?
    {
        let path = object.location;
        if !batch::is_log(path.filename().unwrap_or_default()) {
            continue;
        }
        if journal.knows(&source.address(&path)) {
            outcome.before += 1;
        } else if now.signed_duration_since(object.last_modified) < settle {
            outcome.unsettled += 1;
        } else {
            logs.push(path.to_string());
        }
    }
    logs.sort();
    Ok(logs)
}
