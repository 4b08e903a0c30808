//! From the path of a URL to the name of a file inside the root.

use percent_encoding::percent_decode_str;
use std::fmt;
use std::path::PathBuf;

/// What a path that ends in a slash stands for.
const INDEX: &str = "index.html";

/// Why a path names no file that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// It does not begin with a slash.
    NotAbsolute,
    /// It is not UTF-8 once `%XX` is decoded.
    NotText,
    /// A segment is `.` or `..`, or holds a slash, a backslash or a zero.
    Escape,
    /// A segment begins with a dot. Keys and repositories lie in such files.
    Hidden,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAbsolute => "the path does not begin with a slash",
            Self::NotText => "the path is not UTF-8",
            Self::Escape => "the path holds `.`, `..`, an encoded slash, a backslash or a zero",
            Self::Hidden => "names that begin with a dot are not served",
        })
    }
}

/// The name relative to the root. It has no `..`; symbolic links are the folder's to check, when it
/// opens the file.
///
/// # Errors
/// The path could lead out of the root, or is not served.
pub fn relative(path: &str) -> Result<PathBuf, PathError> {
    let rest = path.strip_prefix('/').ok_or(PathError::NotAbsolute)?;
    let mut name = PathBuf::new();
    for segment in rest.split('/').filter(|segment| !segment.is_empty()) {
        // Decoded once: `%252e` is the name `%2e` and no dot.
        let decoded = percent_decode_str(segment).decode_utf8();
        name.push(checked(&decoded.map_err(|_| PathError::NotText)?)?);
    }
    if rest.is_empty() || rest.ends_with('/') {
        name.push(INDEX);
    }
    Ok(name)
}

fn checked(segment: &str) -> Result<&str, PathError> {
    if matches!(segment, "." | "..") || segment.contains(['/', '\\', '\0']) {
        return Err(PathError::Escape);
    }
    if segment.starts_with('.') {
        return Err(PathError::Hidden);
    }
    Ok(segment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    #[test]
    fn names_are_decoded_and_a_folder_stands_for_its_index() {
        for (path, name) in [
            ("/a/b.mp4", "a/b.mp4"),
            ("//a//b.mp4", "a/b.mp4"),
            ("/a%20b/%C3%A4.mpd", "a b/ä.mpd"),
            ("/%252e%252e/a", "%2e%2e/a"),
            ("/", "index.html"),
            ("/a/", "a/index.html"),
        ] {
            assert_eq!(relative(path), Ok(PathBuf::from(name)), "{path}");
        }
    }

    #[test]
    fn ways_out_are_closed() {
        for (path, error) in [
            ("", PathError::NotAbsolute),
            ("a", PathError::NotAbsolute),
            ("/..", PathError::Escape),
            ("/a/../../b", PathError::Escape),
            ("/%2e%2e/b", PathError::Escape),
            ("/%2E./b", PathError::Escape),
            ("/./b", PathError::Escape),
            ("/a%2f..%2fb", PathError::Escape),
            ("/%2fetc/passwd", PathError::Escape),
            ("/..%5cb", PathError::Escape),
            ("/a%00.mp4", PathError::Escape),
            ("/%ff", PathError::NotText),
            ("/.git/config", PathError::Hidden),
            ("/...", PathError::Hidden),
        ] {
            assert_eq!(relative(path), Err(error), "{path}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_asked_stays_below_the_root(path in "/([./\\\\%2eEfF5cC0a]|\\PC){0,40}") {
            if let Ok(name) = relative(&path) {
                let stays = name.components().all(|part| matches!(part, Component::Normal(_)));
                prop_assert!(stays && name.is_relative(), "{path} gave {}", name.display());
            }
        }
    }
}
