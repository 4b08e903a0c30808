use std::io;
use std::path::{Path, PathBuf};

use crate::published::SOURCE_VARIABLE;

/// Why the patched source could not be made. Each message names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },

    /// `cargo metadata` could not be started or failed.
    #[error(
        "`cargo metadata --locked --manifest-path {manifest}` failed: {reason}\nIt names the \
         published quiche \
         source, and fetches it when it is not in cargo's registry cache yet. Remedy: allow cargo \
         to reach its \
         registry once (`cargo fetch --locked --manifest-path {manifest}`), then build again."
    )]
    Metadata {
        /// The manifest that pins the published crate.
        manifest: PathBuf,
        /// What cargo said.
        reason: String,
    },

    /// The folder that was named holds no source.
    #[error(
        "{SOURCE_VARIABLE} is `{folder}`, and there is no `src/lib.rs` in it\nRemedy: let it name \
         the folder of the published quiche by its whole path, or unset it."
    )]
    NoSource {
        /// The folder.
        folder: PathBuf,
    },

    /// A patch file is not a unified diff.
    #[error(
        "{patch}: not a unified diff: {reason}\nRemedy: export the series again, see \
         quiche/README.md."
    )]
    Malformed {
        /// The patch file.
        patch: PathBuf,
        /// What the parser said.
        reason: String,
    },

    /// A patch does something else than change an existing file.
    #[error(
        "{patch}: the series may only change files of the published crate\nRemedy: put a new file \
         below \
         quiche/src/, where it is added to the patched source as it is."
    )]
    NotAChange {
        /// The patch file.
        patch: PathBuf,
    },

    /// A hunk does not apply.
    #[error(transparent)]
    Conflict(#[from] Box<Conflict>),

    /// One of this project's own files has the name of a published one.
    #[error(
        "{file} exists in the published quiche and below quiche/src/\nRemedy: rename this \
         project's file."
    )]
    Collision {
        /// The file.
        file: PathBuf,
    },
}

/// The lines that a hunk expects are not where it expects them.
#[derive(Debug, thiserror::Error)]
#[error(
    "{patch}: hunk {hunk} does not apply to {file} of the published quiche\n\
     line {line}\n  expected: {expected}\n  found:    {found}\n\
     Remedy: the published source or an earlier patch has changed; carry the hunk over to the new \
     source and export \
     the series again, see \"Moving to another release\" in quiche/README.md."
)]
pub struct Conflict {
    /// The patch file.
    pub patch: PathBuf,
    /// The hunk's header.
    pub hunk: String,
    /// The file of the published crate.
    pub file: String,
    /// The first line that differs, counted from 1.
    pub line: usize,
    /// What the hunk expects there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl Error {
    /// For `map_err`: an I/O error at `path`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
