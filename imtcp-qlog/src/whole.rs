//! Whole numbers of others.

/// The whole part; what is below zero becomes zero, and what is too large the largest number.
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
#[expect(clippy::cast_sign_loss, reason = "the cast saturates at zero")]
pub(crate) fn whole(value: f64) -> u64 {
    value as u64
}
