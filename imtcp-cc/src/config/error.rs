//! What is wrong with a setting.

use std::fmt;

/// A setting that is outside its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    setting: &'static str,
    value: String,
    allowed: String,
}

impl ConfigError {
    pub(crate) fn new(setting: &'static str, value: String, allowed: impl Into<String>) -> Self {
        Self {
            setting,
            value,
            allowed: allowed.into(),
        }
    }

    /// The name of the setting.
    pub fn setting(&self) -> &'static str {
        self.setting
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is {}; it must be {}",
            self.setting, self.value, self.allowed
        )
    }
}

impl std::error::Error for ConfigError {}
