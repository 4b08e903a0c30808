use std::fs;
use std::path::Path;

use crate::{Error, Result, Series};

/// Writes the patched crate to `target`, which is emptied first: the published source, the series,
/// and every file of `own` (except its `lib.rs`, which is the including crate's root) below `src`.
///
/// # Errors
/// A file cannot be read or written, a hunk does not apply, or a file of `own` would replace a
/// published one.
pub fn assemble(published: &Path, series: &Series, own: &Path, target: &Path) -> Result<()> {
    if target.exists() {
        fs::remove_dir_all(target).map_err(Error::io(target))?;
    }
    copy_tree(&published.join("src"), &target.join("src"))?;
    series.apply(target)?;
    for entry in fs::read_dir(own).map_err(Error::io(own))? {
        let path = entry.map_err(Error::io(own))?.path();
        if path != own.join("lib.rs") {
            add(&path, own, &target.join("src"))?;
        }
    }
    Ok(())
}

/// Copies a file or a folder with everything in it.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to).map_err(Error::io(to))?;
        for entry in fs::read_dir(from).map_err(Error::io(from))? {
            let entry = entry.map_err(Error::io(from))?;
            copy_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    // Not `fs::copy`: the registry's files are read-only on some machines, and the copy is patched.
    let bytes = fs::read(from).map_err(Error::io(from))?;
    fs::write(to, bytes).map_err(Error::io(to))
}

fn add(path: &Path, own: &Path, target: &Path) -> Result<()> {
    let relative = path.strip_prefix(own).unwrap_or(path);
    let destination = target.join(relative);
    if path.is_dir() {
        fs::create_dir_all(&destination).map_err(Error::io(&destination))?;
        for entry in fs::read_dir(path).map_err(Error::io(path))? {
            add(&entry.map_err(Error::io(path))?.path(), own, target)?;
        }
        return Ok(());
    }
    if destination.exists() {
        return Err(Error::Collision {
            file: relative.to_owned(),
        });
    }
    copy_tree(path, &destination)
}
