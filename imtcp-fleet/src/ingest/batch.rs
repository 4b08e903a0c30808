//! The logs of a batch become rows, several at a time.

use super::connection::{self, Known};
use super::journal::{Done, Plan, digest};
use super::progress::Progress;
use super::truth::Truth;
use crate::labels::Labels;
use crate::place::Place;
use crate::row::Row;
use anyhow::{Context, Result};
use chrono::Utc;
use futures::{StreamExt, TryStreamExt, stream};
use imtcp_qlog::Log;
use object_store::path::Path;
use object_store::{Error as StoreError, GetResult, GetResultPayload, ObjectStoreExt};
use serde::{Deserialize, Serialize};
use std::io::Read;
use tokio::task::spawn_blocking;
use tokio_util::io::{StreamReader, SyncIoBridge};

/// How logs are read.
#[derive(Debug)]
pub struct Reading<'a> {
    /// What logs do not say.
    pub labels: &'a Labels,
    /// What the name of the truth's file has in place of the log's ending.
    pub truth: Option<&'a str>,
    /// Logs at a time.
    pub jobs: usize,
    /// Counts them.
    pub progress: &'a Progress,
}

/// A log that did not become a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Its path.
    pub log: String,
    /// Why.
    pub reason: String,
}

/// What became of a log.
enum Made {
    Row(Box<Row>),
    Refused(Refused),
}

impl Reading<'_> {
    /// Reads the logs of a batch.
    ///
    /// # Errors
    /// The source cannot be read. A log that is none is no error, but refused.
    pub async fn batch(&self, source: &Place, plan: &Plan) -> Result<(Vec<Row>, Done)> {
        let read = stream::iter(&plan.logs).map(|log| async move {
            let read = self.log(source, log).await;
            read.with_context(|| format!("reading {}{log}", source.url))
        });
        let read: Vec<Made> = read.buffer_unordered(self.jobs).try_collect().await?;
        let (mut rows, mut done) = (Vec::new(), Done::default());
        for one in read {
            match one {
                Made::Row(row) => rows.push(*row),
                Made::Refused(refused) => done.refused.push(refused),
            }
        }
        done.rows = rows.len() as u64;
        done.refused.sort_by(|a, b| a.log.cmp(&b.log));
        Ok((rows, done))
    }

    async fn log(&self, source: &Place, name: &str) -> Result<Made> {
        let refused = |reason: String| {
            let log = name.to_owned();
            Made::Refused(Refused { log, reason })
        };
        let path = Path::parse(name)?;
        let object = match source.store.get(&path).await {
            Ok(object) => object,
            Err(StoreError::NotFound { .. }) => return Ok(refused("it is gone".to_owned())),
            Err(error) => return Err(error.into()),
        };
        let known = Known {
            id: id(&source.address(&path)),
            label: self.labels.of(name),
            truth: self.truth_of(source, name).await?,
            written: object.meta.last_modified.with_timezone(&Utc),
        };
        let shown = name.to_owned();
        let content = content(object);
        let progress = self.progress.clone();
        let read = spawn_blocking(move || {
            let log = Log::new(progress.counted(content), std::path::Path::new(&shown))?;
            connection::row(log, known)
        });
        let read = read.await.context("a reader failed")?;
        self.progress.log_ended();
        Ok(match read {
            Ok(row) => Made::Row(Box::new(row)),
            Err(error @ imtcp_qlog::Error::Read { .. }) => return Err(error.into()),
            Err(error) => refused(error.to_string()),
        })
    }

    async fn truth_of(&self, source: &Place, name: &str) -> Result<Truth> {
        let Some(ending) = self.truth else {
            return Ok(Truth::default());
        };
        let file = Path::parse(format!("{}{ending}", stem(name)))?;
        match source.store.get(&file).await {
            Ok(object) => {
                let text = object.bytes().await?;
                Truth::read(text.as_ref()).with_context(|| source.address(&file))
            }
            Err(StoreError::NotFound { .. }) => Ok(Truth::default()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The row of a log. It hides the path, which may tell an address.
fn id(address: &str) -> String {
    let digest = digest(address);
    let digits = digest[..8].iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// The content as it comes, without waiting for all of it.
fn content(object: GetResult) -> Box<dyn Read + Send> {
    match object.payload {
        GetResultPayload::File(file, _) => Box::new(file),
        GetResultPayload::Stream(stream) => {
            let stream = stream.map_err(std::io::Error::other);
            Box::new(SyncIoBridge::new(StreamReader::new(stream)))
        }
    }
}

/// The endings of logs, in the order in which they are taken away.
const ENDINGS: [&str; 6] = [".gz", ".zst", ".sqlog", ".qlog", ".jsonl", ".json"];

/// Whether a name is that of a log.
pub fn is_log(name: &str) -> bool {
    let plain = [".gz", ".zst"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    [".sqlog", ".qlog", ".jsonl"]
        .iter()
        .any(|ending| plain.ends_with(ending))
}

fn stem(name: &str) -> &str {
    ENDINGS.iter().fold(name, |name, ending| {
        name.strip_suffix(ending).unwrap_or(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_known_by_their_endings() {
        for name in ["a.sqlog", "a/b.qlog.gz", "c.sqlog.zst", "d.jsonl"] {
            assert!(is_log(name), "{name}");
        }
        for name in ["a-estimates.csv", "a.sqlog.part", "a.gz", "sqlog"] {
            assert!(!is_log(name), "{name}");
        }
        assert_eq!(stem("a/b.sqlog.zst"), "a/b");
    }
}
