//! README.md counts the hunks of the series.

use std::fs;
use std::path::Path;

#[test]
fn the_hunks_are_as_many_as_the_readme_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).expect("README.md");
    let (mut sum, mut patches) = (0, 0);
    for entry in fs::read_dir(root.join("patches")).expect("the series") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let patch = fs::read_to_string(&path).expect("a patch");
        let hunks = patch.lines().filter(|line| line.starts_with("@@ ")).count();
        let said = format!("**{name}** ({hunks} hunks)");
        assert!(readme.contains(&said), "README.md lacks `{said}`");
        sum += hunks;
        patches += 1;
    }
    assert!(patches > 0, "there is no patch");
    let said = format!("\n{sum} hunks, ");
    assert!(readme.contains(&said), "README.md lacks `{sum} hunks`");
}
