//! Logs and table in object storage, on loopback.

#![expect(clippy::disallowed_methods, reason = "programs outside run by the real clock")]

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::bars::Bars;
use super::ingest::ARGUMENTS;
use super::logs::LABELS;
use super::program::Program;
use super::python;
use crate::testbed::{Launcher, Running};

/// All but the name, which differs by the address. No two logs begin at the same time.
const ROWS: &str = "SELECT * EXCEPT (id, began), CAST(began AS VARCHAR) AS begun FROM connections \
                    ORDER BY begun";

/// Storage gets this time to begin.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ingests the logs from a bucket into a bucket; the rows have to be those of the folder.
pub fn test(
    fleet: &Program,
    logs: &Path,
    small: &Path,
    launcher: &Launcher,
    out: &Path,
    bars: &mut Bars,
) -> Result<()> {
    let (python, script) = (
        python::environment(fleet)?,
        python::script("object_storage.py"),
    );
    let program = [python.as_path(), &script, logs].map(|path| path.display().to_string());
    let program = program.each_ref().map(String::as_str);
    let mut storage = launcher.start_tool(&out.join("storage"), &program)?;
    let endpoint = endpoint(&mut storage)?;
    let run = |arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        command
            .env("AWS_ENDPOINT", &endpoint)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test");
        fleet.said(&mut command)
    };
    let table = "s3://fleet/table";
    let labels = out.join(LABELS).display().to_string();
    let source = ["s3://fleet/logs", "--labels", &labels, "-t", table];
    let ingest = [&ARGUMENTS[..], &source].concat();
    let first = run(&ingest)?;
    say!("Ingested from object storage: {}", first.output.trim())?;
    let again = run(&ingest)?.output;
    let ask = ["sql", ROWS, "--format", "csv", "-t"];
    let there = run(&[&ask[..], &[table]].concat())?.output;
    let here = fleet.run(&ask, &[small])?.output;
    let what = "object storage (S3), logs and table";
    bars.add_answer(what, &here, &there, None);
    let is_nothing_new = again.starts_with("0 new rows");
    bars.add(
        "object storage, ingested again",
        "0 new rows",
        again.trim(),
        is_nothing_new,
    );
    Ok(())
}

/// The address that the server prints once it has all files.
fn endpoint(storage: &mut Running) -> Result<String> {
    let give_up = Instant::now() + PATIENCE;
    while Instant::now() < give_up {
        if let Some((endpoint, _)) = storage.printed().split_once('\n') {
            return Ok(endpoint.to_owned());
        }
        storage.ensure_it_runs()?;
        thread::sleep(Duration::from_millis(50));
    }
    bail!(
        "object storage did not start within {} s",
        PATIENCE.as_secs()
    )
}
