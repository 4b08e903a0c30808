//! Each room of the library imports only the rooms that ARCHITECTURE.md lets it know.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The heading of the table in ARCHITECTURE.md.
const HEADING: &str = "## Who may know whom";

/// Files that may name every room: the root of the crate names all of them.
const ROOT: &str = "lib";

fn library() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The names between backticks, without the marks of folders and files.
fn names(cell: &str) -> BTreeSet<String> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted
        .map(|name| {
            name.trim_end_matches('/')
                .trim_end_matches(".rs")
                .to_owned()
        })
        .collect()
}

/// Each room with the rooms that it may know.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let path = library().join("../ARCHITECTURE.md");
    let text = fs::read_to_string(path).expect("ARCHITECTURE.md");
    let section = text.split(HEADING).nth(1).expect("the heading");
    let rows = section.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let mut arrows = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').collect();
        for room in names(cells[1]) {
            arrows.insert(room, names(cells[2]));
        }
    }
    arrows
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The room of a file: the first part of its path below src.
fn room_of(file: &Path) -> String {
    let source = library().join("src");
    let below = file.strip_prefix(source).expect("a file of the library");
    let first = below.iter().next().expect("a name").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The rooms that a line of code names: what follows `crate::`, also within braces.
fn known_by(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or("");
    let name = |text: &str| -> String {
        let word = text.trim_start();
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '_');
        word[..end.unwrap_or(word.len())].to_owned()
    };
    let mut known = Vec::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            Some(list) => known.extend(list.split(',').map(name)),
            None => known.push(name(after)),
        }
    }
    known
}

#[test]
fn no_room_knows_another_against_the_arrows() {
    let arrows = arrows();
    assert!(arrows.len() > 10, "the table was not found: {arrows:?}");
    let mut sources = Vec::new();
    files(&library().join("src"), &mut sources);
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for file in &sources {
        let room = room_of(file);
        if room == ROOT {
            continue;
        }
        let allowed = arrows
            .get(&room)
            .unwrap_or_else(|| panic!("ARCHITECTURE.md says nothing of the room {room}"));
        let text = fs::read_to_string(file).expect("a file");
        for (number, line) in text.lines().enumerate() {
            for known in known_by(line) {
                let is_room = arrows.contains_key(&known);
                used.insert((room.clone(), known.clone()));
                if is_room && known != room && !allowed.contains(&known) {
                    wrong.push(format!("{}:{}: {known}", file.display(), number + 1));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "against the arrows:\n{}",
        wrong.join("\n")
    );
    let idle: Vec<String> = arrows
        .iter()
        .flat_map(|(room, others)| others.iter().map(move |other| (room, other)))
        .filter(|(room, other)| !used.contains(&((*room).clone(), (*other).clone())))
        .map(|(room, other)| format!("{room} -> {other}"))
        .collect();
    assert!(
        idle.is_empty(),
        "arrows that nobody uses:\n{}",
        idle.join("\n")
    );
}

#[test]
fn the_rooms_of_the_pipe_have_no_circle() {
    let arrows = arrows();
    // Events carry types of the promise, and the configuration holds settings of several rooms.
    let pipe = [
        "path",
        "measurement",
        "control",
        "promise",
        "window",
        "scheduler",
    ];
    let mut left: BTreeSet<&str> = pipe.into();
    while !left.is_empty() {
        let free = left
            .iter()
            .find(|room| {
                !arrows[**room]
                    .iter()
                    .any(|other| left.contains(other.as_str()))
            })
            .copied();
        let free = free.unwrap_or_else(|| panic!("a circle among {left:?}"));
        left.remove(free);
    }
}
