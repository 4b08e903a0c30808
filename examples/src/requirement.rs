//! What is required, as a command line says it: `8 Mbit/s per 2 s`.

use crate::amount;
use imtcp_cc::promise::{Demand, Requirement};
use imtcp_cc::units::Bandwidth;
use quantity::{RATES, SPANS};
use std::time::Duration;

const EXAMPLES: &str = "write `8 Mbit/s per 2 s`, or `exactly 3.3 Mbit/s per 4 s`";

/// Reads `[at least | exactly] RATE per PERIOD`. Without the first it is "at least".
///
/// # Errors
/// Says what is wrong and what would be right, as does [`Requirement::new`] of numbers that no path
/// can have.
pub fn parse(text: &str) -> Result<Requirement, String> {
    let (demand, rest) = demand(text.trim());
    let Some((rate, period)) = rest.split_once(" per ") else {
        return Err(format!("there is no period in `{text}`; {EXAMPLES}"));
    };
    let rate = Bandwidth::from_bps(amount::parse(rate, RATES, EXAMPLES)?);
    let period = Duration::from_nanos(amount::parse(period, SPANS, EXAMPLES)?);
    let requirement = Requirement::new(rate, period).map_err(|error| error.to_string())?;
    Ok(requirement.demand(demand))
}

fn demand(text: &str) -> (Demand, &str) {
    for (name, demand) in [
        ("at least ", Demand::AtLeast),
        ("exactly ", Demand::Exactly),
    ] {
        if let Some(rest) = text.strip_prefix(name) {
            return (demand, rest);
        }
    }
    (Demand::default(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_over_a_period_with_or_without_a_wish_for_more() {
        for (text, kbps, millis, demand) in [
            ("8 Mbit/s per 2 s", 8_000, 2_000, Demand::AtLeast),
            (
                "at least 0.5Gbit/s per 1min",
                500_000,
                60_000,
                Demand::AtLeast,
            ),
            (
                " exactly 3.3 Mbit/s per 4 s ",
                3_300,
                4_000,
                Demand::Exactly,
            ),
            ("exactly 64 kbit/s  per  250 ms", 64, 250, Demand::Exactly),
        ] {
            let expected =
                Requirement::new(Bandwidth::from_kbps(kbps), Duration::from_millis(millis));
            let expected = expected.expect("possible").demand(demand);
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        for (text, expected) in [
            ("", "there is no period in ``; write `8 Mbit/s per 2 s`"),
            ("8 Mbit/s", "there is no period in `8 Mbit/s`; write"),
            (
                "8 Mbit/s per second",
                "`second` does not begin with a number",
            ),
            ("fast per 2 s", "`fast` does not begin with a number; write"),
            ("-8 Mbit/s per 2 s", "`-8 Mbit/s` does not begin with"),
            (
                "1.2.3 Mbit/s per 2 s",
                "`1.2.3` is not a number that fits; write",
            ),
            ("8 per 2 s", "`8` has no unit; write `8 Mbit/s per 2 s`"),
            ("8 Mbps per 2 s", "unknown unit `Mbps`; known here: bit/s"),
            (
                "8 Mbit/s per 2 h",
                "unknown unit `h`; known here: ns, us, ms, s, min",
            ),
            ("exactly8 Mbit/s per 2 s", "does not begin with a number"),
            ("0 Mbit/s per 2 s", "a rate of 0"),
            ("8 Mbit/s per 0 s", "100µs to 3600s"),
            ("8 Mbit/s per 61 min", "100µs to 3600s"),
            ("9999999999 Gbit/s per 2 s", "1000.000 Gbit/s"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
