//! Files of a size that a program can hold: `/dev/zero` has no end.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Reads a file of at most so many bytes.
pub(crate) fn read(file: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    File::open(file)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it has more than {} MB", most / 1_000_000);
        return Err(Error::new(ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = read(Path::new("/dev/zero"), 3_000_000).expect_err("it has no end");
        assert_eq!(error.to_string(), "it has more than 3 MB");
        let itself = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let text = std::fs::read(&itself).expect("it is there");
        let length = text.len() as u64;
        assert_eq!(read(&itself, length).expect("it just fits"), text);
        assert!(read(&itself, length - 1).is_err());
    }
}
