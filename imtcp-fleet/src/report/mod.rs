//! A page with the answers to all ready questions. It loads nothing, and needs no script.

mod chart;

use crate::answer;
use crate::engine::Engine;
use crate::questions::{Question, READY, TABLE};
use anyhow::{Context, Result};
use std::fmt::Write;

/// Rows of a table at most. Whoever wants all of them asks the question itself.
const MOST_ROWS: usize = 200;

/// Networks of which there is a chart.
const CHARTS: usize = 12;

const STYLE: &str = "
:root { color-scheme: light dark; --line: #1f6fb2; --band: #1f6fb233; --grid: #8886; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--grid); text-align: right }
th { vertical-align: bottom; max-width: 9rem }
.text { text-align: left }
.charts { display: flex; flex-wrap: wrap; gap: 1rem }
figure { margin: 0 } figcaption { font-size: .85rem }
svg text { font-size: 10px; fill: currentColor }
p.note { font-size: .85rem; opacity: .8 }
";

/// The page of a table.
///
/// # Errors
/// A question cannot be answered.
pub async fn page(engine: &Engine, title: &str) -> Result<String> {
    let total = total(engine).await?;
    let mut body = format!("<h1>{}</h1>\n<p>{}</p>\n", escaped(title), escaped(&total));
    for question in READY {
        let answered = engine.ask(&question.with_functions()).await;
        let answered = answered.with_context(|| format!("the question `{}`", question.name))?;
        let (names, rows) = answer::texts(&answered)?;
        section(&mut body, question, &names, &rows);
    }
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(title)
    ))
}

async fn total(engine: &Engine) -> Result<String> {
    let sql =
        format!("SELECT count(*), min(began), max(began), count(distinct prefix) FROM {TABLE}");
    let (_, rows) = answer::texts(&engine.ask(&sql).await?)?;
    let values = rows.into_iter().next().unwrap_or_default();
    Ok(match values.as_slice() {
        [count, first, last, networks] if count != "0" => {
            format!("{count} connections of {networks} networks, begun from {first} to {last}.")
        }
        _ => "The table has no rows.".to_owned(),
    })
}

fn section(body: &mut String, question: &Question, names: &[String], rows: &[Vec<String>]) {
    let _ = writeln!(body, "<h2>{}</h2>", escaped(question.title));
    if rows.is_empty() {
        body.push_str("<p>No connection tells this.</p>\n");
        return;
    }
    if question.name == "available" {
        body.push_str(&chart::charts(rows, CHARTS));
    }
    body.push_str("<table>\n<tr>");
    let keys = question.keys.len();
    let class = |at: usize| if at < keys { " class=\"text\"" } else { "" };
    for (at, name) in names.iter().enumerate() {
        let _ = write!(
            body,
            "<th{}>{}</th>",
            class(at),
            escaped(&name.replace('_', " "))
        );
    }
    body.push_str("</tr>\n");
    for row in busiest(question, names, rows) {
        body.push_str("<tr>");
        for (at, value) in row.iter().enumerate() {
            let _ = write!(body, "<td{}>{}</td>", class(at), escaped(value));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table>\n");
    if rows.len() > MOST_ROWS {
        let _ = writeln!(
            body,
            "<p class=\"note\">The {MOST_ROWS} rows with most connections, of {}. \
             <code>imtcp-fleet ask {}</code> tells all.</p>",
            rows.len(),
            question.name
        );
    }
}

/// The rows with most connections, in the order of the answer.
fn busiest<'a>(
    question: &Question,
    names: &[String],
    rows: &'a [Vec<String>],
) -> Vec<&'a Vec<String>> {
    let counted = names.iter().position(|name| name == "connections");
    let counted = counted.unwrap_or(question.keys.len());
    let count = |row: &Vec<String>| row.get(counted).and_then(|text| text.parse::<u64>().ok());
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(count(&rows[*at])));
    order.truncate(MOST_ROWS);
    order.sort_unstable();
    order.into_iter().map(|at| &rows[at]).collect()
}

/// Text that a browser takes for text.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_log_says_cannot_become_part_of_the_page() {
        let rows = vec![vec!["<script>\"&".to_owned(), "1".to_owned()]];
        let names = ["controller".to_owned(), "connections".to_owned()];
        let mut body = String::new();
        let question = crate::questions::named("controllers").expect("it is ready");
        section(&mut body, question, &names, &rows);
        assert!(body.contains("&lt;script&gt;&quot;&amp;"), "{body}");
        assert!(!body.contains("<script"), "{body}");
    }
}
