//! What a player tells, and the table of it.

use std::fmt::{self, Write as _};

use serde::Deserialize;

use crate::testbed::median;

/// What `imtcp-play` prints, as far as the table needs it.
#[derive(Clone, Debug, Deserialize)]
pub struct Qoe {
    startup_delay_s: Option<f64>,
    stalls: u32,
    stalled_s: f64,
    mean_bitrate_kbps: f64,
    switches: u32,
}

impl fmt::Display for Qoe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.startup_delay_s {
            Some(delay) => write!(f, "began after {delay:.2} s")?,
            None => write!(f, "never began")?,
        }
        write!(
            f,
            ", {} stalls of {:.1} s, {:.0} kbit/s, {} switches",
            self.stalls, self.stalled_s, self.mean_bitrate_kbps, self.switches
        )
    }
}

/// A play: the controller, the flows beside it, and what came of it.
pub type Play = (&'static str, u32, Qoe);

/// The medians, in Markdown. Bit rates stand there one by one, too: few runs scatter.
pub fn table(plays: &[Play]) -> String {
    let mut text = "| beside | controller | mean bit rate, kbit/s (each run) | start, s | stalls \
                    (all runs) | switches |\n|---|---|---|---|---|---|"
        .to_owned();
    let mut kinds: Vec<_> = plays
        .iter()
        .map(|(controller, flows, _)| (*flows, *controller))
        .collect();
    // In the order in which they were played first.
    let mut seen = Vec::new();
    kinds.retain(|kind| {
        let is_new = !seen.contains(kind);
        seen.push(*kind);
        is_new
    });
    for (flows, controller) in kinds {
        let own = plays
            .iter()
            .filter(|play| (play.1, play.0) == (flows, controller));
        let own: Vec<&Qoe> = own.map(|play| &play.2).collect();
        let middle =
            |of: fn(&Qoe) -> f64| median(own.iter().map(|qoe| of(qoe))).unwrap_or(f64::NAN);
        let rates: Vec<_> = own
            .iter()
            .map(|qoe| format!("{:.0}", qoe.mean_bitrate_kbps))
            .collect();
        let stalls: u32 = own.iter().map(|qoe| qoe.stalls).sum();
        let stalled: f64 = own.iter().map(|qoe| qoe.stalled_s).sum();
        // Writing into a text cannot fail.
        let _ = write!(
            text,
            "\n| {flows} flows | `{controller}` | {:.0} ({}) | {:.2} | {stalls}, {stalled:.1} s | \
             {:.0} |",
            middle(|qoe| qoe.mean_bitrate_kbps),
            rates.join(", "),
            middle(|qoe| qoe.startup_delay_s.unwrap_or(f64::INFINITY)),
            middle(|qoe| f64::from(qoe.switches)),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_kind_with_medians_and_sums() {
        let qoe = |rate: f64, stalls| Qoe {
            startup_delay_s: Some(0.5),
            stalls,
            stalled_s: f64::from(stalls),
            mean_bitrate_kbps: rate,
            switches: 2,
        };
        let plays = [
            ("imtcp", 4, qoe(3000.0, 0)),
            ("cubic", 4, qoe(2000.0, 1)),
            ("imtcp", 4, qoe(4000.0, 2)),
            ("imtcp", 4, qoe(9000.0, 0)),
        ];
        let table = table(&plays);
        let rows: Vec<_> = table.lines().skip(2).collect();
        let expected = [
            "| 4 flows | `imtcp` | 4000 (3000, 4000, 9000) | 0.50 | 2, 2.0 s | 2 |",
            "| 4 flows | `cubic` | 2000 (2000) | 0.50 | 1, 1.0 s | 2 |",
        ];
        assert_eq!(rows, expected);
    }
}
