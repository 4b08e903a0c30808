//! One HTML file with everything in it: figures of one connection, or of several side by side.

mod encode;
mod lanes;
mod panels;

use crate::series::Series;
use encode::{LATEST_MS, Packer};
use lanes::lanes;
use panels::panels;
use serde_json::{Value, json};
use std::io::{self, Write};

/// A connection to be drawn.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it is called on the page.
    pub name: String,
    /// What its log says.
    pub series: Series,
    /// The available bandwidth as it really was, if somebody knows: bits per second over
    /// milliseconds.
    pub truth: Vec<(f64, f64)>,
}

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 3] = [
    include_str!("data.js"),
    include_str!("draw.js"),
    include_str!("page.js"),
];

/// Writes the page of these runs.
///
/// # Errors
/// The output fails.
pub fn write(title: &str, runs: &[Run], mut output: impl Write) -> io::Result<()> {
    let mut packer = Packer::default();
    let panels = panels(runs, &mut packer);
    let lanes: Vec<Value> = runs.iter().map(lanes).collect();
    let ends = runs.iter().map(|run| rounded(run.series.end_ms));
    let end_ms = ends.fold(0.0, f64::max);
    let directory = json!({
        "end_ms": end_ms,
        "several": runs.len() > 1,
        "panels": panels,
        "lanes": lanes,
    });
    let data = packer.finish()?;
    // Text inside a script element must neither end it nor begin a comment in it. In JSON this
    // letter is in strings alone.
    let directory = directory.to_string().replace('<', "\\u003c");
    let script = SCRIPTS.concat();
    let page = HTML
        .replace("/*STYLE*/", STYLE)
        .replace("<!--TITLE-->", &escaped(title))
        .replace("/*SCRIPT*/", &script);
    let (before, rest) = page.split_once("/*DIRECTORY*/").unwrap_or((&page, ""));
    let (between, after) = rest.split_once("/*DATA*/").unwrap_or((rest, ""));
    for part in [before, &directory, between, &data, after] {
        output.write_all(part.as_bytes())?;
    }
    output.flush()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A time to the microsecond, within what a page can draw.
fn rounded(time_ms: f64) -> f64 {
    (time_ms.clamp(-LATEST_MS, LATEST_MS) * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Log;
    use std::path::Path;

    fn directory(page: &str) -> &str {
        let start = "<script id=\"directory\" type=\"application/json\">";
        let (_, rest) = page.split_once(start).expect("a directory");
        let (directory, _) = rest.split_once("</script>").expect("its end");
        directory
    }

    fn page(title: &str, run: Run) -> String {
        let mut page = Vec::new();
        write(title, &[run], &mut page).expect("memory takes all");
        String::from_utf8(page).expect("text")
    }

    #[test]
    fn no_time_is_later_than_a_page_can_draw() {
        let text = concat!(
            "{\"qlog_version\":\"0.3\"}\n",
            "{\"time\":0,\"name\":\"quic:packet_lost\",\"data\":{}}\n",
            "{\"time\":1e300,\"name\":\"quic:packet_lost\",\"data\":{}}\n",
        );
        let mut log = Log::new(text.as_bytes(), Path::new("run")).expect("a log");
        let run = Run {
            name: "run".to_owned(),
            series: Series::of(&mut log, 16).expect("it can be read"),
            truth: Vec::new(),
        };
        let page = page("absurd", run);
        let directory: Value = serde_json::from_str(directory(&page)).expect("it is whole");
        let end_ms = directory["end_ms"].as_f64().expect("a number");
        assert!((1e12..=LATEST_MS).contains(&end_ms), "{end_ms}");
        assert_eq!(directory["lanes"][0]["losses"][1].as_f64(), Some(end_ms));
    }

    #[test]
    fn no_name_gets_out_of_the_page() {
        let odd = "a</script>b<!--<script>c";
        let header = b"{\"qlog_version\":\"0.3\"}\n";
        let mut log = Log::new(&header[..], Path::new("run")).expect("a log");
        let run = Run {
            name: odd.to_owned(),
            series: Series::of(&mut log, 16).expect("it can be read"),
            truth: vec![(0.0, 1.0)],
        };
        let page = page(odd, run);
        let directory = directory(&page);
        assert!(!directory.contains('<'), "{directory}");
        let directory: Value = serde_json::from_str(directory).expect("it is whole");
        assert_eq!(directory["lanes"][0]["name"], odd);
        assert!(page.contains("<title>a&lt;/script&gt;b&lt;!--&lt;script&gt;c</title>"));
    }
}
