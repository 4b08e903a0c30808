//! Where bindgen will look for libclang, by the rules of clang-sys 1.9 for loading at run time on
//! Linux: `LIBCLANG_PATH` alone when it is set, else `llvm-config --prefix`, `LD_LIBRARY_PATH`,
//! `LIBRARY_PATH` and the usual folders.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Finding;

/// The names of the library.
const FILES: [&str; 4] = [
    "libclang.so",
    "libclang-*.so",
    "libclang.so.*",
    "libclang-*.so.*",
];

/// The usual folders.
const FOLDERS: [&str; 7] = [
    "/usr/local/llvm*/lib*",
    "/usr/local/lib*/*/*",
    "/usr/local/lib*/*",
    "/usr/local/lib*",
    "/usr/lib*/*/*",
    "/usr/lib*/*",
    "/usr/lib*",
];

/// The library that bindgen loads.
pub fn library() -> Finding {
    if !cfg!(target_os = "linux") {
        return Finding::NotNeeded("searched for on Linux only");
    }
    let found = match env::var_os("LIBCLANG_PATH") {
        Some(path) => named(Path::new(&path)),
        None => folders().iter().find_map(|folder| in_folder(folder)),
    };
    match found {
        Some(path) => Finding::Found(path.display().to_string()),
        None => Finding::Missing(format!(
            "bindgen loads it to read BoringSSL's headers; {}",
            place()
        )),
    }
}

/// The compiler's own headers, which the library needs and Debian packs apart from it.
pub fn headers() -> Finding {
    if !cfg!(target_os = "linux") {
        return Finding::NotNeeded("searched for on Linux only");
    }
    if env::var_os("BINDGEN_EXTRA_CLANG_ARGS").is_some() {
        return Finding::NotNeeded("BINDGEN_EXTRA_CLANG_ARGS says where to look");
    }
    let patterns = folders()
        .into_iter()
        .map(|folder| format!("{}/clang/*/include/stddef.h", escaped(&folder)));
    match patterns.flat_map(|pattern| matches(&pattern)).next() {
        Some(path) => Finding::Found(path.display().to_string()),
        None => Finding::Missing("libclang reads its own stddef.h and finds none".to_owned()),
    }
}

fn place() -> String {
    match env::var("LIBCLANG_PATH") {
        Ok(path) => format!(
            "LIBCLANG_PATH is `{path}`, and no {} is there",
            FILES.join(", ")
        ),
        Err(_) => format!("no {} in the usual folders", FILES.join(", ")),
    }
}

/// `LIBCLANG_PATH` names the library itself, or its folder.
fn named(path: &Path) -> Option<PathBuf> {
    let by_itself = path.parent().and_then(|parent| {
        libraries(parent)
            .into_iter()
            .find(|library| library == path)
    });
    by_itself.or_else(|| in_folder(path))
}

fn in_folder(folder: &Path) -> Option<PathBuf> {
    libraries(folder).into_iter().next()
}

fn libraries(folder: &Path) -> Vec<PathBuf> {
    let patterns = FILES.map(|file| format!("{}/{file}", escaped(folder)));
    let is_library = |path: &PathBuf| {
        let is_cpp_interface = path.to_string_lossy().contains("-cpp.");
        !is_cpp_interface && is_native(path)
    };
    patterns
        .iter()
        .flat_map(|pattern| matches(pattern))
        .filter(is_library)
        .collect()
}

/// An ELF file of this machine's word size.
fn is_native(path: &Path) -> bool {
    let class = if cfg!(target_pointer_width = "64") {
        2
    } else {
        1
    };
    let mut header = [0; 5];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header == [0x7f, b'E', b'L', b'F', class]
}

fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(prefix) = llvm_prefix() {
        folders.extend(["bin", "lib", "lib64"].map(|name| prefix.join(name)));
    }
    for variable in ["LD_LIBRARY_PATH", "LIBRARY_PATH"] {
        if let Some(paths) = env::var_os(variable) {
            folders.extend(env::split_paths(&paths));
        }
    }
    folders.extend(FOLDERS.iter().flat_map(|pattern| matches(pattern)));
    folders
}

fn llvm_prefix() -> Option<PathBuf> {
    let program = env::var_os("LLVM_CONFIG_PATH").unwrap_or_else(|| "llvm-config".into());
    let output = Command::new(program).arg("--prefix").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(PathBuf::from)
}

fn escaped(folder: &Path) -> String {
    glob::Pattern::escape(&folder.to_string_lossy())
}

fn matches(pattern: &str) -> Vec<PathBuf> {
    glob::glob(pattern)
        .map(|paths| paths.flatten().collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ELF: [u8; 8] = [0x7f, b'E', b'L', b'F', 2, 1, 1, 0];

    fn folder_with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).expect("a file");
        }
        folder
    }

    #[test]
    fn versioned_names_are_found_in_a_folder_or_by_themselves() {
        for name in [
            "libclang.so",
            "libclang-14.so",
            "libclang.so.1",
            "libclang-14.so.14.0.6",
        ] {
            let folder = folder_with(&[(name, &ELF)]);
            let library = folder.path().join(name);
            assert_eq!(
                named(folder.path()),
                Some(library.clone()),
                "{name} in its folder"
            );
            assert_eq!(named(&library), Some(library.clone()), "{name} by itself");
        }
    }

    #[test]
    fn other_libraries_and_other_files_are_not_taken_for_it() {
        let folder = folder_with(&[
            ("libclang-cpp.so.14", &ELF),
            ("libclangAST.so", &ELF),
            ("libclang.so", b"INPUT(script)"),
            ("libclang.so.1", &[0x7f, b'E', b'L', b'F', 1]),
        ]);
        assert_eq!(named(folder.path()), None);
    }
}
