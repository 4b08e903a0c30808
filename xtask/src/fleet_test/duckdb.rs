//! DuckDB reads the same files.

#![expect(clippy::disallowed_methods, reason = "programs outside run by the real clock")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::answers::Answers;
use super::bars::Bars;
use super::program::Program;
use super::python;

/// Asks DuckDB each question in plain SQL.
pub fn test(
    fleet: &Program,
    table: &Path,
    answers: &Answers,
    out: &Path,
    bars: &mut Bars,
) -> Result<()> {
    let python = python::environment(fleet)?;
    for (question, answer) in answers {
        let arguments = ["ask", question, "--print", "duckdb", "-t"];
        let sql = fleet.run(&arguments, &[table])?.output;
        fs::write(out.join(format!("{question}.duckdb.sql")), &sql)?;
        let began = Instant::now();
        let other = asked(&python, &sql).with_context(|| format!("DuckDB: {question}"))?;
        let what = format!("{question}, DuckDB");
        bars.add_answer(&what, answer, &other, Some(began.elapsed()));
    }
    Ok(())
}

fn asked(python: &Path, sql: &str) -> Result<String> {
    let mut child = Command::new(python)
        .arg(python::script("ask_duckdb.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting Python")?;
    // All of it is read before anything is written, so this does not block.
    let mut input = child.stdin.take().context("it has no input")?;
    input.write_all(sql.as_bytes())?;
    drop(input);
    let ended = child.wait_with_output()?;
    if !ended.status.success() {
        bail!("{}", String::from_utf8_lossy(&ended.stderr).trim());
    }
    Ok(String::from_utf8(ended.stdout)?)
}
