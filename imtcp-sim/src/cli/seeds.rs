//! Seeds as they are written on the command line.

use std::ops::RangeInclusive;
use std::str::FromStr;

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
}
