//! The guest's whole file system: an archive that the kernel unpacks into memory.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cpio::newc;

use super::packages::{Packages, output};

/// The modules that the path and its flows need; none of them needs another.
const MODULES: [&str; 5] = ["veth", "sch_netem", "sch_tbf", "sch_fq", "tcp_bbr"];

/// Tools of this machine. busybox has lesser ones of the same names.
const TOOLS: [&str; 2] = ["ip", "tc"];

/// Our own programs.
const PROGRAMS: [&str; 3] = ["serve", "fetch", "crosstraffic"];

/// The guest's first program. It runs the script, sends what came of it over the second serial
/// port, and switches the guest off.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /busybox
export PATH=/bin:/busybox
for module in /modules/*; do insmod "$module" || echo "error: no $module"; done
IP=/bin/ip TC=/bin/tc BIN=/bin NS=netem OUT=/out
export IP TC BIN NS OUT
for node in server before behind client; do $IP netns add $NS-$node; done
sh /script
echo "progress: sending the results"
stty -F /dev/ttyS1 raw
tar c -C / out | gzip > /dev/ttyS1
poweroff -f
"#;

/// An entry of the archive.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// Where it is in the guest, without the first slash.
    pub path: String,
    /// What it is.
    pub kind: Kind,
}

/// What an entry is.
#[derive(Debug, PartialEq)]
pub enum Kind {
    Folder,
    /// A file of this machine's.
    Copy(PathBuf),
    /// A program of this machine's. What is in it for debuggers stays here.
    Program(PathBuf),
    /// A file that is written for the guest.
    Text(String),
}

/// Everything that is in the guest: folders first, each before what is inside.
pub fn entries(packages: &Packages, binaries: &Path, script: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut add = |path: String, kind| entries.push(Entry { path, kind });
    for folder in [
        "proc", "sys", "dev", "tmp", "run", "var/run", "busybox", "out", "root",
    ] {
        add(folder.to_owned(), Kind::Folder);
    }
    add("init".to_owned(), Kind::Text(INIT.to_owned()));
    add("script".to_owned(), Kind::Text(script.to_owned()));
    add(
        "bin/busybox".to_owned(),
        Kind::Copy(packages.busybox.clone()),
    );
    for module in MODULES {
        let file = module_file(&packages.modules, module)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        add(format!("modules/{name}"), Kind::Copy(file.clone()));
    }
    let mut libraries = BTreeSet::new();
    let mut programs = Vec::new();
    for name in TOOLS {
        programs.push((name, tool(name)?));
    }
    programs.extend(PROGRAMS.map(|name| (name, binaries.join(name))));
    for (name, file) in programs {
        ensure!(file.is_file(), "there is no program {}", file.display());
        libraries.extend(libraries_in(&output(Command::new("ldd").arg(&file))?));
        add(format!("bin/{name}"), Kind::Program(file));
    }
    for library in libraries {
        let path = library.strip_prefix("/").unwrap_or(&library).to_owned();
        add(
            path.to_string_lossy().into_owned(),
            Kind::Copy(library.clone()),
        );
    }
    Ok(with_parents(entries))
}

/// Adds the folders that entries are in.
fn with_parents(entries: Vec<Entry>) -> Vec<Entry> {
    let mut folders = BTreeSet::new();
    for entry in &entries {
        let is_folder = entry.kind == Kind::Folder;
        let ancestors = Path::new(&entry.path)
            .ancestors()
            .skip(usize::from(!is_folder));
        let named = ancestors.filter(|folder| !folder.as_os_str().is_empty());
        folders.extend(named.map(|folder| folder.to_string_lossy().into_owned()));
    }
    let folder = |path| Entry {
        path,
        kind: Kind::Folder,
    };
    let files = entries
        .into_iter()
        .filter(|entry| entry.kind != Kind::Folder);
    folders.into_iter().map(folder).chain(files).collect()
}

fn module_file(modules: &Path, name: &str) -> Result<PathBuf> {
    let pattern = modules.join(format!("**/{name}.ko*"));
    let mut found = glob::glob(&pattern.to_string_lossy())?.flatten();
    let found = found.next();
    found.with_context(|| format!("the guest's kernel has no module {name}"))
}

fn tool(name: &str) -> Result<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let mut files = folders
        .into_iter()
        .map(|folder| Path::new(folder).join(name));
    let found = files.find(|file| file.is_file());
    found.with_context(|| format!("`{name}` is not installed; on Debian: apt-get install iproute2"))
}

/// The files among what `ldd` prints.
fn libraries_in(printed: &str) -> BTreeSet<PathBuf> {
    let words = printed.split_whitespace();
    words
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

/// Writes the archive. `scratch` is for programs without their debugging parts.
pub fn write(entries: &[Entry], scratch: &Path, file: &Path) -> Result<()> {
    let mut archive: Vec<u8> = Vec::new();
    for (number, entry) in (1..).zip(entries) {
        let (mode, content) = match &entry.kind {
            Kind::Folder => (0o040_755, Vec::new()),
            Kind::Text(text) => (0o100_755, text.clone().into_bytes()),
            Kind::Copy(file) => (0o100_755, read(file)?),
            Kind::Program(file) => (0o100_755, stripped(file, scratch)?),
        };
        let builder = newc::Builder::new(&entry.path)
            .ino(number)
            .mode(mode)
            .nlink(1);
        let length = u32::try_from(content.len())
            .with_context(|| format!("{} is too large for the guest", entry.path))?;
        let mut writer = builder.write(&mut archive, length);
        writer.write_all(&content)?;
        writer.finish()?;
    }
    newc::trailer(&mut archive)?;
    fs::write(file, archive).with_context(|| format!("cannot write {}", file.display()))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

fn stripped(file: &Path, scratch: &Path) -> Result<Vec<u8>> {
    let small = scratch.join("stripped");
    output(Command::new("strip").arg("-o").arg(&small).arg(file))?;
    read(&small)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn libraries_are_the_files_that_ldd_names() {
        let printed = "\tlinux-vdso.so.1 (0x00007fc54cb5a000)\n\
                       \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fc54c739000)\n\
                       \t/lib64/ld-linux-x86-64.so.2 (0x00007fc54cb5c000)\n";
        let expected = [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(libraries_in(printed), expected.map(PathBuf::from).into());
        assert_eq!(libraries_in("\tstatically linked\n"), BTreeSet::new());
    }

    #[test]
    fn the_archive_has_every_folder_before_what_is_inside() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = |path: &str, text: &str| Entry {
            path: path.to_owned(),
            kind: Kind::Text(text.to_owned()),
        };
        let var_run = Entry {
            path: "var/run".to_owned(),
            kind: Kind::Folder,
        };
        let entries = with_parents(vec![text("a/b/c", "hello"), var_run, text("init", "hi")]);
        let file = folder.path().join("archive");
        write(&entries, folder.path(), &file).expect("written");

        let mut bytes: &[u8] = &read(&file).expect("readable");
        let mut found = Vec::new();
        loop {
            let mut reader = newc::Reader::new(bytes).expect("an entry");
            if reader.entry().is_trailer() {
                break;
            }
            let mut content = String::new();
            reader.read_to_string(&mut content).expect("text");
            found.push((reader.entry().name().to_owned(), content));
            bytes = reader.finish().expect("the next one");
        }
        let expected = [
            ("a", ""),
            ("a/b", ""),
            ("var", ""),
            ("var/run", ""),
            ("a/b/c", "hello"),
            ("init", "hi"),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_missing_module_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = module_file(folder.path(), "sch_netem").expect_err("there is none");
        assert!(error.to_string().contains("sch_netem"), "{error}");
    }
}
