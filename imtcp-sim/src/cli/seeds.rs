//! Seeds as they are written on the command line.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// More runs than this have no end, and a list of them no room.
const MOST: u128 = 1_000_000;

/// A range of seeds, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub RangeInclusive<u64>);

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ends = text.split_once("..").ok_or("write A..B, such as 1..10")?;
        let (first, last) = (ends.0, ends.1.trim_start_matches('='));
        let number = |text: &str| {
            let parsed = text.trim().parse::<u64>();
            parsed.map_err(|_| format!("`{text}` is not a whole number; write A..B, such as 1..10"))
        };
        let (first, last) = (number(first)?, number(last)?);
        if last < first {
            return Err(format!(
                "{first}..{last} holds no seed; let the second be the larger"
            ));
        }
        let count = u128::from(last - first) + 1;
        if count > MOST {
            return Err(format!(
                "`{first}..{last}` holds {count} seeds; at most {MOST} at a time"
            ));
        }
        Ok(Self(first..=last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_count() {
        assert_eq!("3..5".parse(), Ok(Seeds(3..=5)));
        assert_eq!("3..=5".parse(), Ok(Seeds(3..=5)));
        assert_eq!("7..7".parse(), Ok(Seeds(7..=7)));
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["5", "a..b", "5..3", ".."] {
            assert!(text.parse::<Seeds>().is_err(), "{text}");
        }
    }

    /// They were put into a list, for which there was no room.
    #[test]
    fn more_seeds_than_can_be_run_are_refused() {
        for (text, count) in [
            ("1..10000000000", "10000000000"),
            ("0..18446744073709551615", "18446744073709551616"),
            ("0..1000000", "1000001"),
        ] {
            let expected = format!("`{text}` holds {count} seeds; at most 1000000 at a time");
            assert_eq!(text.parse::<Seeds>(), Err(expected));
        }
        assert!("1..1000000".parse::<Seeds>().is_ok());
    }
}
