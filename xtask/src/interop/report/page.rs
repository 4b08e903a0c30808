//! The table as a page to look at. It needs no other file and no network.

use std::fmt::Write;

use super::{Column, NOT_CHECKED, Results, word};
use crate::interop::cases::Case;
use crate::interop::cell::Outcome;
use crate::interop::peers::{self, Peer};

const STYLE: &str = include_str!("page.css");

const WHAT: &str = "This project\u{2019}s endpoint of the QUIC interop runner, \
    <b>imtcp</b>, against others, in both roles. <b>ok</b>: all that the runner checks holds. \
    <b>127</b>: that end says that it does not carry the case, or has no way to be told of it. \
    Point at a cell for its words.";

/// The whole page.
pub(super) fn page(results: &Results) -> String {
    let columns = results.columns();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>The interop runner\u{2019}s cases</title><style>{STYLE}</style></head><body>\n\
         <h1>The interop runner\u{2019}s cases</h1>\n<p>{WHAT}</p>\n"
    );
    page += &counts(results, &columns);
    page += "<div class=\"scroll\"><table>\n";
    page += &head(&columns);
    page += "<tbody>\n";
    for case in results.cases() {
        page += &row(results, case, &columns);
    }
    page += "</tbody></table></div>\n";
    page += &failures(results);
    let peers =
        peers::ALL.map(|peer| format!("<b>{}</b>: {}", peer.name(), escaped(&peer.remark())));
    page += &list("Endpoints", &peers);
    page += &list("Not checked here", &NOT_CHECKED.map(escaped));
    page + "</body></html>\n"
}

/// How many cells ended how.
fn counts(results: &Results, columns: &[Column]) -> String {
    let mut counts = [0_u32; 4];
    for column in columns {
        for case in results.cases() {
            let outcome = results.get(*column, case);
            let place = CLASSES.iter().position(|class| *class == class_of(outcome));
            counts[place.unwrap_or_default()] += 1;
        }
    }
    let words = ["passed", "failed", "not carried by an end", "not run"];
    let mut text = "<ul class=\"counts\">".to_owned();
    for ((count, words), class) in counts.into_iter().zip(words).zip(CLASSES) {
        if count > 0 || class == "failed" {
            // A green word for no failure.
            let class = if count == 0 { "passed" } else { class };
            let _ = write!(text, "<li class=\"{class}\"><b>{count}</b> {words}</li>");
        }
    }
    text + "</ul>\n"
}

/// How cells look, by their outcome.
const CLASSES: [&str; 4] = ["passed", "failed", "unsupported", "missing"];

fn class_of(outcome: Option<&Outcome>) -> &'static str {
    let [passed, failed, unsupported, missing] = CLASSES;
    match outcome {
        Some(Outcome::Passed(_)) => passed,
        Some(Outcome::Failed(_)) => failed,
        Some(Outcome::Unsupported { .. }) => unsupported,
        None => missing,
    }
}

/// Two rows: which role is this project's, and the other end.
fn head(columns: &[Column]) -> String {
    let is_client = |column: &&Column| column.client == Peer::Ours;
    let as_client = columns.iter().filter(is_client).count();
    let mut text = "<thead><tr><th rowspan=2>case</th>".to_owned();
    for (count, role) in [
        (as_client, "imtcp\u{2019}s client to the server of"),
        (
            columns.len() - as_client,
            "imtcp\u{2019}s server to the client of",
        ),
    ] {
        if count > 0 {
            let _ = write!(text, "<th class=first colspan={count}>{role}</th>");
        }
    }
    text += "</tr>\n<tr>";
    for (index, column) in columns.iter().enumerate() {
        let _ = write!(
            text,
            "<th{}>{}</th>",
            edge(index, as_client),
            column.other().name()
        );
    }
    text + "</tr></thead>\n"
}

/// Marks the first column of a role.
fn edge(index: usize, as_client: usize) -> &'static str {
    if index == 0 || index == as_client {
        " class=first"
    } else {
        ""
    }
}

fn row(results: &Results, case: Case, columns: &[Column]) -> String {
    let as_client = columns
        .iter()
        .filter(|column| column.client == Peer::Ours)
        .count();
    let mut text = format!(
        "<tr><th>{}<small>{}</small></th>",
        case.name(),
        escaped(case.about())
    );
    for (index, column) in columns.iter().enumerate() {
        let outcome = results.get(*column, case);
        let mut class = class_of(outcome).to_owned();
        if !edge(index, as_client).is_empty() {
            class += " first";
        }
        let title = outcome.map_or("not run".to_owned(), ToString::to_string);
        let (title, word) = (escaped(&title), escaped(&word(outcome)));
        let word = match outcome {
            Some(Outcome::Failed(_)) => {
                format!("<a href=\"#{}\">{word}</a>", anchor(*column, case))
            }
            None => "\u{2013}".to_owned(),
            _ => word,
        };
        let _ = write!(text, "<td class=\"{class}\" title=\"{title}\">{word}</td>");
    }
    text + "</tr>\n"
}

fn anchor(column: Column, case: Case) -> String {
    format!(
        "{}-{}-{}",
        column.client.name(),
        column.server.name(),
        case.name()
    )
}

fn failures(results: &Results) -> String {
    let mut text = String::new();
    for (column, case, reason) in results.failures() {
        let _ = writeln!(
            text,
            "<li id=\"{}\"><b>{column}, {}</b>: {}</li>",
            anchor(column, case),
            case.name(),
            escaped(reason)
        );
    }
    match text.is_empty() {
        true => text,
        false => format!("<h2>Failures</h2>\n<ul>\n{text}</ul>\n"),
    }
}

fn list(title: &str, lines: &[String]) -> String {
    format!(
        "<h2>{title}</h2>\n<ul>\n<li>{}</li>\n</ul>\n",
        lines.join("</li>\n<li>")
    )
}

/// Text for a page: nothing of it is taken for markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
