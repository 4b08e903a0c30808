//! The table, as text and as a page.

mod page;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::cases::{self, Case};
use super::cell::{Cell, Outcome};
use super::peers::{self, Peer};

/// The page's name in the folder of results.
pub const PAGE: &str = "index.html";
/// A line of JSON for each cell; a later one takes the place of an earlier one.
const LINES: &str = "results.jsonl";

/// What a reader has to know.
const NOT_CHECKED: [&str; 5] = [
    "The container image is not built or run: there is no Docker here. Endpoints run in a root \
     folder that looks like the container.",
    "The wait for the simulator (sim:57832) and the image's setup.sh are the image's; they are not \
     run.",
    "crosstraffic (a measurement beside TCP) is not run: it needs iperf in further containers. \
     cargo xtask rivals measures such things.",
    "goodput is one transfer here, and five in the runner.",
    "Packets cross a link in user space in place of ns-3: 10 Mbit/s, 15 ms, 25 packets, and the \
     scenarios' faults, written after the runner's.",
];

/// All outcomes so far.
pub struct Results {
    folder: PathBuf,
    outcomes: BTreeMap<(String, String, String), Outcome>,
    lines: File,
}

#[derive(Serialize, Deserialize)]
struct Line {
    client: String,
    server: String,
    case: String,
    outcome: Outcome,
}

