//! The results of transfers, a line of JSON each, written as each transfer ends. So a chore that
//! was interrupted goes on where it was.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::accuracy::Accuracy;
use super::emulator::Report;

/// What decides a transfer beside its cell, its controller and its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The line of the client, if it is another than `fetch`.
    pub client: Option<String>,
    /// How long the transfer takes.
    pub seconds: u32,
    /// How long the rivals have the path to themselves; 0 without rivals.
    pub head_start_ms: u64,
    /// Whether server and client run at real-time priority.
    pub real_time: bool,
    /// Whether a qlog is kept, which takes the server some time.
    pub recorded: bool,
}

/// One transfer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The cell's name.
    pub cell: String,
    /// The server's controller.
    pub controller: String,
    /// Counted from 1. Rows of one cell and run are compared with each other.
    pub run: u32,
    /// Under what conditions; earlier builds did not write them down.
    #[serde(default)]
    pub conditions: Option<Conditions>,
    /// Bits of the file per second, and of frames while one was under way; 0 if the transfer
    /// failed.
    pub goodput_bps: f64,
    /// The goodput of all rivals together while the transfer was under way, in bits of data per
    /// second. Their head start does not count, so this and the transfer's own goodput add up to
    /// what the link has room for.
    pub rivals_bps: f64,
    /// What arrived in each period of 2 s but the first, in bit/s.
    #[serde(default)]
    pub periods_bps: Vec<f64>,
    /// Packets that the server sent and lost.
    pub packets: Option<Packets>,
    /// How good the estimates were, where the controller makes any and the truth is known.
    pub accuracy: Option<Accuracy>,
    /// What the path says of itself.
    pub path: Option<Report>,
    /// Why it failed.
    pub error: Option<String>,
}

impl Row {
    /// A transfer of which nothing is known yet.
    pub fn new(cell: String, controller: &str, run: u32) -> Self {
        Self {
            cell,
            controller: controller.to_owned(),
            run,
            conditions: None,
            goodput_bps: 0.0,
            rivals_bps: 0.0,
            periods_bps: Vec::new(),
            packets: None,
            accuracy: None,
            path: None,
            error: None,
        }
    }
}

/// What a server sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Packets {
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets lost.
    pub lost_packets: u64,
}

/// What each line begins with.
const BEGINNING: &str = "{\"cell\":";

/// All rows, and the file in which they are.
pub struct Results {
    file: File,
    rows: Vec<Row>,
}

/// The whole line may be megabytes of another program's file.
fn not_a_result(path: &Path, line: usize) -> String {
    format!(
        "{}, line {line}: not the result of a transfer; name another file with --results",
        path.display()
    )
}

impl Results {
    /// Opens the file and reads what is there from an earlier time.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = || format!("cannot use the file of results, {}", path.display());
        let file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)
            .with_context(failed)?;
        let text = fs::read_to_string(path).with_context(failed)?;
        let (whole, rest) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
        let mut rows = Vec::new();
        for (number, line) in (1..).zip(whole.lines()) {
            rows.push(serde_json::from_str(line).with_context(|| not_a_result(path, number))?);
        }
        // A run that was killed, or a full disk, leaves the beginning of a line. Its transfer is
        // made again.
        let is_cut_off = rest.starts_with(BEGINNING) || BEGINNING.starts_with(rest);
        ensure!(is_cut_off, not_a_result(path, rows.len() + 1));
        if !rest.is_empty() {
            file.set_len(whole.len() as u64).with_context(failed)?;
        }
        Ok(Self { file, rows })
    }

    /// Whether a transfer has been made under these conditions.
    pub fn has(&self, cell: &str, controller: &str, run: u32, conditions: &Conditions) -> bool {
        self.of(cell).any(|row| {
            row.controller == controller
                && row.run == run
                && row.conditions.as_ref() == Some(conditions)
        })
    }

    /// Keeps a row.
    pub fn add(&mut self, row: Row) -> Result<()> {
        let line = serde_json::to_string(&row)? + "\n";
        let written = self.file.write_all(line.as_bytes());
        written.context("cannot write a result")?;
        self.rows.push(row);
        Ok(())
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    /// The rows of a cell.
    pub fn of<'a>(&'a self, cell: &'a str) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(move |row| row.cell == cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions() -> Conditions {
        Conditions {
            client: None,
            seconds: 8,
            head_start_ms: 0,
            real_time: false,
            recorded: false,
        }
    }

    fn row(run: u32) -> Row {
        Row {
            conditions: Some(conditions()),
            ..Row::new("one".to_owned(), "cubic", run)
        }
    }

    #[test]
    fn what_was_written_is_there_the_next_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        let mut results = Results::open(&path).expect("new");
        assert!(!results.has("one", "cubic", 3, &conditions()));
        results.add(row(3)).expect("written");
        let again = Results::open(&path).expect("old");
        assert!(again.has("one", "cubic", 3, &conditions()));
        assert!(!again.has("one", "cubic", 4, &conditions()));
        assert_eq!(again.of("one").count(), 1);
    }

    #[test]
    fn a_transfer_under_other_conditions_is_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        // As earlier builds wrote it.
        let old = "{\"cell\":\"one\",\"controller\":\"cubic\",\"run\":1,\"goodput_bps\":1.0,\
                   \"rivals_bps\":0.0,\"packets\":null,\"accuracy\":null,\"path\":null,\
                   \"error\":null}\n";
        fs::write(&path, old).expect("written");
        let mut results = Results::open(&path).expect("old");
        assert!(!results.has("one", "cubic", 1, &conditions()), "not known");
        results.add(row(1)).expect("written");
        assert!(results.has("one", "cubic", 1, &conditions()));
        let changes: [fn(&mut Conditions); 5] = [
            |other| other.client = Some("curl {url}".to_owned()),
            |other| other.seconds += 1,
            |other| other.head_start_ms += 1,
            |other| other.real_time = true,
            |other| other.recorded = true,
        ];
        for change in changes {
            let mut other = conditions();
            change(&mut other);
            assert!(!results.has("one", "cubic", 1, &other), "{other:?}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_a_transfer_that_was_not_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        let mut results = Results::open(&path).expect("new");
        for run in 1..=2 {
            results.add(row(run)).expect("written");
        }
        let text = fs::read_to_string(&path).expect("it is there");
        let first = text.find('\n').expect("a line") + 1;
        for end in [first, first + 3, first + 20, text.len() - 1] {
            fs::write(&path, &text[..end]).expect("written");
            let mut again = Results::open(&path).expect("it goes on");
            assert!(again.has("one", "cubic", 1, &conditions()));
            assert!(!again.has("one", "cubic", 2, &conditions()));
            again.add(row(2)).expect("written");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
        }
        for other in ["no results", "{\"cells\": 3}", "{}\n{\"cell\":"] {
            fs::write(&path, other).expect("written");
            let error = Results::open(&path).err().expect("it is another's");
            assert!(error.to_string().contains("line 1"), "{error:#}");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), other);
        }
    }
}
