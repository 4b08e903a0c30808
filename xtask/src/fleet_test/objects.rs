//! Logs and table in object storage, on loopback.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::answers::same;
use super::bars::Bars;
use super::ingest::ARGUMENTS;
use super::logs::LABELS;
use super::program::{Program, said};
use super::python;

/// All but the name, which differs by the address. No two logs begin at the same time.
const ROWS: &str = "SELECT * EXCEPT (id, began), CAST(began AS VARCHAR) AS begun FROM connections \
                    ORDER BY begun";

/// Ends with what started it.
struct Storage(Child);

impl Drop for Storage {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ingests the logs from a bucket into a bucket; the rows have to be those of the folder.
pub fn test(fleet: &Program, logs: &Path, small: &Path, out: &Path, bars: &mut Bars) -> Result<()> {
    let python = python::environment()?;
    let mut command = Command::new(python);
    command.arg(python::script("object_storage.py")).arg(logs);
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut storage = Storage(child.spawn().context("starting object storage")?);
    let output = storage.0.stdout.take().context("it has no output")?;
    let mut endpoint = String::new();
    BufReader::new(output).read_line(&mut endpoint)?;
    if endpoint.trim().is_empty() {
        bail!("object storage did not start");
    }
    let run = |arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        command
            .env("AWS_ENDPOINT", endpoint.trim())
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test");
        said(&mut command)
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
    match same(&here, &there) {
        Ok(rows) => bars.add(what, "rows of the folder", format!("{rows} rows"), rows > 0),
        Err(error) => bars.add(what, "rows of the folder", error, false),
    }
    let is_nothing_new = again.starts_with("0 new rows");
    bars.add(
        "object storage, ingested again",
        "0 new rows",
        again.trim(),
        is_nothing_new,
    );
    Ok(())
}
