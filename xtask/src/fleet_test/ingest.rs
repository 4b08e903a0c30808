//! The ingestion: its rate, and that nothing is lost or doubled if it is killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::bars::Bars;
use super::logs::LABELS;
use super::program::Program;

/// Logs of a batch: few, so that there are many places to die at.
const BATCH: &str = "2";

/// After so many kills the ingestion may end.
const MOST_KILLS: u32 = 60;

const ROWS: &str = "SELECT * EXCEPT (began), CAST(began AS VARCHAR) AS begun FROM connections \
                    ORDER BY id";

/// Ingests all logs at once, and again with kills. Returns the table.
pub fn test(fleet: &Program, logs: &Path, out: &Path, bars: &mut Bars) -> Result<PathBuf> {
    let (whole, killed) = (out.join("whole"), out.join("killed"));
    for table in [&whole, &killed] {
        if table.exists() {
            fs::remove_dir_all(table).with_context(|| format!("removing {}", table.display()))?;
        }
    }
    let labels = out.join(LABELS);
    let said = fleet.run(&ARGUMENTS, &paths(logs, &labels, &whole))?;
    say!("Ingested at once: {}", said.output.trim())?;
    bars.add("ingest", "rate printed", said.output.trim(), true);

    let kills = kill_until_done(fleet, &paths(logs, &labels, &killed), &killed)?;
    let (one, other) = (rows(fleet, &whole)?, rows(fleet, &killed)?);
    let count = one.lines().count() - 1;
    let labels = fs::read_to_string(labels)?.lines().count() - 1;
    bars.add(
        "rows",
        &format!("{labels}, one a log"),
        count,
        count == labels,
    );
    let verdict = match one == other {
        true => format!("same rows after {kills} kills"),
        false => format!("other rows after {kills} kills"),
    };
    bars.add(
        "killed and started again",
        "no row lost or twice",
        verdict,
        one == other,
    );
    bars.add("kills by SIGKILL", ">= 5", kills, kills >= 5);
    Ok(whole)
}

/// The arguments of each ingestion, but for its places.
pub const ARGUMENTS: [&str; 6] = [
    "ingest",
    "--truth=-estimates.csv",
    "--settle",
    "0",
    "--jobs",
    "2",
];

/// The arguments after these.
fn paths<'a>(logs: &'a Path, labels: &'a Path, table: &'a Path) -> [&'a Path; 5] {
    [logs, Path::new("--labels"), labels, Path::new("-t"), table]
}

fn rows(fleet: &Program, table: &Path) -> Result<String> {
    let arguments = ["sql", ROWS, "--format", "csv", "-t"];
    Ok(fleet.run(&arguments, &[table])?.output)
}

/// Kills the ingestion at one place after the other: some milliseconds after it has written one or
/// more objects. The milliseconds grow, so that it dies before, between and after its steps.
fn kill_until_done(fleet: &Program, paths: &[&Path], table: &Path) -> Result<u32> {
    for kills in 0..MOST_KILLS {
        let mut command = fleet.command(&ARGUMENTS);
        command
            .args(paths)
            .args(["--batch", BATCH])
            .stdout(Stdio::null())
            .stderr(Stdio::inherit());
        let mut child = command.spawn().context("starting the ingestion")?;
        let has_ended = wait_for_more(fleet, &mut child, table, 1 + u64::from(kills % 4))?;
        if has_ended {
            return Ok(kills);
        }
        thread::sleep(Duration::from_millis(u64::from(kills % 12) * 3));
        // SIGKILL, which it cannot answer.
        child.kill().context("killing the ingestion")?;
        child.wait().context("waiting for its end")?;
    }
    bail!("the ingestion did not end with {MOST_KILLS} kills: it does not go on where it was")
}

/// Waits until there are so many files more than before, or the child has ended: then it is true.
fn wait_for_more(fleet: &Program, child: &mut Child, table: &Path, more: u64) -> Result<bool> {
    let before = files(table);
    loop {
        if let Some(status) = child.try_wait().context("waiting for the ingestion")? {
            match status.success() {
                true => return Ok(true),
                false => bail!("the ingestion failed: {status}"),
            }
        }
        if files(table) >= before + more {
            return Ok(false);
        }
        fleet.ensure_not_interrupted(child)?;
        thread::sleep(Duration::from_millis(1));
    }
}

/// The files below a folder. One that vanishes meanwhile does not count.
fn files(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .map(|path| if path.is_dir() { files(&path) } else { 1 })
        .sum()
}
