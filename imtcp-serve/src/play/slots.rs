//! The slots of the promise, as the server wrote them down (`imtcp-serve --slots`).

use crate::csv::TRY;
use anyhow::{Context, Result};
use serde::Serialize;
use std::path::Path;

/// How the slots ended. A slot of which the source offered less than was required is apart: its
/// player asked for no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Slots {
    /// The required rate was there.
    pub kept: u64,
    /// The player asked for less, and had that.
    pub source_limited: u64,
    /// The required rate was not there.
    pub missed: u64,
    /// Slots in which more was tried than the player needed, so that it could climb; they are not
    /// among the others.
    pub tried: u64,
    /// Requirements that the path did not allow.
    pub refused: u64,
}

impl Slots {
    /// Reads what the server has written so far.
    ///
    /// # Errors
    /// It cannot be read, or is no file of slots.
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file);
        let text = text.with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("{} is no file of slots", file.display()))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(|line| line.split(','));
        let columns: Vec<_> = lines.next()?.collect();
        let place = |name| columns.iter().position(|column| *column == name);
        let (event, what, note) = (place("event")?, place("what")?, place("note")?);
        let mut slots = Self::default();
        for line in lines {
            let fields: Vec<_> = line.collect();
            let count = match (*fields.get(event)?, *fields.get(what)?) {
                ("slot", _) if *fields.get(note)? == TRY => &mut slots.tried,
                ("slot", "kept") => &mut slots.kept,
                ("slot", "source_limited") => &mut slots.source_limited,
                ("slot", "missed") => &mut slots.missed,
                ("refused", _) => &mut slots.refused,
                _ => continue,
            };
            *count += 1;
        }
        Some(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::{Entry, SLOTS, slots_line};
    use imtcp_examples::requirement;
    use std::time::Duration;

    #[test]
    fn the_server_s_lines_are_counted() {
        let wanted = requirement::parse("8 Mbit/s per 2 s").expect("a requirement");
        let line = |entry: &Entry<'_>| slots_line("0a1b", Duration::ZERO, entry);
        let text = format!(
            "{SLOTS}\n{}\n{}\n0a1b,slot,kept,0,0,4,1,1,,,,,try,4\n\
             0a1b,slot,missed,1,4,8,1,1,,,,,,8\n\
             0a1b,slot,kept,2,8,12,1,1,,,,,,12\n",
            line(&Entry::Required(&wanted, None)),
            line(&Entry::Refused(&wanted, "too much")),
        );
        let expected = Slots {
            kept: 1,
            source_limited: 0,
            missed: 1,
            tried: 1,
            refused: 1,
        };
        assert_eq!(Slots::parse(&text), Some(expected));
        assert_eq!(Slots::parse("a,b\n1,2\n"), None);
        assert_eq!(Slots::parse(&format!("{SLOTS}\n0a1b")), None, "cut off");
    }
}