impl Results {
    /// With what an earlier run has left in the folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(LINES);
        let earlier = fs::read_to_string(&path).unwrap_or_default();
        let lines = OpenOptions::new().create(true).append(true).open(&path);
        let mut results = Self {
            folder: folder.to_owned(),
            outcomes: BTreeMap::new(),
            lines: lines.with_context(|| format!("cannot open {}", path.display()))?,
        };
        // A line that was cut off belongs to a cell that is not there, and spoils no other.
        if !earlier.is_empty() && !earlier.ends_with('\n') {
            results.lines.write_all(b"\n")?;
        }
        for line in earlier
            .lines()
            .filter_map(|line| serde_json::from_str::<Line>(line).ok())
        {
            results
                .outcomes
                .insert((line.client, line.server, line.case), line.outcome);
        }
        Ok(results)
    }

    /// Notes what came of a cell.
    pub fn note(&mut self, cell: Cell, outcome: &Outcome) -> Result<()> {
        let line = Line {
            client: cell.client.name().to_owned(),
            server: cell.server.name().to_owned(),
            case: cell.case.name().to_owned(),
            outcome: outcome.clone(),
        };
        let text = serde_json::to_string(&line)? + "\n";
        self.lines.write_all(text.as_bytes())?;
        self.outcomes
            .insert((line.client, line.server, line.case), line.outcome);
        Ok(())
    }

    /// Whether any cell has failed.
    pub fn has_failures(&self) -> bool {
        self.failures().next().is_some()
    }

    fn failures(&self) -> impl Iterator<Item = (Column, Case, &str)> {
        columns().into_iter().flat_map(move |column| {
            cases::ALL
                .into_iter()
                .filter_map(move |case| match self.get(column, case) {
                    Some(Outcome::Failed(reason)) => Some((column, case, reason.as_str())),
                    _ => None,
                })
        })
    }

    fn get(&self, column: Column, case: Case) -> Option<&Outcome> {
        let names = (column.client.name(), column.server.name(), case.name());
        self.outcomes
            .get(&(names.0.to_owned(), names.1.to_owned(), names.2.to_owned()))
    }

    /// Those pairs of which there is anything.
    fn columns(&self) -> Vec<Column> {
        let has_some = |column: &Column| {
            cases::ALL
                .into_iter()
                .any(|case| self.get(*column, case).is_some())
        };
        columns().into_iter().filter(has_some).collect()
    }

    /// Those cases of which there is anything.
    fn cases(&self) -> Vec<Case> {
        let columns = self.columns();
        let has_some = |case: &Case| {
            columns
                .iter()
                .any(|column| self.get(*column, *case).is_some())
        };
        cases::ALL.into_iter().filter(has_some).collect()
    }

    /// Writes the page.
    pub fn write_page(&self) -> Result<()> {
        let path = self.folder.join(PAGE);
        fs::write(&path, page::page(self))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// A pair of endpoints.
#[derive(Clone, Copy)]
struct Column {
    client: Peer,
    server: Peer,
}

impl Column {
    /// The end that is not this project's, unless both are.
    fn other(self) -> Peer {
        match self.client {
            Peer::Ours => self.server,
            client => client,
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.client.name(), self.server.name())
    }
}

/// All pairs with this project's endpoint in them: as client first.
fn columns() -> Vec<Column> {
    let ours = Peer::Ours;
    let as_client = peers::ALL.map(|server| Column {
        client: ours,
        server,
    });
    let others = peers::ALL.into_iter().filter(|peer| *peer != ours);
    let as_server = others.map(|client| Column {
        client,
        server: ours,
    });
    as_client.into_iter().chain(as_server).collect()
}

/// A cell in a word.
fn word(outcome: Option<&Outcome>) -> String {
    match outcome {
        None => String::new(),
        Some(Outcome::Passed(remark)) if remark.is_empty() => "ok".to_owned(),
        Some(Outcome::Passed(remark)) => remark.clone(),
        Some(Outcome::Failed(_)) => "FAILED".to_owned(),
        Some(Outcome::Unsupported {
            by_client,
            by_server,
        }) => match (by_client, by_server) {
            (true, true) => "127 both",
            (true, false) => "127 client",
            _ => "127 server",
        }
        .to_owned(),
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.columns();
        let width = |column: &Column| {
            let heads = [column.client.name().len(), column.server.name().len() + 3];
            let words = cases::ALL.map(|case| word(self.get(*column, case)).len());
            heads.into_iter().chain(words).max().unwrap_or_default()
        };
        let widths: Vec<usize> = columns.iter().map(width).collect();
        let mut rows = vec![String::new(), String::new()];
        for (column, width) in columns.iter().zip(&widths) {
            let to = format!("to {}", column.server.name());
            write!(rows[0], "  {:width$}", column.client.name())?;
            write!(rows[1], "  {to:width$}")?;
        }
        for row in rows {
            writeln!(f, "{:<20}{}", "", row.trim_end())?;
        }
        for case in self.cases() {
            let mut row = String::new();
            for (column, width) in columns.iter().zip(&widths) {
                write!(row, "  {:width$}", word(self.get(*column, case)))?;
            }
            writeln!(f, "{:<20}{}", case.name(), row.trim_end())?;
        }
        writeln!(
            f,
            "\nok: all that the runner checks. 127: that end does not carry the case."
        )?;
        for (column, case, reason) in self.failures() {
            writeln!(f, "FAILED: {column}, {}: {reason}", case.name())?;
        }
        writeln!(f, "\nEndpoints:")?;
        for peer in peers::ALL {
            writeln!(f, "- {}: {}", peer.name(), peer.remark())?;
        }
        writeln!(f, "\nNot checked here:")?;
        NOT_CHECKED
            .iter()
            .try_for_each(|line| writeln!(f, "- {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Cell = Cell {
        client: Peer::Ours,
        server: Peer::Quinn,
        case: Case::Retry,
    };
    const PASSED: Cell = Cell {
        client: Peer::Aioquic,
        server: Peer::Ours,
        case: Case::Goodput,
    };

    /// Results of two cells in a folder of their own.
    fn results(folder: &Path) -> Results {
        let mut results = Results::open(folder).expect("a folder");
        let failed = Outcome::Failed("no <token>".to_owned());
        let passed = Outcome::Passed("9.05 Mbit/s".to_owned());
        results.note(FAILED, &failed).expect("it can be written");
        results.note(PASSED, &passed).expect("it can be written");
        results
    }

    #[test]
    fn a_run_goes_on_where_another_ended_and_a_later_outcome_takes_the_place_of_an_earlier_one() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(results(folder.path()));
        let lines = folder.path().join(LINES);
        let mut text = fs::read_to_string(&lines).expect("it was written");
        // A run that was killed in the middle of a line.
        text.push_str("{\"client\":\"imtcp\",\"server\":\"qu");
        fs::write(&lines, text).expect("it can be written");
        let mut again = Results::open(folder.path()).expect("a folder");
        assert!(again.has_failures());
        assert_eq!(again.columns().len(), 2);
        let passed = Outcome::Passed(String::new());
        again.note(FAILED, &passed).expect("it can be written");
        assert!(!again.has_failures());
        drop(again);
        let last = Results::open(folder.path()).expect("a folder");
        assert!(!last.has_failures());
        assert_eq!(last.columns().len(), 2);
    }

    #[test]
    fn a_failure_stands_in_the_table_and_below_it_with_its_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let results = results(folder.path());
        let text = results.to_string();
        for wanted in [
            "FAILED: imtcp to quinn, retry: no <token>",
            "9.05 Mbit/s",
            "to quinn",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        results.write_page().expect("it can be written");
        let page = fs::read_to_string(folder.path().join(PAGE)).expect("it was written");
        for wanted in [
            "<b>1</b> passed",
            "<b>1</b> failed",
            "<a href=\"#imtcp-quinn-retry\">FAILED</a>",
            "<li id=\"imtcp-quinn-retry\"><b>imtcp to quinn, retry</b>: no &lt;token&gt;</li>",
            ">9.05 Mbit/s</td>",
            "prefers-color-scheme:dark",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        // Nothing is fetched from anywhere.
        for unwanted in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(unwanted), "{unwanted}");
        }
    }
}
