//! Quantities as people write them: a number and its unit, `50 Mbit/s`, `90 ms`. Scenario files and
//! command lines are read with it; the library has types instead.

/// The names of units, each with its size in the smallest unit.
pub type Units<'u> = &'u [(&'static str, u64)];

/// Rates, in bits per second.
pub const RATES: Units<'static> = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
];

/// Spans of time, in nanoseconds.
pub const SPANS: Units<'static> = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
];

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text does not begin with a number.
    #[error("`{text}` does not begin with a number")]
    NoNumber {
        /// The text that was given.
        text: String,
    },
    /// The text is a number without a unit.
    #[error("`{text}` has no unit")]
    NoUnit {
        /// The text that was given.
        text: String,
    },
    /// The text after the number is not a known unit.
    #[error("unknown unit `{unit}`; known here: {known}")]
    UnknownUnit {
        /// The text that was found in place of a unit.
        unit: String,
        /// The known units, separated by commas.
        known: String,
    },
    /// The number has several points, is too large, or has too many decimals.
    #[error("`{number}` is not a number that fits")]
    DoesNotFit {
        /// The number as it was given.
        number: String,
    },
}

/// Reads a number and one of these units, with or without a space between them. Returns the
/// quantity in the smallest unit, and the name of the unit in the text. The quantity is rounded
/// down to the smallest unit, and is otherwise exact in decimals.
///
/// # Errors
/// The text is not a number, its unit is none of these, or it is above 2^64 of the smallest unit.
pub fn parse(text: &str, units: Units<'_>) -> Result<(u64, &'static str), QuantityError> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    if number.is_empty() {
        return Err(QuantityError::NoNumber {
            text: text.to_owned(),
        });
    }
    if unit.is_empty() {
        return Err(QuantityError::NoUnit {
            text: text.to_owned(),
        });
    }
    let Some((name, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        return Err(QuantityError::UnknownUnit {
            unit: unit.to_owned(),
            known: known.join(", "),
        });
    };
    let amount = scaled(number, *scale).ok_or_else(|| QuantityError::DoesNotFit {
        number: number.to_owned(),
    })?;
    Ok((amount, name))
}

fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let places = u32::try_from(fraction.len())
        .ok()
        .filter(|places| *places <= 18)?;
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let amount = digits.checked_mul(u128::from(scale))? / 10u128.pow(places);
    u64::try_from(amount).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_rounded_down() {
        assert_eq!(parse("0.1 Mbit/s", RATES), Ok((100_000, "Mbit/s")));
        assert_eq!(parse(" 2.5Gbit/s ", RATES), Ok((2_500_000_000, "Gbit/s")));
        assert_eq!(parse("0.3 us", SPANS), Ok((300, "us")));
        assert_eq!(parse("0.0000000019 s", SPANS), Ok((1, "s")));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let say = |text| parse(text, RATES).map_err(|error| error.to_string());
        for (text, expected) in [
            ("", "`` does not begin with a number"),
            ("-5 Mbit/s", "`-5 Mbit/s` does not begin with a number"),
            ("50", "`50` has no unit"),
            (
                "50 Mbps",
                "unknown unit `Mbps`; known here: bit/s, kbit/s, Mbit/s, Gbit/s",
            ),
            ("1.2.3 Mbit/s", "`1.2.3` is not a number that fits"),
            (". Mbit/s", "`.` is not a number that fits"),
            (
                "99999999999 Gbit/s",
                "`99999999999` is not a number that fits",
            ),
        ] {
            assert_eq!(say(text), Err(expected.to_owned()), "{text}");
        }
    }
}
