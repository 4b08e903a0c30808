//! One page with everything: it needs no other file.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::Result;
use plotters::style::RGBColor;

use super::figures::{COLUMNS, beside, kinds, rows};
use super::plots;
use super::record::Play;
use crate::workspace;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>A video beside others</title><style>\
body{font:15px/1.45 sans-serif;margin:2em auto;max-width:84em;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:1em 0}td,th{border-bottom:1px solid #ccc;\
padding:.3em .7em;text-align:right}td{white-space:nowrap}\
th{vertical-align:bottom}td.t,th.t{text-align:left}\
tr.own{font-weight:bold}tr.first td{border-top:2px solid #888}\
svg{max-width:100%;height:auto}code,pre{font-size:13px;white-space:pre-wrap}\
.legend span{white-space:nowrap;margin-right:1.4em}.legend i{display:inline-block;width:1.5em;\
margin-right:.4em;vertical-align:middle}</style></head><body>\n";

/// The legend: colour, height in pixels, and what it is.
const LEGEND: [(RGBColor, u32, &str); 10] = [
    (plots::BIT_RATE, 3, "bit rate that the player chose"),
    (
        plots::SEGMENT,
        7,
        "throughput of each segment (dots); buffer below",
    ),
    (plots::GOODPUT, 12, "goodput in each second"),
    (plots::REQUIRED, 2, "required rate"),
    (plots::ESTIMATE, 1, "estimate of the available bandwidth"),
    (plots::KEPT, 7, "slot kept"),
    (plots::LIMITED, 7, "slot in which the player asked for less"),
    (plots::MISSED, 7, "slot missed"),
    (
        plots::TRIED,
        7,
        "slot in which more was tried, so that the player climbs",
    ),
    (plots::WAITING, 12, "the viewer waits (start, stalls)"),
];

/// What stands on the page beside the plays.
pub struct About<'a> {
    /// The path, in words.
    pub path: String,
    pub link_mbps: f64,
    pub title: String,
    pub plays: &'a [Play],
}

/// The page.
pub fn page(about: &About<'_>) -> Result<String> {
    let plays = about.plays;
    let mut page = HEAD.to_owned();
    page += "<h1>A video beside others, under three controllers</h1>\n";
    let _ = writeln!(
        page,
        "<p>{} {}</p>",
        escaped(&about.title),
        escaped(&about.path)
    );
    page += &table(plays);
    page += "<p>Medians of the runs; stalls, segments and slots over all of them. A segment is \
             fast enough to stay if 0.85 of its throughput is its bit rate: by this share the \
             player chooses. Of a promise, a slot in which the player asked for less than was \
             required counts as kept, and one in which the server tried for more than the player \
             needs, so that it can climb, counts apart; the plots tell them. TCP flows: \
             what all of them had together, before and after the video as well.</p>\n";
    page += &legend();
    let mut flows: Vec<u32> = plays.iter().map(|play| play.flows).collect();
    flows.sort_unstable();
    flows.dedup();
    for flows in flows {
        let _ = writeln!(page, "<h2>Beside {}</h2>", beside(flows));
        let own = kinds(plays).into_iter().filter(|kind| kind.0.0 == flows);
        let shown: Vec<&Play> = own.filter_map(|(_, runs)| middle(runs)).collect();
        page += &plots::draw(&shown, about.link_mbps)?;
    }
    page += "<p>Of several runs the one with the median bit rate is shown.</p>\n";
    page += &files(plays);
    page += &origin();
    page += "</body></html>\n";
    Ok(page)
}

/// The run in the middle.
fn middle(mut runs: Vec<&Play>) -> Option<&Play> {
    let rate = |play: &Play| play.qoe.mean_bitrate_kbps;
    runs.sort_by(|a, b| f64::total_cmp(&rate(a), &rate(b)));
    runs.get(runs.len().checked_sub(1)? / 2).copied()
}

fn table(plays: &[Play]) -> String {
    let mut text = "<table><tr>".to_owned();
    let class = |column| if column < 2 { " class=t" } else { "" };
    for (column, name) in COLUMNS.iter().enumerate() {
        let _ = write!(text, "<th{}>{}</th>", class(column), escaped(name));
    }
    text += "</tr>\n";
    let mut last = String::new();
    for row in rows(plays) {
        let own = if row[1] == "imtcp" { "own " } else { "" };
        let first = if row[0] == last { "" } else { "first" };
        let _ = write!(text, "<tr class=\"{own}{first}\">");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(text, "<td{}>{}</td>", class(column), escaped(cell));
        }
        text += "</tr>\n";
        last.clone_from(&row[0]);
    }
    text + "</table>\n"
}

fn legend() -> String {
    let mut text = "<p class=legend>".to_owned();
    for (RGBColor(red, green, blue), height, name) in LEGEND {
        let _ = write!(
            text,
            "<span><i style=\"background:rgb({red},{green},{blue});height:{height}px\"></i>{}\
             </span> ",
            escaped(name)
        );
    }
    text + "</p>\n"
}

/// Every run, with the names of its files.
fn files(plays: &[Play]) -> String {
    let mut text = "<h2>Every run</h2>\n<p>The data lie beside this page; <code>plays.json</code> \
                    has the figures of all runs.</p>\n<table>"
        .to_owned();
    text += "<tr><th class=t>files</th><th class=t>what a viewer would have seen</th></tr>\n";
    for play in plays {
        let name = super::name_of(play.controller, play.flows, play.run);
        let mut kinds = vec!["qoe.json", "segments.csv"];
        if play.qoe.slots.is_some() {
            kinds.extend(["slots.csv", "estimates.csv"]);
        }
        let links = kinds
            .iter()
            .map(|kind| format!("<a href=\"{name}-{kind}\">{kind}</a>"));
        let _ = writeln!(
            text,
            "<tr><td class=t>{name}: {}</td><td class=t>{}</td></tr>",
            links.collect::<Vec<_>>().join(" "),
            escaped(&play.qoe.to_string())
        );
    }
    text + "</table>\n"
}

/// The command and the versions.
fn origin() -> String {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let revision = said("git", &["describe", "--always", "--dirty"]);
    let kernel = said("uname", &["-srm"]);
    format!(
        "<h2>How it was made</h2>\n<pre>cargo xtask {}\nimtcp-cc {} (revision {}), {}</pre>\n\
         <p>Nothing is drawn by chance but what the machine does: there is no seed, and runs \
         differ.</p>\n",
        escaped(&command.join(" ")),
        env!("CARGO_PKG_VERSION"),
        escaped(&revision),
        escaped(&kernel)
    )
}

fn said(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command
        .current_dir(workspace::root())
        .args(arguments)
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let text = text.ok().filter(|text| !text.is_empty());
    text.unwrap_or_else(|| "unknown".to_owned())
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
