//! What a program says at its end.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Prints this as a line. It is no error if nobody reads it: the work is done.
///
/// # Errors
/// Standard output cannot be written to for another reason.
pub fn print(result: &impl Display) -> io::Result<()> {
    match writeln!(io::stdout(), "{result}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}
