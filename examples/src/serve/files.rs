//! The files below the root, and nothing else.

use anyhow::{Context, Result, ensure};
use nix::libc;
use percent_encoding::percent_decode;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How much of a file is read at a time. Reading is done between sends; from the page cache it
/// takes about 10 µs.
const CHUNK: usize = 64 << 10;

/// The folder that is served.
#[derive(Debug)]
pub struct Root(PathBuf);

/// Why a request gets no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such file, or it is not below the root; nobody is told which.
    Missing,
    /// It cannot be opened now, for example because too many files are open.
    Unavailable,
    /// Not a GET.
    Method,
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        let is_absence = matches!(
            error.kind(),
            ErrorKind::NotFound
                | ErrorKind::PermissionDenied
                | ErrorKind::NotADirectory
                | ErrorKind::IsADirectory
                | ErrorKind::InvalidFilename
                | ErrorKind::InvalidInput
        );
        // Links in a circle, and sockets.
        if is_absence || matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO)) {
            Self::Missing
        } else {
            Self::Unavailable
        }
    }
}

impl Refusal {
    /// The status of HTTP that says so.
    pub fn status(self) -> &'static str {
        match self {
            Self::Missing => "404",
            Self::Unavailable => "503",
            Self::Method => "405",
        }
    }

    /// A line for the one who asked.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Missing => "There is no such file here.\n",
            Self::Unavailable => "The file cannot be opened now; ask again later.\n",
            Self::Method => "Only GET is understood here.\n",
        }
    }
}

impl Root {
    /// The folder, which has to be there.
    ///
    /// # Errors
    /// It is not there, or is not a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("cannot serve the folder {}", folder.display()))?;
        ensure!(
            folder.is_dir(),
            "cannot serve {}: it is not a folder",
            folder.display()
        );
        Ok(Self(folder))
    }

    /// The file that the path of a URL names.
    ///
    /// # Errors
    /// There is no such file below the root, or it cannot be opened now.
    pub fn find(&self, path: &[u8]) -> Result<Content, Refusal> {
        let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
        let name = percent_decode(path).decode_utf8();
        let name = name.map_err(|_| Refusal::Missing)?;
        // Resolves `..` and links before it is asked where the file lies.
        let real = self.0.join(name.trim_start_matches('/')).canonicalize()?;
        if !real.starts_with(&self.0) {
            return Err(Refusal::Missing);
        }
        let mut options = OpenOptions::new();
        // Opening a pipe waits for its writer otherwise, and all connections with it.
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let file = options.open(real)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Refusal::Missing);
        }
        Ok(Content::from_file(file, metadata.len()))
    }
}

/// What remains of a body.
#[derive(Debug)]
pub struct Content {
    /// None if all of it is in `chunk`.
    file: Option<File>,
    chunk: Vec<u8>,
    /// Bytes of `chunk` that are sent.
    sent: usize,
    remaining: u64,
}

impl Content {
    fn from_file(file: File, length: u64) -> Self {
        Self {
            file: Some(file),
            chunk: Vec::new(),
            sent: 0,
            remaining: length,
        }
    }

    /// A text of one's own.
    pub fn from_text(text: &str) -> Self {
        Self {
            file: None,
            chunk: text.as_bytes().to_vec(),
            sent: 0,
            remaining: text.len() as u64,
        }
    }

    /// Bytes still to be sent.
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// The bytes to be sent next; empty only at the end.
    ///
    /// # Errors
    /// The file cannot be read, or has become shorter.
    pub fn chunk(&mut self) -> io::Result<&[u8]> {
        if self.sent == self.chunk.len()
            && let Some(file) = &mut self.file
        {
            let length = usize::try_from(self.remaining).map_or(CHUNK, |left| left.min(CHUNK));
            self.chunk.resize(length, 0);
            file.read_exact(&mut self.chunk)?;
            self.sent = 0;
        }
        Ok(&self.chunk[self.sent..])
    }

    /// The first `count` bytes of the chunk are sent.
    pub fn consume(&mut self, count: usize) {
        self.sent += count;
        self.remaining -= count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    fn root() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("a folder");
        let served = folder.path().join("served");
        fs::create_dir_all(served.join("below")).expect("a folder");
        fs::write(served.join("below/a b.txt"), "text").expect("a file");
        fs::write(folder.path().join("secret"), "key").expect("a file");
        std::os::unix::fs::symlink(folder.path().join("secret"), served.join("link"))
            .expect("a link");
        let root = Root::open(&served).expect("the folder is there");
        (folder, root)
    }

    #[test]
    fn a_file_below_the_root_is_found_by_its_encoded_name() {
        let (_folder, root) = root();
        let mut content = root
            .find(b"/below/a%20b.txt?v=1")
            .expect("the file is there");
        assert_eq!(content.remaining(), 4);
        assert_eq!(content.chunk().expect("readable"), b"text");
    }

    #[test]
    fn nothing_outside_the_root_is_found() {
        let (_folder, root) = root();
        for path in [
            "/../secret",
            "/below/../../secret",
            "//etc/passwd",
            "/%2e%2e/secret",
            "/link",
            "/below",
            "/",
            "/nothing",
        ] {
            assert_eq!(
                root.find(path.as_bytes()).err(),
                Some(Refusal::Missing),
                "{path}"
            );
        }
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let (_folder, root) = root();
        let made = Command::new("mkfifo").arg(root.0.join("pipe")).status();
        assert!(made.expect("there is a mkfifo").success());
        let (tell, told) = mpsc::channel();
        // It is left behind if it waits.
        thread::spawn(move || tell.send(root.find(b"/pipe").err()));
        let refusal = told.recv_timeout(Duration::from_secs(1));
        assert_eq!(refusal, Ok(Some(Refusal::Missing)));
    }

    #[test]
    fn what_is_there_and_cannot_be_opened_is_not_called_missing() {
        for (code, status) in [
            (libc::ENOENT, "404"),
            (libc::EACCES, "404"),
            (libc::ENOTDIR, "404"),
            (libc::ELOOP, "404"),
            (libc::EMFILE, "503"),
            (libc::EIO, "503"),
        ] {
            let refusal = Refusal::from(io::Error::from_raw_os_error(code));
            assert_eq!(refusal.status(), status, "{code}");
        }
    }

    #[test]
    fn a_body_comes_in_chunks_whatever_is_taken_of_them() {
        let (_folder, root) = root();
        let bytes: Vec<u8> = (0..150_000_u32).map(|i| i.to_le_bytes()[0]).collect();
        fs::write(root.0.join("long"), &bytes).expect("a file");
        let mut content = root.find(b"/long").expect("the file is there");
        let mut taken = Vec::new();
        while content.remaining() > 0 {
            let chunk = content.chunk().expect("readable");
            let count = chunk.len().min(10_007);
            taken.extend_from_slice(&chunk[..count]);
            content.consume(count);
        }
        assert!(taken == bytes, "{} bytes came", taken.len());
    }
}
