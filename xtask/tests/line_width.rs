//! No line of Rust is longer than rustfmt would make it. rustfmt itself leaves comments and strings
//! alone, and everything around a string that is too long.

use std::fs;
use std::path::{Path, PathBuf};

/// As in rustfmt.toml.
const WIDTH: usize = 100;

/// All Rust files below a folder but what was built or is hidden.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("an entry of it").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "out" {
                rust_files(&path, found);
            }
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_line_is_too_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.expect("the workspace is above");
    let mut files = Vec::new();
    rust_files(root, &mut files);
    assert!(files.len() > 100, "found only {} files", files.len());
    let mut long = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).expect("UTF-8");
        let lines = text.lines().zip(1..);
        let widths = lines.map(|(line, number)| (line.chars().count(), number));
        for (width, number) in widths.filter(|(width, _)| *width > WIDTH) {
            long.push(format!("{}:{number}: {width} columns", file.display()));
        }
    }
    assert!(long.is_empty(), "longer than {WIDTH}:\n{}", long.join("\n"));
}
