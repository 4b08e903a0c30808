//! What a program says: its result, and meanwhile what goes on.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Says this on standard error, as a line. It is no error if nobody reads it: a server outlives
/// whoever keeps its log.
pub fn say(what: impl Display) {
    let _ = writeln!(io::stderr(), "{what}");
}

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
