//! Files of a survey of promises: everything as JSON, one page to look at, and the scenarios of
//! paths where a promise was broken.

use super::OutputError;
use super::page::{escaped, percent, table};
use super::promise_plots::{forecasts, kept, rivals};
use crate::survey::Class;
use crate::survey::promise::{Carrier, Promised, Row, Tally};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// A class with its paths and what they come to.
type Surveyed = (Class, Vec<Promised>, Tally);

/// How many of the worst paths the page lists.
const SHOWN: usize = 20;

#[derive(Serialize)]
struct Written<'a> {
    class: &'static str,
    tally: &'a Tally,
    paths: &'a [Promised],
}

/// Writes an array with one object per class.
///
/// # Errors
/// The file cannot be written.
pub fn promise_json(surveyed: &[Surveyed], path: &Path) -> Result<(), OutputError> {
    let written = surveyed.iter().map(|(class, paths, tally)| Written {
        class: class.name(),
        tally,
        paths,
    });
    super::json(&written.collect::<Vec<_>>(), path)
}

/// Writes `promise.html`, which needs no other file, and `<class>-promise-<seed>.toml` for each
/// path on which the steering carrier missed a slot.
///
/// # Errors
/// A file cannot be written, or a figure cannot be drawn.
pub fn promise_files(surveyed: &[Surveyed], folder: &Path) -> Result<(), OutputError> {
    for (class, paths, _) in surveyed {
        let broken = paths
            .iter()
            .filter(|one| one.kept(Carrier::Imtcp) < Some(1.0));
        for one in broken.filter(|one| !one.text.is_empty()) {
            let file = folder.join(format!("{}-promise-{}.toml", class.name(), one.seed));
            std::fs::write(&file, &one.text).map_err(|error| OutputError::new(&file, error))?;
        }
    }
    let file = folder.join("promise.html");
    let page = page(surveyed).map_err(|problem| OutputError::new(&file, problem))?;
    std::fs::write(&file, page).map_err(|error| OutputError::new(&file, error))
}

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>Promises</title><style>\
body{font:15px/1.45 sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:1em 0}td,th{border-bottom:1px solid #ccc;\
padding:.25em .7em;text-align:right}td.t,th.t{text-align:left}tr.own{font-weight:bold}\
.missed{color:#b00}.met{color:#070}svg{max-width:100%;height:auto}</style></head><body>\n";

fn page(surveyed: &[Surveyed]) -> Result<String, String> {
    let mut page = HEAD.to_owned();
    page += "<h1>Promises on drawn paths</h1>\n<p>A slot is kept if the client has read what was \
             required in it. <em>Left</em> is a rival's max-min fair share of the link less the \
             promise; <em>due</em> is its share beside a flow that has what it requires, or its \
             own fair share if that is more and more is welcome to it.</p>\n";
    for (class, paths, tally) in surveyed {
        let _ = writeln!(
            page,
            "<h2>{}: {} paths</h2>",
            escaped(class.name()),
            paths.len()
        );
        page += &bars(tally);
        page += &rows(&tally.rows);
        page += &kept(paths)?;
        page += &rivals(paths)?;
        page += &forecasts(tally)?;
        page += &worst(paths);
    }
    page += "</body></html>\n";
    Ok(page)
}

fn bars(tally: &Tally) -> String {
    let mut table = table(&["bar", "wanted", "found", ""]);
    for bar in &tally.bars {
        let word = bar.in_words();
        let found = bar
            .found
            .map_or("-".to_owned(), |found| percent(found, 1) + " %");
        let _ = writeln!(
            table,
            "<tr><td class=t>{}</td><td>{}</td><td>{found}</td>\
             <td class={word}>{word}</td></tr>",
            escaped(&bar.name),
            escaped(&bar.wanted),
        );
    }
    table + "</table>\n"
}

fn rows(rows: &[Row]) -> String {
    let mut table = table(&[
        "required / fair",
        "carrier",
        "paths",
        "slots",
        "kept %",
        "mean of paths %",
        "p5 of required %",
        "own loss %",
        "rivals of left % (worst)",
        "rivals of due % (worst)",
        "queueing p95 ms",
    ]);
    let pair = |pair: Option<[f64; 2]>| {
        pair.map_or("-".to_owned(), |[middle, worst]| {
            format!("{} ({})", percent(middle, 1), percent(worst, 1))
        })
    };
    for row in rows {
        let cells = [
            row.carrier.name().to_owned(),
            row.paths.to_string(),
            row.slots.to_string(),
            percent(row.kept, 1),
            percent(row.kept_of_paths, 1),
            percent(row.p5, 1),
            percent(row.loss, 2),
            pair(row.of_left),
            pair(row.of_due),
            row.queueing_p95_ms
                .map_or("-".to_owned(), |ms| format!("{ms:.1}")),
        ];
        let own = if row.carrier == Carrier::Imtcp {
            " class=own"
        } else {
            ""
        };
        let _ = write!(
            table,
            "<tr{own}><td class=t>{}</td>",
            escaped(row.share.in_words())
        );
        for cell in cells {
            let _ = write!(table, "<td>{}</td>", escaped(&cell));
        }
        table += "</tr>\n";
    }
    table + "</table>\n"
}

fn worst(paths: &[Promised]) -> String {
    let ordered = Promised::worst_first(paths);
    if ordered.is_empty() {
        return String::new();
    }
    let mut table = "<h3>The worst paths</h3>\n".to_owned()
        + &table(&["seed", "kept %", "CUBIC %", "path", "beside", "promise"]);
    for (one, kept) in ordered.into_iter().take(SHOWN) {
        let [path, _] = one.facts.in_words();
        let cubic = one.kept(Carrier::Cubic);
        let _ = writeln!(
            table,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=t>{}</td><td class=t>{}</td>\
             <td class=t>{}</td></tr>",
            one.seed,
            percent(kept, 0),
            cubic.map_or("-".to_owned(), |kept| percent(kept, 0)),
            escaped(&path),
            escaped(&one.facts.rivals_in_words()),
            escaped(&one.wish.in_words()),
        );
    }
    table + "</table>\n"
}
