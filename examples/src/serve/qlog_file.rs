//! A file for a connection's qlog that tells when it cannot be written. quiche goes on without a
//! word, and a log that ends early looks like a connection that did.

use crate::output::say;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file.
pub(super) struct QlogFile {
    file: BufWriter<File>,
    path: PathBuf,
    is_told: bool,
}

impl QlogFile {
    /// Makes the file anew.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::new(File::create(path)?),
            path: path.to_owned(),
            is_told: false,
        })
    }

    /// Tells the first failure.
    fn noted<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &outcome
            && !self.is_told
        {
            self.is_told = true;
            let path = self.path.display();
            say(format_args!("warning: the qlog {path} ends early: {error}"));
        }
        outcome
    }
}

impl Write for QlogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.noted(flushed)
    }
}

impl Drop for QlogFile {
    fn drop(&mut self) {
        // Whatever is wrong has been told.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_cannot_be_written_is_told_once() {
        let mut file = QlogFile::create(Path::new("/dev/full")).expect("every machine has it");
        file.write_all(b"fits the buffer").expect("it waits");
        assert!(!file.is_told);
        let error = file.flush().expect_err("the device is full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(file.is_told);
    }
}
