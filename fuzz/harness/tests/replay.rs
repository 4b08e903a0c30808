//! The committed seeds, through the same functions that libFuzzer calls.

use imtcp_fuzz_harness::{Met, TARGETS, Target};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// A folder of seeds is for people to read; what an engine has found grows elsewhere.
const MOST_BYTES: usize = 16_384;

fn fuzz_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names and bytes of a target's seeds: those written by hand, and inputs that once found
/// something.
fn committed(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = fuzz_folder().join("seeds").join(target.name);
    let mut seeds: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| {
            let entry = entry.expect("a readable folder");
            let name = entry.file_name().into_string().expect("a plain name");
            (name, fs::read(entry.path()).expect("a readable file"))
        })
        .collect();
    seeds.sort();
    seeds
}

#[test]
fn every_seed_runs_and_together_they_lead_everywhere() {
    for target in TARGETS {
        let mut met = Met::new();
        for (name, bytes) in committed(target) {
            println!("{}/{name}, {} bytes", target.name, bytes.len());
            met.append(&mut (target.run)(&bytes));
        }
        let situations: BTreeSet<_> = target.situations.iter().copied().collect();
        assert_eq!(met, situations, "{}", target.name);
    }
}

#[test]
fn the_seeds_are_those_of_this_input_format() {
    for target in TARGETS {
        let committed = committed(target);
        let bytes: usize = committed.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(bytes <= MOST_BYTES, "{}: {bytes} bytes", target.name);
        for (name, bytes) in (target.seeds)() {
            assert!(
                committed.contains(&(name.to_owned(), bytes)),
                "{}/{name} is old: cargo run -p imtcp-fuzz-harness --example seeds",
                target.name
            );
        }
    }
}

#[test]
fn no_end_of_an_input_is_too_early() {
    for target in TARGETS {
        for (_, bytes) in committed(target) {
            // A few ends each: a whole connection takes its time.
            for length in (0..bytes.len()).step_by(bytes.len() / 4 + 1) {
                (target.run)(&bytes[..length]);
            }
        }
    }
}

#[test]
fn every_target_has_its_entry_point() {
    let manifest = fs::read_to_string(fuzz_folder().join("Cargo.toml")).expect("the manifest");
    for target in TARGETS {
        let name = target.name;
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        let entry_point = fuzz_folder().join(format!("fuzz_targets/{name}.rs"));
        let text = fs::read_to_string(&entry_point).expect("an entry point");
        assert!(text.contains(&format!("{name}::run(")), "{name}");
    }
    let folders = fs::read_dir(fuzz_folder().join("seeds")).expect("the seeds");
    assert_eq!(folders.count(), TARGETS.len(), "seeds without a target");
}
