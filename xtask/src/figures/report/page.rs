//! The page. It needs no other file and no network.

use std::fmt::Write;
use std::fs;

use super::super::bar::Verdict;
use super::super::outcome::{Cell, Held, Outcome, Over, Tried};
use super::super::row::{LEAST_SEEDS, Measure, Middle};
use super::super::store::{Run, Store};
use super::{escaped, number, plot};

const STYLE: &str = include_str!("page.css");

const WHAT: &str = "Every row runs real QUIC endpoints over simulated paths. A value is the median \
    over the seeds, if nothing else is said. The 95th percentile over the seeds on the bad side \
    (of fewer than twenty seeds the worst) is held to each bar as well, and others that make a bar \
    with theirs. In the figures faint dots are seeds, the strong dot \
    is their median, and strokes are bars: the good side is where the stroke points. What could \
    not be run counts as missed.";

/// The whole page: missed bars stand at the top.
pub fn page(outcomes: &[Outcome], store: &Store) -> String {
    let met = outcomes.iter().filter(|outcome| outcome.is_met()).count();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Published and measured</title><style>{STYLE}</style></head><body>\n\
         <h1>Published and measured</h1>\n<p>{WHAT}</p>\n\
         <p><b class=\"met\">{met} rows met</b>, <b class=\"missed\">{} missed</b>.</p>\n",
        outcomes.len() - met
    );
    page += &misses(outcomes);
    page += &overview(outcomes);
    for outcome in outcomes {
        page += &row(outcome, store);
    }
    page + "</body></html>\n"
}

/// All bars that are not met.
fn misses(outcomes: &[Outcome]) -> String {
    let mut text = "<section id=\"missed\"><h2>Missed bars</h2><div class=\"scroll\"><table>\
        <tr><th class=t>row</th><th class=t>case</th><th class=t>what</th><th>published</th>\
        <th class=t>over seeds</th><th>here</th><th>bar</th><th class=t></th></tr>\n"
        .to_owned();
    let mut any = false;
    for outcome in outcomes {
        let id = &outcome.row.id;
        if let Some(why) = &outcome.row.not_built {
            any = true;
            let _ = writeln!(
                text,
                "<tr><td class=t><a href=\"#{id}\">{id}</a></td><td class=t></td>\
                 <td class=t>{}</td><td>{}</td><td></td><td></td><td></td>\
                 <td class=\"t open\">not built: {}</td></tr>",
                escaped(&outcome.row.title),
                escaped(&outcome.row.published),
                escaped(why)
            );
        }
        if let Some(why) = &outcome.waits_for {
            any = true;
            let _ = writeln!(
                text,
                "<tr><td class=t><a href=\"#{id}\">{id}</a></td><td class=t></td>\
                 <td class=t>{}</td><td></td><td></td><td></td><td></td>\
                 <td class=\"t open\">{}</td></tr>",
                escaped(&outcome.row.title),
                escaped(why)
            );
        }
        let missed = outcome
            .held()
            .filter(|(.., held)| held.verdict != Some(Verdict::Met));
        for (measure, tried, cell, held) in missed {
            any = true;
            let _ = writeln!(
                text,
                "<tr><td class=t><a href=\"#{id}\">{id}</a></td><td class=t>{}</td>\
                 <td class=t>{}</td><td>{}</td><td class=t>{}</td><td>{}</td><td>{}</td>{}</tr>",
                escaped(&tried.case.label()),
                escaped(&measure.title()),
                escaped(held.published.as_deref().unwrap_or("")),
                over(measure, held),
                shown(here(cell, held), measure.digits),
                limit(held, measure.digits),
                verdict(held)
            );
        }
    }
    match any {
        true => text + "</table></div></section>\n",
        false => "<section id=\"missed\"><h2>No bar is missed</h2></section>\n".to_owned(),
    }
}

/// One line for each row, missed ones first.
fn overview(outcomes: &[Outcome]) -> String {
    let mut text = "<section><h2>Rows</h2><div class=\"scroll\"><table><tr><th class=t>row</th>\
        <th class=t>what</th><th>bars met</th><th>seeds</th><th class=t></th></tr>\n"
        .to_owned();
    let (good, bad): (Vec<&Outcome>, Vec<_>) = outcomes.iter().partition(|it| it.is_met());
    for outcome in bad.into_iter().chain(good) {
        let (met, all) = outcome.met();
        let (class, word) = match (outcome.is_met(), &outcome.row.not_built) {
            (true, _) => ("met", "met"),
            (false, None) => ("missed", "missed"),
            (false, Some(_)) => ("open", "not built"),
        };
        let _ = writeln!(
            text,
            "<tr><td class=t><a href=\"#{0}\">{0}</a></td><td class=t>{1}</td>\
             <td>{met} of {all}</td><td>{2}</td><td class=\"t {class}\">{word}</td></tr>",
            outcome.row.id,
            escaped(&outcome.row.title),
            seeds(outcome)
        );
    }
    text + "</table></div></section>\n"
}

fn seeds(outcome: &Outcome) -> String {
    let (text, fewest) = match outcome.seeds() {
        None => return "none".to_owned(),
        Some((least, most)) if least == most => (least.to_string(), least),
        Some((least, most)) => (format!("{least} to {most}"), least),
    };
    match fewest < LEAST_SEEDS {
        true => format!("{text}: a look, and no result"),
        false => text,
    }
}

