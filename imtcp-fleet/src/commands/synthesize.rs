//! `synthesize`.

use anyhow::{Context, Result, bail};
use chrono::DateTime;
use clap::Args;
use imtcp_fleet::engine::{Engine, Limits};
use imtcp_fleet::place::Place;
use imtcp_fleet::synthesize::{self, Options};
use object_store::ObjectStore;

#[derive(Debug, Args)]
pub struct Arguments {
    /// The table whose rows are the pattern.
    #[arg(long, value_name = "TABLE")]
    like: String,
    /// The new table.
    #[arg(long, short)]
    table: String,
    /// Rows.
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// The same seed gives the same rows.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The first hour.
    #[arg(long, value_name = "TIME", default_value = "2026-11-16T00:00:00Z")]
    from: String,
    /// Hours over which the rows are spread.
    #[arg(long, default_value_t = 168)]
    hours: u32,
    /// Networks.
    #[arg(long, default_value_t = 250)]
    networks: u32,
}

pub async fn run(arguments: Arguments) -> Result<()> {
    let from = DateTime::parse_from_rfc3339(&arguments.from).with_context(|| {
        format!(
            "`{}` is no time; write 2026-11-16T00:00:00Z",
            arguments.from
        )
    })?;
    let limits = Limits {
        cores: super::cores(),
        memory: 1_000_000_000,
    };
    let like = Engine::embedded(&Place::existing(&arguments.like)?, limits).await?;
    let table = Place::made(&arguments.table)?;
    let first = futures::TryStreamExt::try_next(&mut table.store.list(None)).await?;
    if first.is_some() {
        bail!("{} is not empty; give a new folder", arguments.table);
    }
    let options = Options {
        rows: arguments.rows,
        seed: arguments.seed,
        from: from.to_utc(),
        hours: arguments.hours.clamp(1, 100_000),
        networks: arguments.networks.clamp(1, 100_000),
        jobs: super::cores(),
    };
    synthesize::run(&like, &table, options).await
}
