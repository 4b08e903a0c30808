//! Standard output that can be full: `println!` panics where it cannot be written.

use std::fmt;
use std::io::{self, Write};

/// Says a line, as `println!` does, but returns an error where that panics.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::cli::stdout::write(format_args!("{}\n", format_args!($($words)*)))
    };
}

/// Writes text as it is.
pub fn write(text: impl fmt::Display) -> Result<(), String> {
    write!(io::stdout(), "{text}").map_err(|error| format!("cannot write standard output: {error}"))
}