fn row(outcome: &Outcome, store: &Store) -> String {
    let row = &outcome.row;
    let mut text = format!(
        "<section id=\"{0}\"><h2>{0} · {1}</h2><dl><dt>published</dt><dd>{2}</dd>\
         <dt>bar</dt><dd>{3}</dd><dt>seeds</dt><dd>{4}</dd>",
        row.id,
        escaped(&row.title),
        escaped(&row.published),
        escaped(&row.bar),
        seeds(outcome)
    );
    if let Some(note) = &row.note {
        let _ = write!(text, "<dt>note</dt><dd>{}</dd>", escaped(note));
    }
    text += "</dl>\n";
    if let Some(why) = &row.not_built {
        let _ = writeln!(
            text,
            "<p class=\"open\">Not built: {}</p></section>",
            escaped(why)
        );
        return text;
    }
    for (measure, cells) in row.measures.iter().zip(&outcome.cells) {
        let _ = writeln!(text, "<h3>{}</h3>", escaped(&measure.title()));
        text += &plot::of(outcome, measure, cells);
        text += &table(outcome, measure, cells);
    }
    text += &course(outcome, store);
    text += &commands(outcome);
    text + "</section>\n"
}

fn table(outcome: &Outcome, measure: &Measure, cells: &[Cell]) -> String {
    let mut text = "<div class=\"scroll\"><table><tr><th class=t>case</th><th>published</th>\
        <th class=t>over seeds</th><th>here</th><th>seeds from</th><th>to</th><th>bar</th>\
        <th class=t></th></tr>\n"
        .to_owned();
    let at = outcome.cases.iter().zip(cells);
    for (tried, cell) in at.filter(|(tried, _)| outcome.row.is_at(&tried.case, &measure.place)) {
        for held in cell.lines() {
            text += &line(tried, measure, cell, held);
        }
    }
    text + "</table></div>\n"
}

fn line(tried: &Tried, measure: &Measure, cell: &Cell, held: &Held) -> String {
    let digits = measure.digits;
    let end = |of: fn(f64, f64) -> f64| shown(cell.values.iter().copied().reduce(of), digits);
    let last = match (&held.verdict, &tried.nothing) {
        (None, Some(why)) => format!("<td class=\"t open\">{}</td>", escaped(why)),
        _ => verdict(held),
    };
    format!(
        "<tr><td class=t>{}</td><td>{}</td><td class=t>{}</td><td><b>{}</b></td><td>{}</td>\
         <td>{}</td><td>{}</td>{last}</tr>\n",
        escaped(&tried.case.label()),
        escaped(held.published.as_deref().unwrap_or("")),
        over(measure, held),
        shown(here(cell, held), digits),
        end(f64::min),
        end(f64::max),
        limit(held, digits)
    )
}

/// What of the seeds a line is about.
pub(super) fn over(measure: &Measure, held: &Held) -> &'static str {
    match (held.over, measure.seeds) {
        (Over::P95, _) => "p95",
        (Over::Middle, Middle::Median) => "median",
        (Over::Middle, Middle::Mean) => "mean",
        (Over::Middle, Middle::Highest) => "highest",
    }
}

/// The number of a line.
pub(super) fn here(cell: &Cell, held: &Held) -> Option<f64> {
    match held.over {
        Over::Middle => cell.middle,
        Over::P95 => held.number,
    }
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".to_owned(), |value| number(value, digits))
}

fn limit(held: &Held, digits: usize) -> String {
    held.limit
        .map_or(String::new(), |limit| escaped(&limit.words(digits)))
}

fn verdict(held: &Held) -> String {
    match &held.verdict {
        None => "<td></td>".to_owned(),
        Some(Verdict::Met) => "<td class=\"t met\">met</td>".to_owned(),
        Some(Verdict::Missed) => "<td class=\"t missed\">missed</td>".to_owned(),
        Some(Verdict::Open(why)) => format!("<td class=\"t open\">{}</td>", escaped(why)),
    }
}

/// A flow over time, as the simulator draws it.
fn course(outcome: &Outcome, store: &Store) -> String {
    let Some(course) = &outcome.row.course else {
        return String::new();
    };
    let shown = outcome
        .cases
        .iter()
        .find(|tried| outcome.row.is_shown(&tried.case, course));
    let Some((tried, seed)) = shown.and_then(|tried| Some((tried, tried.seeds.first()?))) else {
        return String::new();
    };
    let file = store.course(&Run::of(&tried.case, *seed), &course.flow);
    let Ok(svg) = fs::read_to_string(file) else {
        return String::new();
    };
    let mut words = vec![
        format!("flow {} over time", course.flow),
        tried.case.label(),
    ];
    words.push(format!("seed {seed}"));
    words.retain(|word| !word.is_empty());
    // The page's own document begins elsewhere.
    let from = svg.find("<svg").unwrap_or(0);
    format!(
        "<details><summary>{}</summary><div class=\"course\">{}</div></details>\n",
        escaped(&words.join(", ")),
        &svg[from..]
    )
}

/// How to run each case.
fn commands(outcome: &Outcome) -> String {
    let mut commands: Vec<String> = Vec::new();
    for tried in outcome
        .cases
        .iter()
        .filter(|tried| tried.case.not_built.is_none())
    {
        let command = command(tried);
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    format!(
        "<details><summary>commands</summary><pre>cargo xtask figures {}</pre><pre>{}</pre>\
         </details>\n",
        outcome.row.id,
        escaped(&commands.join("\n"))
    )
}

fn command(tried: &Tried) -> String {
    let quoted = |argument: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=,%+/:".contains(c);
        match argument.chars().all(plain) {
            true => argument.clone(),
            false => format!("'{}'", argument.replace('\'', "'\\''")),
        }
    };
    let arguments: Vec<String> = Run::of(&tried.case, 0)
        .arguments
        .iter()
        .map(quoted)
        .collect();
    let seeds = match (tried.seeds.first(), tried.seeds.last()) {
        (Some(first), Some(last)) => format!("{first}..{last}"),
        _ => "1..10".to_owned(),
    };
    format!("imtcp-sim run {} --seeds {seeds}", arguments.join(" "))
}
