//! The series against a small made-up crate: what applies, and what is said about the rest.

use std::fs;
use std::path::Path;

use quiche_patcher::{Error, Series, assemble};
use tempfile::TempDir;

const SOURCE: &str = "one\ntwo\nthree\nfour\ntwo\nthree\n";
const PATCH: &str = "\
Why this patch is there.

--- a/src/lib.rs
+++ b/src/lib.rs
@@ -2,2 +2,3 @@
 two
+two and a half
 three
";

/// A published crate, a folder of patches, a folder of our own files and a target.
struct Scratch(TempDir);

impl Scratch {
    fn new(source: &str, patches: &[(&str, &str)]) -> Self {
        let scratch = Self(TempDir::new().expect("a temporary folder"));
        scratch.write("published/src/lib.rs", source);
        scratch.write("own/lib.rs", "the including root");
        scratch.write("own/cc/mod.rs", "ours");
        fs::create_dir_all(scratch.path("patches")).expect("a folder");
        for (name, text) in patches {
            scratch.write(&format!("patches/{name}"), text);
        }
        scratch
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    fn assemble(&self) -> Result<(), Error> {
        let series = Series::read(&self.path("patches"))?;
        assemble(
            &self.path("published"),
            &series,
            &self.path("own"),
            &self.path("target"),
        )
    }
}

#[test]
fn patches_apply_in_order_and_our_files_are_added() {
    let second =
        "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -3,1 +3,1 @@\n-two and a half\n+two and a bit\n";
    let scratch = Scratch::new(SOURCE, &[("0002.patch", second), ("0001.patch", PATCH)]);
    scratch.assemble().expect("the series applies");
    assert_eq!(
        scratch.read("target/src/lib.rs"),
        "one\ntwo\ntwo and a bit\nthree\nfour\ntwo\nthree\n"
    );
    assert_eq!(scratch.read("target/src/cc/mod.rs"), "ours");
}

#[test]
fn assembling_again_starts_from_the_published_source() {
    let scratch = Scratch::new(SOURCE, &[("0001.patch", PATCH)]);
    scratch.assemble().expect("the series applies");
    scratch.write("target/src/left_over.rs", "old");
    scratch.assemble().expect("the series applies again");
    assert!(!scratch.path("target/src/left_over.rs").exists());
}

#[test]
fn a_hunk_that_fits_elsewhere_does_not_apply() {
    // The lines of the hunk stand further down too.
    let scratch = Scratch::new(&SOURCE.replacen("two", "2", 1), &[("0001.patch", PATCH)]);
    let error = scratch.assemble().expect_err("the hunk names line 2");
    let message = error.to_string();
    let patch = scratch.path("patches/0001.patch");
    for part in [
        patch.to_str().expect("a text path"),
        "@@ -2,2 +2,3 @@",
        "src/lib.rs",
        "line 2",
        "expected: two",
        "found:    2",
        "Remedy",
    ] {
        assert!(message.contains(part), "`{part}` is missing in:\n{message}");
    }
}

#[test]
fn a_hunk_beyond_the_end_of_the_file_does_not_apply() {
    let scratch = Scratch::new("one\ntwo\n", &[("0001.patch", PATCH)]);
    let message = scratch
        .assemble()
        .expect_err("line 3 is missing")
        .to_string();
    assert!(message.contains("(end of file)"), "{message}");
}

#[test]
fn a_patch_that_makes_a_file_is_refused() {
    let creation = "--- /dev/null\n+++ b/src/new.rs\n@@ -0,0 +1 @@\n+new\n";
    let scratch = Scratch::new(SOURCE, &[("0001.patch", creation)]);
    assert!(matches!(scratch.assemble(), Err(Error::NotAChange { .. })));
}

#[test]
fn a_file_of_ours_never_replaces_a_published_one() {
    let scratch = Scratch::new(SOURCE, &[]);
    scratch.write("published/src/cc/mod.rs", "theirs");
    let error = scratch.assemble().expect_err("both have cc/mod.rs");
    assert!(
        matches!(&error, Error::Collision { file } if file == Path::new("cc/mod.rs")),
        "{error}"
    );
}
