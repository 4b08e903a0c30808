//! A run is the same on any machine. The standard library's exponentials and logarithms are the
//! machine's, and differ in the last bits. Those of `libm` are the same everywhere.

use std::fs;
use std::path::{Path, PathBuf};

/// Methods of floats whose result depends on the machine.
const OF_THE_MACHINE: [&str; 12] = [
    ".exp()", ".exp2()", ".ln()", ".log2()", ".log10()", ".powf(", ".powi(", ".sin()", ".cos()",
    ".tanh()", ".cbrt()", ".hypot(",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn exponentials_and_logarithms_are_those_of_libm() {
    let mut sources = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    files(&root, &mut sources);
    let is_tests = |file: &PathBuf| file.strip_prefix(&root).is_ok_and(of_tests);
    sources.retain(|file| !is_tests(file));
    assert!(sources.len() > 100, "the library was not found");
    let mut wrong = Vec::new();
    for file in sources {
        let text = fs::read_to_string(&file).expect("a file");
        let library = text.split("#[cfg(test)]\nmod tests").next();
        for line in library.unwrap_or_default().lines() {
            if OF_THE_MACHINE.iter().any(|method| line.contains(method)) {
                wrong.push(format!("{}: {line}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether this part of the library is compiled for tests alone.
fn of_tests(file: &Path) -> bool {
    file.components().any(|part| {
        let name = part.as_os_str();
        name == "tests" || name == "tests.rs"
    })
}
