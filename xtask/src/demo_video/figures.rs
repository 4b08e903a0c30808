//! The table of all plays, for the terminal and for the page.

use super::record::{Play, Qoe, Slots};
use crate::testbed::median;

/// The names of the columns.
pub const COLUMNS: [&str; 9] = [
    "beside",
    "controller",
    "mean bit rate, kbit/s (each run)",
    "start, s",
    "stalls (all runs)",
    "switches",
    "segments fast enough to stay",
    "slots kept",
    "TCP flows together, Mbit/s",
];

/// The plays under one controller beside so many flows.
pub type Kind<'p> = ((u32, &'static str), Vec<&'p Play>);

/// The kinds, in the order in which they were played first.
pub fn kinds(plays: &[Play]) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for play in plays {
        let name = (play.flows, play.controller);
        match kinds.iter_mut().find(|kind| kind.0 == name) {
            Some(kind) => kind.1.push(play),
            None => kinds.push((name, vec![play])),
        }
    }
    kinds
}

/// A row for each kind: medians, and sums over all runs. Bit rates stand there one by one, too: few
/// runs scatter.
pub fn rows(plays: &[Play]) -> Vec<[String; 9]> {
    kinds(plays).iter().map(row).collect()
}

fn row(((flows, controller), own): &Kind<'_>) -> [String; 9] {
    let middle = |of: fn(&Qoe) -> f64| {
        let values = own.iter().map(|play| of(&play.qoe));
        median(values).unwrap_or(f64::NAN)
    };
    let rates = own.iter().map(|play| play.qoe.mean_bitrate_kbps);
    let rates: Vec<_> = rates.map(|rate| format!("{rate:.0}")).collect();
    let stalls: u32 = own.iter().map(|play| play.qoe.stalls).sum();
    let stalled: f64 = own.iter().map(|play| play.qoe.stalled_s).sum();
    let fast: usize = own.iter().map(|play| play.fast_enough()).sum();
    let segments: usize = own.iter().map(|play| play.segments.len()).sum();
    let slots = own.iter().map(|play| play.qoe.slots);
    let slots: Option<Slots> = slots.sum();
    let rivals = median(own.iter().filter_map(|play| play.rivals_bps));
    [
        beside(*flows),
        (*controller).to_owned(),
        format!(
            "{:.0} ({})",
            middle(|qoe| qoe.mean_bitrate_kbps),
            rates.join(", ")
        ),
        format!(
            "{:.2}",
            middle(|qoe| qoe.startup_delay_s.unwrap_or(f64::INFINITY))
        ),
        format!("{stalls}, {stalled:.1} s"),
        format!("{:.0}", middle(|qoe| f64::from(qoe.switches))),
        format!("{fast} of {segments}"),
        slots.map_or("no promise".to_owned(), |slots| slots.to_string()),
        rivals.map_or(String::new(), |bps| format!("{:.1}", bps / 1e6)),
    ]
}

/// What a play is beside, in words.
pub fn beside(flows: u32) -> String {
    match flows {
        0 => "nobody".to_owned(),
        1 => "1 flow".to_owned(),
        more => format!("{more} flows"),
    }
}

/// The table in Markdown.
pub fn markdown(plays: &[Play]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let head = COLUMNS.map(str::to_owned);
    let rule = format!("|{}", "---|".repeat(COLUMNS.len()));
    let rows = rows(plays);
    let rows = rows.iter().map(|row| line(row));
    let lines = [line(&head), rule].into_iter().chain(rows);
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::record::Segment;
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_kind_with_medians_and_sums() {
        let play = |controller, rate: f64, stalls, slots| Play {
            controller,
            flows: 4,
            qoe: Qoe {
                startup_delay_s: Some(0.5),
                stalls,
                stalled_s: f64::from(stalls),
                mean_bitrate_kbps: rate,
                switches: 2,
                slots,
            },
            rivals_bps: Some(15e6),
            segments: [1000.0, 1200.0]
                .map(|throughput_kbps| Segment {
                    began_s: 0.0,
                    took_s: 1.0,
                    bytes: 1.0,
                    bitrate_kbps: 1000.0,
                    throughput_kbps,
                    buffer_before_s: 0.0,
                    buffer_after_s: 2.0,
                    stalled_s: 0.0,
                })
                .to_vec(),
            ..Play::default()
        };
        let slots = |kept, source_limited, missed| {
            Some(Slots {
                kept,
                source_limited,
                missed,
                tried: missed,
            })
        };
        let plays = [
            play("imtcp", 3000.0, 0, slots(3, 1, 1)),
            play("cubic", 2000.0, 1, None),
            play("imtcp", 4000.0, 2, slots(5, 0, 0)),
            play("imtcp", 9000.0, 0, slots(0, 0, 0)),
        ];
        let table = markdown(&plays);
        let rows: Vec<_> = table.lines().skip(2).collect();
        let expected = [
            "| 4 flows | imtcp | 4000 (3000, 4000, 9000) | 0.50 | 2, 2.0 s | 2 | 3 of 6 \
             | 9 of 10 (1 tries) | 15.0 |",
            "| 4 flows | cubic | 2000 (2000) | 0.50 | 1, 1.0 s | 2 | 1 of 2 \
             | no promise | 15.0 |",
        ];
        assert_eq!(rows, expected);
    }
}
