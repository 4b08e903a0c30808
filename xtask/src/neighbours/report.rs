//! The table: sockets beside the simulator.

use std::fmt::Write as _;

use super::{Carrier, Kind, Measured, Neighbour};
use crate::testbed::median;

/// A figure of the neighbour: its name, the neighbour, how to find it, and whether more is better.
type Figure = (&'static str, Neighbour, fn(&Measured) -> Option<f64>, bool);

const FIGURES: [Figure; 3] = [
    (
        "a TCP flow (CUBIC), Mbit/s",
        Neighbour::Tcp,
        |run| Some(run.tcp_bps? / 1e6),
        true,
    ),
    (
        "packets of a call, mean delay in ms",
        Neighbour::Udp,
        |run| Some(run.delay_ms?.0),
        false,
    ),
    (
        "and 95th percentile",
        Neighbour::Udp,
        |run| Some(run.delay_ms?.1),
        false,
    ),
];

/// A play in a line.
pub fn in_words(run: &Measured) -> String {
    let mut text = String::new();
    if let Some(bps) = run.tcp_bps {
        let _ = write!(text, "the TCP flow beside it had {:.2} Mbit/s", bps / 1e6);
    }
    if let Some((mean, p95)) = run.delay_ms {
        let _ = write!(
            text,
            "the call's packets took {mean:.2} ms, p95 {p95:.2} ms"
        );
    }
    if run.slots > 0 {
        let _ = write!(text, "; {} of {} slots kept", run.kept, run.slots);
    }
    text
}

fn find(kinds: &[Kind], wanted: (Carrier, Neighbour, bool)) -> &[Measured] {
    let is_it = |kind: &&Kind| (kind.carrier, kind.neighbour, kind.is_simulated) == wanted;
    kinds.iter().find(is_it).map_or(&[], |kind| &kind.runs)
}

fn middle(runs: &[Measured], figure: fn(&Measured) -> Option<f64>) -> Option<f64> {
    median(runs.iter().filter_map(figure))
}

/// Medians, in Markdown, and each run on sockets.
pub fn table(kinds: &[Kind]) -> String {
    let mut text = "| neighbour | sockets: beside `imtcp` (each run) | beside `cubic` (each run) \
                    | change | simulated: beside `imtcp` | beside `cubic` | change |\n\
                    |---|---|---|---|---|---|---|"
        .to_owned();
    for (name, neighbour, figure, _) in FIGURES {
        let _ = write!(text, "\n| {name} |");
        for is_simulated in [false, true] {
            let of = |carrier| find(kinds, (carrier, neighbour, is_simulated));
            for carrier in [Carrier::Imtcp, Carrier::Cubic] {
                let each = of(carrier).iter().filter_map(figure);
                let each: Vec<_> = each.map(|value| format!("{value:.2}")).collect();
                let each = match is_simulated {
                    true => String::new(),
                    false => format!(" ({})", each.join(", ")),
                };
                let value = middle(of(carrier), figure);
                let value = value.map_or("none".to_owned(), |value| format!("{value:.2}"));
                let _ = write!(text, " {value}{each} |");
            }
            let change = change(of(Carrier::Imtcp), of(Carrier::Cubic), figure);
            let change = change.map_or("none".to_owned(), |part| format!("{:+.0} %", part * 100.0));
            let _ = write!(text, " {change} |");
        }
    }
    for (where_, is_simulated) in [("sockets", false), ("simulated", true)] {
        let runs = [Neighbour::Tcp, Neighbour::Udp];
        let runs = runs.map(|neighbour| find(kinds, (Carrier::Imtcp, neighbour, is_simulated)));
        let runs: Vec<&Measured> = runs.into_iter().flatten().collect();
        let slots: usize = runs.iter().map(|run| run.slots).sum();
        let kept: usize = runs.iter().map(|run| run.kept).sum();
        let achieved = runs.iter().flat_map(|run| run.achieved.iter().copied());
        let over = median(achieved).map_or(0.0, |ratio| (ratio - 1.0) * 100.0);
        let _ = write!(
            text,
            "\n\nThe promise, {where_}: {kept} of {slots} slots kept, {over:+.1} % of what is \
             required at the median slot."
        );
    }
    text
}

/// By what part a figure beside `imtcp` is above that beside CUBIC.
fn change(
    imtcp: &[Measured],
    cubic: &[Measured],
    figure: fn(&Measured) -> Option<f64>,
) -> Option<f64> {
    Some(middle(imtcp, figure)? / middle(cubic, figure)? - 1.0)
}

/// The figures in which a neighbour on sockets is no better off.
pub fn misses(kinds: &[Kind]) -> Vec<String> {
    let miss = |(name, neighbour, figure, is_more_better): &Figure| {
        let of = |carrier| find(kinds, (carrier, *neighbour, false));
        let change = change(of(Carrier::Imtcp), of(Carrier::Cubic), *figure);
        let is_better = change.is_some_and(|change| (change > 0.0) == *is_more_better);
        (!is_better).then(|| format!("{name}: no better beside imtcp than beside CUBIC"))
    };
    FIGURES.iter().filter_map(miss).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_that_is_no_better_off_is_a_miss() {
        let kind = |carrier, neighbour, run: Measured| Kind {
            carrier,
            neighbour,
            is_simulated: false,
            runs: vec![run],
        };
        let tcp = |mbps: f64| Measured {
            tcp_bps: Some(mbps * 1e6),
            ..Measured::default()
        };
        let udp = |mean, p95| Measured {
            delay_ms: Some((mean, p95)),
            ..Measured::default()
        };
        let kinds = [
            kind(Carrier::Imtcp, Neighbour::Tcp, tcp(30.0)),
            kind(Carrier::Cubic, Neighbour::Tcp, tcp(20.0)),
            kind(Carrier::Imtcp, Neighbour::Udp, udp(3.0, 9.0)),
            kind(Carrier::Cubic, Neighbour::Udp, udp(6.0, 8.0)),
        ];
        let misses = misses(&kinds);
        assert_eq!(misses.len(), 1, "{misses:?}");
        assert!(misses[0].starts_with("and 95th"), "{misses:?}");
        let table = table(&kinds);
        let row = "| a TCP flow (CUBIC), Mbit/s | 30.00 (30.00) | 20.00 (20.00) | +50 % | none |";
        assert!(table.contains(row), "{table}");
    }
}
