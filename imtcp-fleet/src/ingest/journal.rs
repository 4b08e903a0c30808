//! What was ingested, and what was begun. A batch is planned, written and done, in this order, and
//! each step is one object that appears as a whole. So a batch whose end is missing is made anew
//! from its plan, under the same names, and no row is lost or comes twice.

use super::batch::Refused;
use crate::place::Place;
use anyhow::{Context, Result, bail};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutOptions, PutPayload};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The folder of the journal below the table. Engines see no Parquet in it.
const FOLDER: &str = "_ingest";

/// Plans that are read at a time: in object storage each takes a while to come.
const AT_A_TIME: usize = 16;

/// Logs that become rows together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The address of the source, which ends in a slash.
    pub source: String,
    /// The paths of the logs below it.
    pub logs: Vec<String>,
}

/// What came of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Rows that were written.
    pub rows: u64,
    /// Logs that did not become rows.
    pub refused: Vec<Refused>,
}

/// The journal of a table.
#[derive(Debug)]
pub struct Journal<'a> {
    table: &'a Place,
    /// Batches by number.
    planned: BTreeSet<u32>,
    done: BTreeSet<u32>,
    /// All logs that were ever planned, by the digests of their addresses, which take a tenth of
    /// the memory.
    known: BTreeSet<Digested>,
    /// Batches that were begun and not ended.
    unfinished: Vec<(u32, Plan)>,
}

/// What stands for an address.
type Digested = [u8; 16];

/// The name of a batch's files.
pub fn name(number: u32) -> String {
    format!("{number:06}")
}

impl<'a> Journal<'a> {
    /// Reads the journal. A new table has an empty one.
    ///
    /// # Errors
    /// The table cannot be read, or its journal is damaged.
    pub async fn open(table: &'a Place) -> Result<Self> {
        let mut journal = Self {
            table,
            planned: BTreeSet::new(),
            done: BTreeSet::new(),
            known: BTreeSet::new(),
            unfinished: Vec::new(),
        };
        let folder = Path::from(FOLDER);
        let mut listed = table.store.list(Some(&folder));
        while let Some(object) = listed.try_next().await.context("listing the journal")? {
            let file = object.location.filename().unwrap_or_default();
            match file.split_once('.') {
                Some((number, "plan.json")) => journal.planned.insert(parsed(number, file)?),
                Some((number, "done.json")) => journal.done.insert(parsed(number, file)?),
                _ => continue,
            };
        }
        let plans = stream::iter(journal.planned.clone()).map(|number| async move {
            let plan: Plan = get(table, number, "plan").await?;
            anyhow::Ok((number, plan))
        });
        let mut plans = plans.buffered(AT_A_TIME);
        while let Some((number, plan)) = plans.try_next().await? {
            journal.known.extend(digests(&plan));
            if !journal.done.contains(&number) {
                journal.unfinished.push((number, plan));
            }
        }
        Ok(journal)
    }

    /// Takes the batches that were begun and not ended.
    pub fn take_unfinished(&mut self) -> Vec<(u32, Plan)> {
        std::mem::take(&mut self.unfinished)
    }

    /// Whether a log was planned before.
    pub fn knows(&self, address: &str) -> bool {
        self.known.contains(&digest(address))
    }

    /// Plans a batch, and returns its number.
    ///
    /// # Errors
    /// The plan cannot be written; above all if somebody else ingests into the same table.
    pub async fn plan(&mut self, plan: &Plan) -> Result<u32> {
        let number = self.planned.last().map_or(1, |last| last + 1);
        let created = self.put(number, "plan", plan, PutMode::Create).await;
        created.context(
            "planning a batch; only one ingestion at a time may write into a table, so end the \
             other one first",
        )?;
        self.planned.insert(number);
        self.known.extend(digests(plan));
        Ok(number)
    }

    /// Ends a batch.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn finish(&mut self, number: u32, done: &Done) -> Result<()> {
        let ended = self.put(number, "done", done, PutMode::Overwrite).await;
        ended.context("ending a batch")?;
        self.done.insert(number);
        Ok(())
    }

    /// The address of a plan.
    pub fn address(&self, number: u32) -> String {
        self.table.address(&path(number, "plan"))
    }

    async fn put(
        &self,
        number: u32,
        step: &str,
        what: &impl Serialize,
        mode: PutMode,
    ) -> Result<()> {
        let payload = PutPayload::from(serde_json::to_vec(what)?);
        let options = PutOptions::from(mode);
        let path = path(number, step);
        self.table.store.put_opts(&path, payload, options).await?;
        Ok(())
    }
}

fn path(number: u32, step: &str) -> Path {
    Path::from(format!("{FOLDER}/{}.{step}.json", name(number)))
}

async fn get<T: DeserializeOwned>(table: &Place, number: u32, step: &str) -> Result<T> {
    let path = path(number, step);
    let about = || format!("the journal {}", table.address(&path));
    let object = table.store.get(&path).await.with_context(about)?;
    let bytes = object.bytes().await.with_context(about)?;
    serde_json::from_slice(&bytes).with_context(about)
}

fn digests(plan: &Plan) -> impl Iterator<Item = Digested> {
    let logs = plan.logs.iter();
    logs.map(|log| digest(&format!("{}{log}", plan.source)))
}

/// Half of the SHA-256 of a log's address.
pub fn digest(address: &str) -> [u8; 16] {
    let mut half = Digested::default();
    half.copy_from_slice(&Sha256::digest(address.as_bytes())[..16]);
    half
}

fn parsed(number: &str, file: &str) -> Result<u32> {
    match number.parse() {
        Ok(number) => Ok(number),
        Err(_) => bail!("`{FOLDER}/{file}` is no part of a journal; move it away"),
    }
}
