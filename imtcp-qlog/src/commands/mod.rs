//! What the program does.

pub mod compare;
pub mod export;
pub mod fleet;
pub mod plot;
pub mod qvis;
pub mod replay;
pub mod rewrite;
pub mod streams;
pub mod summary;

use comfy_table::{Table, presets};
use imtcp_qlog::page::{self, Run};
use imtcp_qlog::series::Series;
use imtcp_qlog::{Error, Log};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Standard input.
const STANDARD_INPUT: &str = "-";

/// Opens a log.
pub fn open(file: &Path, strict: bool) -> Result<Log, Error> {
    let log = Log::open(file)?;
    Ok(if strict { log.strict() } else { log })
}

/// Tells what was left out, on standard error.
pub fn warn(log: &Log) {
    let (file, problems) = (log.name().display(), log.problems());
    for problem in problems.first() {
        eprintln!("warning: {file}: {problem}");
    }
    if problems.unnamed() > 0 {
        eprintln!(
            "warning: {file}: and {} more like these",
            problems.unnamed()
        );
    }
}

/// The series of a log, with at most so many points each. Tells what was left out.
fn series(file: &Path, points: usize) -> Result<Series, Error> {
    let mut log = open(file, false)?;
    let series = Series::of(&mut log, points)?;
    warn(&log);
    if series.left_out > 0 {
        eprintln!(
            "warning: {}: {} probe streams, slots and states are not drawn, because others came \
             before them; figures count them all",
            file.display(),
            series.left_out
        );
    }
    Ok(series)
}

/// A table with the look of all of them.
fn table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED);
    table
}

/// Says that an output failed.
fn failed(output: &Path) -> impl Fn(io::Error) -> String + Copy {
    move |error| format!("{}: cannot be written: {error}", output.display())
}

/// Refuses an output that is one of the inputs, under whatever name: it would be emptied before
/// it was read.
fn check(inputs: &[&Path], output: &Path) -> Result<(), String> {
    match inputs.iter().find(|input| is_same(input, output)) {
        Some(input) => Err(format!(
            "{}: this is the input {}; name another file with --output",
            output.display(),
            input.display()
        )),
        None => Ok(()),
    }
}

/// Creates an output, or empties it.
fn create(inputs: &[&Path], output: &Path) -> Result<BufWriter<File>, String> {
    check(inputs, output)?;
    let file = File::create(output).map_err(failed(output))?;
    Ok(BufWriter::new(file))
}

fn is_same(input: &Path, output: &Path) -> bool {
    let input = match input == Path::new(STANDARD_INPUT) {
        true => Path::new("/dev/stdin"),
        false => input,
    };
    let (Ok(one), Ok(other)) = (fs::metadata(input), fs::metadata(output)) else {
        // What is not there is no other file.
        return false;
    };
    one.is_file() && other.is_file() && is_one_file(&one, &other, [input, output])
}

#[cfg(unix)]
fn is_one_file(one: &fs::Metadata, other: &fs::Metadata, _: [&Path; 2]) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_one_file(_: &fs::Metadata, _: &fs::Metadata, paths: [&Path; 2]) -> bool {
    let [one, other] = paths.map(fs::canonicalize);
    one.is_ok_and(|one| other.is_ok_and(|other| one == other))
}

/// Writes a page, and says where.
fn write_page(title: &str, runs: &[Run], inputs: &[&Path], output: &Path) -> Result<(), String> {
    let file = create(inputs, output)?;
    page::write(title, runs, file).map_err(failed(output))?;
    eprintln!("wrote {}", output.display());
    Ok(())
}

/// A number of points that makes a line.
fn points(text: &str) -> Result<usize, String> {
    let range = 1000..=20_000_000;
    let count = text.parse().ok().filter(|count| range.contains(count));
    count.ok_or_else(|| "give a number from 1000 to 20000000".to_owned())
}

/// The name of a log without what tells its format.
fn name(file: &Path) -> String {
    let name = file
        .file_name()
        .unwrap_or(file.as_os_str())
        .to_string_lossy()
        .into_owned();
    let endings = [".gz", ".zst", ".sqlog", ".qlog", ".json", ".jsonl"];
    endings
        .iter()
        .fold(name, |name, ending| match name.strip_suffix(ending) {
            Some(stem) if !stem.is_empty() => stem.to_owned(),
            _ => name,
        })
}

/// A file beside a log: its name with another ending.
fn beside(file: &Path, ending: &str) -> PathBuf {
    file.with_file_name(format!("{}{ending}", name(file)))
}
