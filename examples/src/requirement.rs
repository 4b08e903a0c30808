//! What is required, as a command line says it: `8 Mbit/s per 2 s`.

use imtcp_cc::promise::{Demand, Requirement};

/// Names of units and what they are in bits per second.
const RATES: &[(&str, f64)] = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
];

/// And in seconds.
const PERIODS: &[(&str, f64)] = &[("ms", 1e-3), ("s", 1.0), ("min", 60.0)];

const EXAMPLES: &str = "write `8 Mbit/s per 2 s`, or `exactly 3.3 Mbit/s per 4 s`";

/// Reads `[at least | exactly] RATE per PERIOD`. Without the first it is "at least".
///
/// # Errors
/// Says what is wrong and what would be right, as does [`Requirement::from_f64`] of numbers that no path
/// can have.
pub fn parse(text: &str) -> Result<Requirement, String> {
    let (demand, rest) = demand(text.trim());
    let Some((rate, period)) = rest.split_once(" per ") else {
        return Err(format!("there is no period in `{text}`; {EXAMPLES}"));
    };
    let rate = quantity(rate, RATES)?;
    let period = quantity(period, PERIODS)?;
    let requirement = Requirement::from_f64(rate, period).map_err(|error| error.to_string())?;
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

/// A number and one of these units; in what they are given in.
fn quantity(text: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` does not begin with a number; {EXAMPLES}"))?;
    let unit = unit.trim();
    let known = units.iter().find(|(name, _)| *name == unit);
    let (_, scale) = known.ok_or_else(|| {
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        let known = known.join(", ");
        match unit {
            "" => format!("`{text}` has no unit; known here: {known}"),
            unit => format!("unknown unit `{unit}`; known here: {known}"),
        }
    })?;
    Ok(number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::units::Bandwidth;
    use std::time::Duration;

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
            ("1.2.3 Mbit/s per 2 s", "does not begin with a number"),
            ("8 per 2 s", "`8` has no unit; known here: bit/s, kbit/s"),
            ("8 Mbps per 2 s", "unknown unit `Mbps`; known here: bit/s"),
            (
                "8 Mbit/s per 2 h",
                "unknown unit `h`; known here: ms, s, min",
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
