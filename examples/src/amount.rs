//! Amounts on a command line, and what is said where they are none.

use quantity::Units;

/// Reads a number and one of these units, in the smallest of them.
///
/// # Errors
/// Says what is wrong, and what would be right: `example`.
pub(crate) fn parse(text: &str, units: Units<'_>, example: &str) -> Result<u64, String> {
    let read = quantity::parse(text, units);
    let (amount, _) = read.map_err(|error| format!("{error}; {example}"))?;
    Ok(amount)
}
