//! A page about a survey of estimates: the classes with their bars, the worst paths, and for each
//! path a figure of estimate, interval and truth over time. It needs no other file and no network.

mod readings;

use super::OutputError;
use super::page::{escaped, percent, table};
use crate::survey::Class;
use crate::survey::estimate::{Measure, Reader, Score, Surveyed, Tally};
use readings::Readings;
use std::fmt::Write;
use std::path::Path;

/// How many of the worst paths are listed.
const SHOWN: usize = 12;
/// The scores of the table of all classes.
const OVERVIEW: [&str; 6] = [
    "median error",
    "90th percentile of errors",
    "reach",
    "coverage",
    "sharpness",
    "false confidence",
];

/// A page that grows with each class. It keeps what is shown, and no more.
#[derive(Debug, Default)]
pub struct EstimatePage {
    overview: String,
    classes: String,
    /// What was read on each path.
    paths: Vec<Readings>,
}

impl EstimatePage {
    /// A class, and what came of its paths.
    pub fn add(&mut self, class: Class, all: &[Surveyed], tally: &Tally) {
        self.overview += &overview(class, tally);
        let name = class.name();
        let _ = write!(
            self.classes,
            "<section id=\"{name}\"><h2>{name}: {} paths</h2>\n{}{}</section>\n",
            all.len(),
            medians(class, tally),
            worst(class, all, tally)
        );
        self.paths
            .extend(all.iter().map(|one| Readings::of(class, one)));
    }

    /// Writes the page.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), OutputError> {
        let page = self.page().map_err(|error| OutputError::new(file, error))?;
        std::fs::write(file, page).map_err(|error| OutputError::new(file, error))
    }

    fn page(&self) -> Result<String, serde_json::Error> {
        // Nothing inside may end the element.
        let data = serde_json::to_string(&self.paths)?.replace('<', "\\u003c");
        let (style, script) = (include_str!("page.css"), include_str!("figure.js"));
        let mut header = table(&["class", "paths"]);
        header.truncate(header.len() - "</tr>\n".len());
        for name in OVERVIEW.iter().chain(&["missed"]) {
            let _ = write!(header, "<th>{}</th>", escaped(name));
        }
        Ok(format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <title>Estimates on drawn paths</title><style>{style}</style></head><body>\n\
             <h1>Estimates on drawn paths</h1>\n<p>{WHAT}</p>\n\
             {header}</tr>\n{}</table>\n{FIGURE}\n{}\
             <script type=\"application/json\" id=\"data\">{data}</script>\n\
             <script>{script}</script></body></html>\n",
            self.overview, self.classes
        ))
    }
}

const WHAT: &str = "Read at every tenth of a second, against the truth of the second around. \
    Errors are shares of the capacity, in per cent, and medians over the paths. In brackets: the \
    bar, or for sharpness (the interval score) the best of those who do not know the truth.";

const FIGURE: &str = "<section id=\"figure\"><h2>A path over time</h2>\
    <p><label>class <select id=\"class\"></select></label> \
    <label>seed <select id=\"seed\"></select></label> <span id=\"words\"></span></p>\
    <div id=\"chart\"></div><p id=\"readout\">&nbsp;</p>\
    <p class=\"key\"><span class=\"capacity\">capacity</span> <span class=\"truth\">truth</span> \
    <span class=\"value\">estimate</span> <span class=\"interval\">95 % interval</span> \
    <span class=\"bound\">lower bound</span> <span class=\"old\">older than 1 s, or nothing</span>\
    </p><p>What is above one and a half times the capacity is cut there.</p>\
    <noscript>The figures are drawn by a script of this page.</noscript></section>";

/// A row of the table of all classes.
fn overview(class: Class, tally: &Tally) -> String {
    let missed = tally.misses(class);
    let mut row = format!(
        "<tr><td class=t><a href=\"#{0}\">{0}</a></td><td>{1}</td>",
        class.name(),
        tally.paths
    );
    let Some(own) = tally.column(Reader::Statistical) else {
        return row + "</tr>\n";
    };
    for measure in Measure::all(class) {
        if !OVERVIEW.contains(&measure.missed_as) {
            continue;
        }
        let bar = match measure.missed_as {
            "sharpness" => tally
                .sharpest_other()
                .map_or(String::new(), |it| percent(it, 1)),
            _ => measure.bar.clone(),
        };
        let word = verdict(missed.contains(&measure.missed_as));
        let value = measure.of(&own.medians);
        let _ = write!(
            row,
            "<td class={word}>{value} <small>({})</small></td>",
            escaped(&bar)
        );
    }
    let list = match missed.is_empty() {
        true => "all bars are met".to_owned(),
        false => missed.join(", "),
    };
    let word = verdict(!missed.is_empty());
    let _ = writeln!(row, "<td class=\"t {word}\">{list}</td></tr>");
    row
}

