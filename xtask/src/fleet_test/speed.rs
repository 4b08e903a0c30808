//! How fast DataFusion answers, with how much memory.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Arguments;
use super::answers::{Answers, QUESTIONS};
use super::bars::Bars;
use super::program::Program;
use crate::workspace;

/// The bar of each question.
const SECONDS: f64 = 2.0;
const MEGABYTES: f64 = 1000.0;

/// What `--timing` says.
struct Timing {
    seconds: f64,
    processors: f64,
    megabytes: f64,
}

/// Asks each question several times.
pub fn test(
    fleet: &Program,
    table: &Path,
    arguments: &Arguments,
    out: &Path,
    bars: &mut Bars,
) -> Result<Answers> {
    let mut answers = Answers::new();
    for question in QUESTIONS {
        let mut best: Option<Timing> = None;
        let mut memory = 0.0_f64;
        for _ in 0..arguments.runs {
            let asked = [
                "ask", question, "--format", "csv", "--cores", "2", "--timing", "-t",
            ];
            let said = fleet.run(&asked, &[table])?;
            let timing = timing(&said.errors)?;
            say!(
                "{question}: {:.2} s, with its start {:.2} s; {:.2} s of processors; {:.0} MB",
                timing.seconds,
                said.took.as_secs_f64(),
                timing.processors,
                timing.megabytes
            )?;
            memory = memory.max(timing.megabytes);
            if best
                .as_ref()
                .is_none_or(|best| timing.seconds < best.seconds)
            {
                best = Some(timing);
            }
            answers.insert(question.to_owned(), said.output);
        }
        let best = best.context("no run")?;
        let what = format!("{question}, {} rows, 2 cores", arguments.rows);
        let seen = format!(
            "{:.2} s ({:.2} s of processors)",
            best.seconds, best.processors
        );
        bars.add(&what, "<= 2 s", seen, best.seconds <= SECONDS);
        let seen = format!("{memory:.0} MB");
        bars.add(&what, "<= 1 GB", seen, memory <= MEGABYTES);
        workspace::write(&out.join(format!("{question}.csv")), &answers[question])?;
    }
    Ok(answers)
}

/// The SQL without functions has the same answers, on DataFusion, too.
pub fn both_ways(fleet: &Program, small: &Path, bars: &mut Bars) -> Result<()> {
    for question in QUESTIONS {
        let asked = ["ask", question, "--format", "csv", "-t"];
        let functions = fleet.run(&asked, &[small])?.output;
        let asked = ["ask", question, "--plain", "--format", "csv", "-t"];
        let plain = fleet.run(&asked, &[small])?.output;
        let what = format!("{question}, plain SQL on DataFusion");
        bars.add_answer(&what, &functions, &plain, None);
    }
    Ok(())
}

fn timing(errors: &str) -> Result<Timing> {
    let line = errors
        .lines()
        .find_map(|line| line.strip_prefix("answered in "));
    let numbers = line.map(|line| {
        let words = line.split([' ', ',']);
        words
            .filter_map(|word| word.parse::<f64>().ok())
            .collect::<Vec<_>>()
    });
    match numbers.as_deref() {
        Some(&[seconds, processors, megabytes]) => Ok(Timing {
            seconds,
            processors,
            megabytes,
        }),
        _ => anyhow::bail!("`imtcp-fleet ask --timing` said `{}`", errors.trim()),
    }
}

/// The size of a folder with all below it, in bytes.
pub fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: fs::DirEntry| match entry.path() {
        path if path.is_dir() => size(&path),
        _ => entry.metadata().map_or(0, |about| about.len()),
    };
    entries.flatten().map(size).sum()
}
