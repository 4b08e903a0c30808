//! The table, as text and as a page.

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
        // A line that was cut off belongs to a cell that is not there.
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
        writeln!(self.lines, "{}", serde_json::to_string(&line)?)?;
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

    /// Writes the page.
    pub fn write_page(&self) -> Result<()> {
        let path = self.folder.join(PAGE);
        fs::write(&path, self.page()?).with_context(|| format!("cannot write {}", path.display()))
    }

    fn page(&self) -> Result<String> {
        let mut page = String::from(PAGE_HEAD);
        let columns = self.columns();
        page.push_str("<table><thead><tr><th>case</th>");
        for column in &columns {
            write!(
                page,
                "<th>{}<br>to {}</th>",
                column.client.name(),
                column.server.name()
            )?;
        }
        page.push_str("</tr></thead><tbody>\n");
        for case in cases::ALL {
            write!(page, "<tr><th>{}</th>", case.name())?;
            for column in &columns {
                let outcome = self.get(*column, case);
                let class = match outcome {
                    Some(Outcome::Passed(_)) => "passed",
                    Some(Outcome::Failed(_)) => "failed",
                    Some(Outcome::Unsupported { .. }) => "unsupported",
                    None => "missing",
                };
                let title = outcome.map(ToString::to_string).unwrap_or_default();
                let title = escape(&title);
                write!(
                    page,
                    "<td class={class} title=\"{title}\">{}</td>",
                    word(outcome)
                )?;
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody></table>\n<h2>Failures</h2>\n<ul>\n");
        for (column, case, reason) in self.failures() {
            writeln!(
                page,
                "<li>{column}, {}: {}</li>",
                case.name(),
                escape(reason)
            )?;
        }
        page.push_str("</ul>\n<h2>Endpoints</h2>\n<ul>\n");
        for peer in peers::ALL {
            writeln!(page, "<li>{}: {}</li>", peer.name(), escape(peer.remark()))?;
        }
        page.push_str("</ul>\n<h2>Not checked here</h2>\n<ul>\n");
        for line in NOT_CHECKED {
            writeln!(page, "<li>{}</li>", escape(line))?;
        }
        page.push_str("</ul>\n</body></html>\n");
        Ok(page)
    }
}

/// A pair of endpoints.
#[derive(Clone, Copy)]
struct Column {
    client: Peer,
    server: Peer,
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

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
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
        for case in cases::ALL {
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

const PAGE_HEAD: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Interop</title><style>
body { font: 15px/1.5 sans-serif; margin: 2em; max-width: 75em; }
table { border-collapse: collapse; }
th, td { border: 1px solid #bbb; padding: .2em .6em; text-align: left; font-weight: normal; }
thead th { background: #eee; }
.passed { background: #d8f0d8; }
.failed { background: #f4c7c3; font-weight: bold; }
.unsupported { color: #777; }
</style></head><body>
<h1>The interop runner's cases</h1>
<p>"imtcp to quic-go": this project's client fetches from quic-go's server. <b>ok</b>: all that the
runner checks holds. <b>127</b>: that end says that it does not carry the case, or has no way to be
told of it.</p>
"#;