fn verdict(is_missed: bool) -> &'static str {
    if is_missed { "missed" } else { "met" }
}

/// The medians of a class, by reader.
fn medians(class: Class, tally: &Tally) -> String {
    let readers = tally.columns.iter().map(|column| column.reader.name());
    let header: Vec<&str> = ["", "bar"].into_iter().chain(readers).collect();
    let mut table = table(&header);
    let missed = tally.misses(class);
    for measure in Measure::all(class) {
        let _ = write!(
            table,
            "<tr><td class=t>{}</td><td>{}</td>",
            escaped(measure.name),
            escaped(&measure.bar)
        );
        for column in &tally.columns {
            let value = measure.of(&column.medians);
            let is_own = column.reader == Reader::Statistical && !measure.bar.is_empty();
            let word = match is_own {
                true => verdict(missed.contains(&measure.missed_as)),
                false => "plain",
            };
            let _ = write!(table, "<td class={word}>{value}</td>");
        }
        table += "</tr>\n";
    }
    table + "</table>\n"
}

/// The paths with the largest errors and with the least reach. Each leads to its figure.
fn worst(class: Class, all: &[Surveyed], tally: &Tally) -> String {
    let mut table = "<h3>The worst paths</h3>\n".to_owned()
        + &table(&[
            "seed",
            "p50 %",
            "p90 %",
            "reach %",
            "coverage %",
            "false %",
            "path",
            "sends",
        ]);
    for (one, score) in tally.worst_first(all).into_iter().take(SHOWN) {
        table += &worst_row(class, one, score);
    }
    table + "</table>\n"
}

fn worst_row(class: Class, one: &Surveyed, score: &Score) -> String {
    let number = |share: Option<f64>| share.map_or("-".to_owned(), |share| percent(share, 1));
    let [path, sends] = one.facts.in_words();
    format!(
        "<tr><td><a href=\"#{0}-{1}\">{1}</a></td><td>{2}</td><td>{3}</td><td>{4}</td>\
         <td>{5}</td><td>{6}</td><td class=t>{7}</td><td class=t>{8}</td></tr>\n",
        class.name(),
        one.seed,
        number(score.error_p50),
        number(score.error_p90),
        percent(score.reach, 1),
        number(score.coverage),
        percent(score.false_confidence, 1),
        escaped(&path),
        escaped(&sends)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::estimate::run;

    #[test]
    fn the_page_has_a_row_for_each_class_and_a_figure_for_each_path() {
        let mut page = EstimatePage::default();
        for class in [Class::Fixed, Class::Hosts] {
            let path = class.draw(3).expect("what is drawn is valid");
            let all = vec![run(&path, 3, false).unwrap_or_else(|error| panic!("{error}"))];
            let tally = Tally::of(&all);
            // The class, its paths, the scores by their names, and what is missed.
            let cells = overview(class, &tally).matches("<td").count();
            assert_eq!(cells, OVERVIEW.len() + 3, "{}", class.name());
            page.add(class, &all, &tally);
        }
        let text = page.page().expect("plain data");
        for wanted in [
            "<a href=\"#fixed\">fixed</a>",
            "<a href=\"#hosts-3\">3</a>",
            "<section id=\"figure\">",
            "prefers-color-scheme: dark",
            "\"class\":\"hosts\",\"seed\":3,",
        ] {
            assert!(text.contains(wanted), "{wanted}");
        }
        // Nothing is fetched from anywhere.
        for unwanted in ["http://", "https://", "src=", "@import", "url("] {
            let found = text
                .replace("http://www.w3.org/2000/svg", "")
                .contains(unwanted);
            assert!(!found, "{unwanted}");
        }
    }
}
