//! The server's file of slots.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A slot of a promise that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// It had the rate, or as much as the source offered.
    pub is_kept: bool,
    /// How long before its end it was first called at risk.
    pub notice_s: Option<f64>,
    /// The period.
    pub length_s: f64,
}

impl Slot {
    /// It was called at risk half a slot before its end or earlier.
    pub fn is_warned_in_time(&self) -> bool {
        self.notice_s
            .is_some_and(|notice| notice >= self.length_s / 2.0)
    }
}

/// Reads the slots in the file; other lines are left out.
pub fn read(path: &Path) -> Result<Vec<Slot>> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the slots in {}", path.display()))?;
    parse(&text).with_context(|| format!("{} is no file of slots", path.display()))
}

fn parse(text: &str) -> Option<Vec<Slot>> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next()?;
    let column = |name| header.iter().position(|column| *column == name);
    let (event, what) = (column("event")?, column("what")?);
    let (start, end, warned) = (column("start_s")?, column("end_s")?, column("warned_s")?);
    let slots = lines.filter(|line| line.get(event) == Some(&"slot"));
    slots
        .map(|line| {
            let seconds = |at: usize| line.get(at)?.parse::<f64>().ok();
            Some(Slot {
                is_kept: match *line.get(what)? {
                    "kept" | "source_limited" => true,
                    "missed" => false,
                    _ => return None,
                },
                notice_s: seconds(warned),
                length_s: seconds(end)? - seconds(start)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "path,seconds,event,what,slot,start_s,end_s,required_bps,achieved_bps,\
     warned_s,can_promise,cause,shortfall_bytes,note";

    #[test]
    fn slots_are_found_among_other_lines() {
        let text = format!(
            "{HEADER}\n\
             1,1.0,required,at_least,,,,8000000,,,,,,\n\
             1,1.5,status,at_risk,,,,,,,,crowded,125000,\n\
             1,3.0,slot,missed,0,1.0,3.0,8000000,7500000,1.0,0.25,,,\n\
             1,5.0,slot,kept,1,3.0,5.0,8000000,8500000,,0.75,,,\n"
        );
        let slots = parse(&text).expect("it is one");
        let found: Vec<_> = slots
            .iter()
            .map(|slot| (slot.is_kept, slot.is_warned_in_time(), slot.length_s))
            .collect();
        assert_eq!(found, [(false, true, 2.0), (true, false, 2.0)]);
        assert_eq!(parse("seconds,bytes\n1,2\n"), None);
        assert_eq!(
            parse(&format!("{HEADER}\n1,3.0,slot,good,0,1.0,3.0,,,,,,,\n")),
            None
        );
    }
}
