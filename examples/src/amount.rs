//! Amounts on a command line, and what is said where they are none.

use quantity::{QuantityError, Units};

/// Reads a number and one of these units, in the smallest of them.
///
/// # Errors
/// Says what is wrong, and what would be right: the units, or `example`.
pub(crate) fn parse(text: &str, units: Units<'_>, example: &str) -> Result<u64, String> {
    let (amount, _) = quantity::parse(text, units).map_err(|error| match &error {
        QuantityError::UnknownUnit { known, .. } => format!("{error}; known here: {known}"),
        _ => format!("{error}; {example}"),
    })?;
    Ok(amount)
}
