//! Seeds as they are written on the command line, as `imtcp-sim` takes them.

use anyhow::{Context, Result, ensure};

/// What `imtcp-sim` takes at a time.
const MOST: u128 = 1_000_000;

/// The first and the last of `A..B`.
pub fn parse(text: &str) -> Result<(u64, u64)> {
    let (first, last) = text.split_once("..").context("write A..B, such as 1..10")?;
    let number = |text: &str| {
        let number = text.trim().parse::<u64>();
        number.with_context(|| format!("`{text}` is not a whole number; write A..B, such as 1..10"))
    };
    let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
    ensure!(
        first <= last,
        "{first}..{last} holds no seed; let the second be the larger"
    );
    let count = u128::from(last - first) + 1;
    ensure!(
        count <= MOST,
        "`{first}..{last}` holds {count} seeds; at most {MOST} at a time"
    );
    Ok((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_count_and_nonsense_is_refused() {
        assert_eq!(parse("3..5").unwrap(), (3, 5));
        assert_eq!(parse("3..=5").unwrap(), (3, 5));
        for (text, expected) in [
            ("5", "write A..B"),
            ("a..5", "`a` is not a whole number"),
            ("5..3", "5..3 holds no seed"),
            (
                "0..18446744073709551615",
                "holds 18446744073709551616 seeds; at most 1000000",
            ),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
