//! What a chore says on standard output, to a reader who may go: `cargo xtask doctor | head -1`.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use anyhow::Result;

/// Nobody reads standard output any more. It ends a chore without a word, and what the chore has
/// made is cleaned up on the way out.
#[derive(Debug)]
pub struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads standard output")
    }
}

impl std::error::Error for ReaderGone {}

/// Says a line, as `println!` does, but fails with [`ReaderGone`] where that panics.
macro_rules! say {
    ($($words:tt)+) => {
        $crate::output::line(format_args!($($words)+))
    };
}

/// What [`say!`] calls.
pub fn line(words: fmt::Arguments<'_>) -> Result<()> {
    writeln!(io::stdout(), "{words}").map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => ReaderGone.into(),
        _ => anyhow::Error::new(error).context("writing to standard output"),
    })
}
