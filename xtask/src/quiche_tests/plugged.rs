//! The third run: `imtcp` is used where no controller is named.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Crates, Outcome, Outcomes, names_with, table, test};
use crate::workspace;

const BRIDGE: &str = include_str!("imtcp.rs.in");

/// Where a configuration begins without a plug-in.
const WITHOUT: &str = "congestion_controller: None,";
const WITH: &str = "congestion_controller: crate::imtcp::handle(),";

/// Makes imtcp the default of a scratch crate.
pub fn plug_in(folder: &Path) -> Result<()> {
    let root = folder.join("src/lib.rs");
    let text = fs::read_to_string(&root).with_context(|| format!("reading {}", root.display()))?;
    ensure!(
        text.matches(WITHOUT).count() == 1,
        "quiche's configuration has no `{WITHOUT}` to replace"
    );
    let text = text.replace(WITHOUT, WITH);
    workspace::write(&root, &format!("{text}\n#[cfg(test)]\nmod imtcp;\n"))?;
    workspace::write(&folder.join("src/imtcp.rs"), BRIDGE)?;

    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    // Another quiche in the build already has the name.
    let text = text.replacen("name = \"quiche\"", "name = \"quiche-plugged\"", 1);
    let here = workspace::root();
    let additions = format!(
        "\n[dev-dependencies.seam]\npackage = \"quiche\"\nversion = \"0.30.0\"\n\
         \n[dev-dependencies.imtcp-cc]\npath = {:?}\nfeatures = [\"quiche\"]\n\
         \n[patch.crates-io]\nquiche = {{ path = {:?} }}\n",
        here.join("imtcp-cc"),
        here.join("quiche"),
    );
    workspace::write(&manifest, &format!("{text}{additions}"))
}

/// Runs the tests and compares. Returns whether the differences are those of the list.
pub fn compare(crates: &Crates, patched: &Outcomes, features: &str) -> Result<bool> {
    say!("Testing with imtcp, in {}", crates.plugged.display())?;
    let plugged = test(&crates.plugged, features)?;
    say!(
        "{}",
        table(&[("patched", patched), ("with imtcp", &plugged)])
    )?;
    let known = known(&fs::read_to_string(
        workspace::root().join("quiche/upstream-differences.txt"),
    )?)?;
    let found = different(patched, &plugged);
    let mut as_listed = true;
    for name in found.iter().filter(|name| !known.contains_key(**name)) {
        say!("DIFFERS with imtcp, and is not listed: {name}")?;
        as_listed = false;
    }
    for name in known.keys().filter(|name| !found.contains(&name.as_str())) {
        // This is no failure, because these tests run on the real clock.
        say!("is listed in upstream-differences.txt, and did not differ: {name}")?;
    }
    say!(
        "With imtcp {} tests pass, {} end differently.",
        names_with(&plugged, Outcome::Passed).len(),
        found.len()
    )?;
    Ok(as_listed)
}

fn different<'a>(patched: &'a Outcomes, plugged: &Outcomes) -> Vec<&'a str> {
    let differs = |(name, before): &(&String, &Outcome)| plugged.get(*name) != Some(before);
    let found = patched.iter().filter(differs);
    found.map(|(name, _)| name.as_str()).collect()
}

/// The list: a line for each test, its name, a colon and a space, and the reason.
fn known(text: &str) -> Result<BTreeMap<String, String>> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (name, reason) = line
                .split_once(": ")
                .with_context(|| format!("`{line}` gives no reason"))?;
            Ok((name.to_owned(), reason.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_reason_for_each_test() -> Result<()> {
        let list = known("# why\n\ntests::one: it counts windows\n")?;
        assert_eq!(list["tests::one"], "it counts windows");
        assert!(known("tests::one").is_err());
        Ok(())
    }

    #[test]
    fn what_ends_otherwise_or_not_at_all_is_different() {
        let patched = super::super::parse("test a ... ok\ntest b ... ok\ntest c ... FAILED\n");
        let plugged = super::super::parse("test a ... ok\ntest b ... FAILED\ntest c ... FAILED\n");
        assert_eq!(different(&patched, &plugged), ["b"]);
        assert_eq!(different(&patched, &Outcomes::new()), ["a", "b", "c"]);
    }
}
