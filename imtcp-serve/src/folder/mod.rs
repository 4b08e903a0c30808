//! The folder that is served: from a request to a file, or to the reason why not.

mod conditional;
mod content_type;
mod path;
mod range;

pub use conditional::{Validators, Verdict};
pub use content_type::content_type;
pub use path::{PathError, relative};
pub use range::{Part, part};

use anyhow::{Context, Result};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A folder that nothing leads out of: neither a path nor a symbolic link. `cap-std` has the kernel
/// check that for each file as it is opened, so a link that is made meanwhile does not help either.
#[derive(Clone, Debug)]
pub struct Folder {
    root: Arc<Dir>,
}

/// A file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// To read from.
    pub file: File,
    /// Its bytes.
    pub length: u64,
    /// By what copies of it are told from others.
    pub validators: Validators,
}

impl Folder {
    /// Opens the root.
    ///
    /// # Errors
    /// It is not there, or is no folder.
    pub fn open(root: &Path) -> Result<Self> {
        let dir = Dir::open_ambient_dir(root, ambient_authority());
        let dir = dir.with_context(|| format!("cannot serve the folder {}", root.display()))?;
        Ok(Self {
            root: Arc::new(dir),
        })
    }

    /// Opens a file by its name relative to the root. `None` if there is no such file, or it is no
    /// ordinary one, or it lies outside.
    ///
    /// # Errors
    /// There is one, and it cannot be read.
    pub async fn file(&self, name: &Path) -> io::Result<Option<OpenFile>> {
        let (root, name) = (Arc::clone(&self.root), name.to_owned());
        let opened = tokio::task::spawn_blocking(move || open(&root, &name)).await;
        opened.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

fn open(root: &Dir, name: &Path) -> io::Result<Option<OpenFile>> {
    let mut options = OpenOptions::new();
    // Opening a pipe waits for its writer otherwise.
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = match root.open_with(name, &options) {
        Ok(file) => file.into_std(),
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let about = file.metadata()?;
    if !about.is_file() {
        return Ok(None);
    }
    let length = about.len();
    let validators = Validators::new(length, about.modified()?);
    Ok(Some(OpenFile {
        file,
        length,
        validators,
    }))
}

/// For whoever asks, a file outside the root is one that is not there. `cap-std` says
/// `PermissionDenied` of it, as the kernel does of a file that may not be read.
fn is_absence(error: &io::Error) -> bool {
    let is_no_file = matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput
    );
    // Links in a circle, and sockets.
    is_no_file || matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[tokio::test]
    async fn links_lead_around_inside_and_never_out() {
        let outside = tempfile::tempdir().expect("a folder");
        fs::write(outside.path().join("secret"), "secret").expect("written");
        let inside = tempfile::tempdir().expect("a folder");
        let at = |name: &str| inside.path().join(name);
        fs::create_dir(at("deep")).expect("made");
        fs::write(at("deep/file"), "content").expect("written");
        symlink("deep/file", at("good")).expect("linked");
        symlink(outside.path().join("secret"), at("absolute")).expect("linked");
        symlink(outside.path(), at("folder")).expect("linked");
        symlink("../deep/../../../../../etc/passwd", at("deep/up")).expect("linked");
        symlink("round", at("round")).expect("linked");
        let _socket = UnixListener::bind(at("socket")).expect("bound");

        let folder = Folder::open(inside.path()).expect("there");
        for (name, expected) in [
            ("deep/file", Some(7)),
            ("good", Some(7)),
            ("absolute", None),
            ("folder/secret", None),
            ("deep/up", None),
            ("round", None),
            ("deep", None),
            ("deep/file/more", None),
            ("socket", None),
            ("nothing", None),
            (&"long".repeat(100), None),
        ] {
            let found = folder.file(Path::new(name)).await;
            let length = found.map(|file| file.map(|file| file.length));
            assert_eq!(length.ok(), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_root_that_is_not_there_is_named() {
        let error = Folder::open(Path::new("/nowhere/at/all")).expect_err("not there");
        assert!(
            format!("{error:#}").contains("/nowhere/at/all"),
            "{error:#}"
        );
    }
}
