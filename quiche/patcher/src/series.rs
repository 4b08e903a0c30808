use std::fs;
use std::path::{Path, PathBuf};

use diffy::patch_set::{ParseOptions, PatchSet};
use diffy::{Hunk, Line, Patch};

use crate::error::Conflict;
use crate::{Error, Result};

/// A folder of patches, applied in the order of their names.
#[derive(Debug)]
pub struct Series {
    patches: Vec<(PathBuf, String)>,
}

impl Series {
    /// Reads every `*.patch` of a folder.
    ///
    /// # Errors
    /// The folder or a file in it cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
            let path = entry.map_err(Error::io(folder))?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "patch")
            {
                paths.push(path);
            }
        }
        paths.sort();
        let read = |path: PathBuf| {
            let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
            Ok((path, text))
        };
        Ok(Self {
            patches: paths.into_iter().map(read).collect::<Result<_>>()?,
        })
    }

    /// Changes the files below `root` in place.
    ///
    /// # Errors
    /// A patch cannot be parsed, or a hunk does not apply at exactly the line it names. Nothing is
    /// searched for: the published source is pinned, so a hunk that fits elsewhere fits by chance.
    pub fn apply(&self, root: &Path) -> Result<()> {
        for (path, text) in &self.patches {
            for file in PatchSet::parse(text, ParseOptions::unidiff()) {
                let file = file.map_err(|error| Error::Malformed {
                    patch: path.clone(),
                    reason: error.to_string(),
                })?;
                let name = modified_file(path, &file.operation().strip_prefix(1))?;
                let not_a_change = || Error::NotAChange {
                    patch: path.clone(),
                };
                let patch = file.patch().as_text().ok_or_else(not_a_change)?;
                apply_to_file(path, patch, root, &name)?;
            }
        }
        Ok(())
    }
}

fn modified_file(
    patch: &Path,
    operation: &diffy::patch_set::FileOperation<'_, str>,
) -> Result<String> {
    match operation {
        diffy::patch_set::FileOperation::Modify { original, modified } if original == modified => {
            Ok(modified.to_string())
        }
        _ => Err(Error::NotAChange {
            patch: patch.to_owned(),
        }),
    }
}

fn apply_to_file(path: &Path, patch: &Patch<'_, str>, root: &Path, name: &str) -> Result<()> {
    let target = root.join(name);
    let before = fs::read_to_string(&target).map_err(Error::io(&target))?;
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    for hunk in patch.hunks() {
        check_position(hunk, &lines).map_err(|mismatch| {
            Box::new(Conflict {
                patch: path.to_owned(),
                hunk: format!("@@ -{} +{} @@", hunk.old_range(), hunk.new_range()),
                file: name.to_owned(),
                line: mismatch.line,
                expected: mismatch.expected,
                found: mismatch.found,
            })
        })?;
    }
    let after = diffy::apply(&before, patch).map_err(|error| Error::Malformed {
        patch: path.to_owned(),
        reason: error.to_string(),
    })?;
    fs::write(&target, after).map_err(Error::io(&target))
}

/// The first line of a hunk that is not as expected.
struct Mismatch {
    line: usize,
    expected: String,
    found: String,
}

fn check_position(hunk: &Hunk<'_, str>, lines: &[&str]) -> std::result::Result<(), Mismatch> {
    let expected = hunk.lines().iter().filter_map(|line| match line {
        Line::Context(text) | Line::Delete(text) => Some(*text),
        Line::Insert(_) => None,
    });
    let start = hunk.old_range().start();
    for (offset, expected) in expected.enumerate() {
        let line = start + offset;
        let found = line
            .checked_sub(1)
            .and_then(|index| lines.get(index))
            .copied();
        if found != Some(expected) {
            return Err(Mismatch {
                line,
                expected: expected.trim_end().to_owned(),
                found: found.map_or("(end of file)", str::trim_end).to_owned(),
            });
        }
    }
    Ok(())
}
