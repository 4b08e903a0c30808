//! Files of mahimahi: one whole number a line, the millisecond of an opportunity.

use super::Trace;
use crate::bounded;
use std::fmt::Write;
use std::path::Path;

/// A trace longer than a day, in milliseconds, is none.
const LONGEST_MS: u32 = 86_400_000;

/// A quarter of an hour of 100 Mbit/s, with eight characters a line.
const MOST_BYTES: u64 = 64_000_000;

/// A file that is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The file.
    pub file: String,
    /// The line, counted from 1. None for the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl std::fmt::Display for TraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}; {}", self.problem, self.remedy)
    }
}

impl std::error::Error for TraceError {}

/// Reads a file.
///
/// # Errors
/// It cannot be read, or is no trace.
pub fn read(file: &Path) -> Result<Trace, TraceError> {
    let name = file.display().to_string();
    let text = bounded::read(file, MOST_BYTES).map_err(|error| TraceError {
        file: name.clone(),
        line: None,
        problem: format!("cannot be read: {error}"),
        remedy: "name a packet-delivery trace, or a drawn one such as `drawn-1`".to_owned(),
    })?;
    parse(&name, &String::from_utf8_lossy(&text))
}

/// Reads a trace from its text.
///
/// # Errors
/// A line is no whole number, or smaller than the one before; or there is nothing to repeat.
pub fn parse(name: &str, text: &str) -> Result<Trace, TraceError> {
    let wrong = |line, problem: String, remedy: &str| TraceError {
        file: name.to_owned(),
        line,
        problem,
        remedy: remedy.to_owned(),
    };
    let mut all: Vec<u32> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        let ms = text.parse().ok().filter(|ms| *ms <= LONGEST_MS);
        let Some(ms) = ms else {
            let shown: String = text.chars().take(40).collect();
            return Err(wrong(
                Some(line),
                format!("`{shown}` is no millisecond of a delivery"),
                "write one whole number a line, 0 to 86400000",
            ));
        };
        if let Some(before) = all.last().filter(|before| **before > ms) {
            return Err(wrong(
                Some(line),
                format!("{ms} comes after {before}"),
                "sort the lines: deliveries ascend",
            ));
        }
        all.push(ms);
    }
    Trace::new(name, &all).ok_or_else(|| match all.is_empty() {
        true => wrong(
            None,
            "there is no delivery in it".to_owned(),
            "write the millisecond of each delivery, one a line",
        ),
        false => wrong(
            Some(all.len()),
            "the last delivery is at 0, so it would repeat without end".to_owned(),
            "let the last line be the time after which it repeats",
        ),
    })
}

/// A trace as a file.
pub fn written(trace: &Trace) -> String {
    let mut text = String::new();
    for slot in &trace.slots {
        for _ in 0..slot.count {
            let _ = writeln!(text, "{}", slot.at.as_millis());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let text = "0\n3\n3\n12\n";
        let trace = parse("t", text).expect("a trace");
        assert_eq!(written(&trace), text);
        assert_eq!(parse("t", "0\r\n3\r\n3\r\n12"), Ok(trace));
    }

    #[test]
    fn a_malformed_file_is_told_with_line_fault_and_remedy() {
        for (text, expected) in [
            (
                "",
                "t: there is no delivery in it; write the millisecond of each delivery, one a line",
            ),
            (
                "1\n2.5\n",
                "t:2: `2.5` is no millisecond of a delivery; write one whole number a line, 0 to \
                 86400000",
            ),
            (
                "1\n\n2\n",
                "t:2: `` is no millisecond of a delivery; write one whole number a line, 0 to \
                 86400000",
            ),
            (
                "5\n86400001\n",
                "t:2: `86400001` is no millisecond of a delivery; write one whole number a line, 0 \
                 to 86400000",
            ),
            (
                "4\n9\n8\n",
                "t:3: 8 comes after 9; sort the lines: deliveries ascend",
            ),
            (
                "0\n0\n",
                "t:2: the last delivery is at 0, so it would repeat without end; let the last line \
                 be the time after which it repeats",
            ),
        ] {
            let error = parse("t", text).expect_err(text);
            assert_eq!(error.to_string(), expected);
        }
        let error = read(Path::new("no/such/trace")).expect_err("there is none");
        assert!(
            error
                .to_string()
                .starts_with("no/such/trace: cannot be read"),
            "{error}"
        );
    }
}
