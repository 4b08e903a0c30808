//! `cargo xtask fleet-test`: a fleet's logs, from the simulator to the answers of three engines.

mod answers;
mod bars;
mod cluster;
mod duckdb;
mod ingest;
mod logs;
mod objects;
mod program;
mod python;
mod speed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};

use crate::testbed::Launcher;
use crate::{testbed, workspace};
use bars::Bars;
use program::Program;

/// Simulates connections, ingests their logs while killing the ingestion again and again, makes a
/// large table like theirs, and asks it: DataFusion, a Ballista cluster on loopback, and DuckDB.
/// Prints figures with their bars, and fails where one is missed. Needs python3 with venv; the
/// network is used once, for DuckDB and for a server of object storage.
#[derive(clap::Args)]
pub struct Arguments {
    /// Rows of the large table.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000_000)]
    rows: u64,

    /// How often each question is asked; the best time counts, because others use the machine too.
    #[arg(long, value_name = "COUNT", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,

    /// The folder for logs, tables and answers. What is there is used again.
    #[arg(long, value_name = "DIR", default_value = "out/fleet-test")]
    out: PathBuf,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
}

/// Builds, simulates, ingests, asks, compares.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let binaries = match &arguments.binaries {
        Some(folder) => folder.clone(),
        None => built()?,
    };
    let interrupted = testbed::interruption()?;
    let fleet = Program::new(binaries.join("imtcp-fleet"), Arc::clone(&interrupted));
    let out = std::path::absolute(&arguments.out)?;
    fs::create_dir_all(&out).with_context(|| format!("making {}", out.display()))?;
    let launcher = Launcher::new(binaries.clone(), false, interrupted);
    let mut bars = Bars::default();

    let logs = logs::simulated(&fleet, &binaries.join("imtcp-sim"), &out)?;
    let small = ingest::test(&fleet, &logs, &out, &mut bars)?;
    objects::test(&fleet, &logs, &small, &launcher, &out, &mut bars)?;
    let large = large(&fleet, &small, &out, arguments.rows)?;
    say!(
        "The large table takes {:.0} MB",
        speed::size(&large) as f64 / 1e6
    )?;
    let answers = speed::test(&fleet, &large, arguments, &out, &mut bars)?;
    speed::both_ways(&fleet, &small, &mut bars)?;
    cluster::test(&fleet, &large, &answers, &launcher, &out, &mut bars)?;
    duckdb::test(&fleet, &large, &answers, &out, &mut bars)?;

    let page = out.join("report.html");
    fleet.run(
        &["report", "-t", &large.display().to_string(), "-o"],
        &[&page],
    )?;
    say!("\nThe page is {}", page.display())?;
    say!("\n{bars}")?;
    Ok(ExitCode::from(u8::from(!bars.are_all_met())))
}

fn built() -> Result<PathBuf> {
    let binaries = testbed::binaries_of(None, &["imtcp-sim"])?;
    let mut build = workspace::cargo(&workspace::root().join("imtcp-fleet"));
    workspace::run(build.args(["build", "--locked", "--release", "--bins"]))?;
    Ok(binaries)
}

/// The large table. Making it takes minutes, so one that is complete is kept.
fn large(fleet: &Program, small: &Path, out: &Path, rows: u64) -> Result<PathBuf> {
    let (table, complete) = (out.join("large"), out.join("large-rows"));
    let wanted = rows.to_string();
    if fs::read_to_string(&complete).is_ok_and(|text| text == wanted) {
        return Ok(table);
    }
    if table.exists() {
        fs::remove_dir_all(&table).context("removing the old large table")?;
    }
    say!("Making {rows} rows like those")?;
    let (like, new) = (small.display().to_string(), table.display().to_string());
    let arguments = ["synthesize", "--like", &like, "-t", &new, "--rows", &wanted];
    fleet.run(&arguments, &[])?;
    workspace::write(&complete, &wanted)?;
    Ok(table)
}
