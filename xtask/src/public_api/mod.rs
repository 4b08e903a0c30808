//! `cargo xtask public-api`: what users of the library can name, as a file that reviews show.
//!
//! The listing is made from the source files, so that every toolchain makes the same one. Types are
//! written as in the source. It follows modules, `use` lines and `cfg`, and does not expand macros:
//! an invocation within an `impl` is listed with its input, and items that a macro makes outside of
//! an `impl` are missed. Auto traits such as `Send` are not listed either; `cargo semver-checks`
//! sees them.

mod listing;
mod names;
mod reach;
mod source;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use self::source::{Source, Switches};
use crate::workspace;

/// Those that users have.
const SWITCHES: Switches = Switches {
    features: &["default", "quiche", "json", "qlog"],
};

/// Writes the public items of imtcp-cc to imtcp-cc/public-api.txt.
///
/// The file is committed, so that a change of the public items shows in the commit that makes it. A
/// test compares it with the source.
#[derive(clap::Args)]
pub struct Arguments {
    /// Write nothing; say whether the file is up to date.
    #[arg(long)]
    check: bool,
}

/// Writes or checks the listing.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let listing = listing()?;
    if arguments.check {
        return Ok(match difference(&committed()?, &listing) {
            None => ExitCode::SUCCESS,
            Some(difference) => {
                eprint!("{difference}");
                ExitCode::FAILURE
            }
        });
    }
    workspace::write(&file(), &listing)?;
    say!("{}: {} lines", file().display(), listing.lines().count())?;
    Ok(ExitCode::SUCCESS)
}

fn file() -> PathBuf {
    workspace::root().join("imtcp-cc/public-api.txt")
}

fn committed() -> Result<String> {
    fs::read_to_string(file()).with_context(|| format!("reading {}", file().display()))
}

fn listing() -> Result<String> {
    let folder = workspace::root().join("imtcp-cc/src");
    let source = Source::read("imtcp_cc", &folder, SWITCHES)?;
    let items = listing::listing(&source, SWITCHES)?;
    Ok(format!("{HEAD}{items}"))
}

const HEAD: &str = "\
The public items of imtcp-cc with the features quiche and qlog, without documentation.
`cargo xtask public-api` writes this file.
";

/// The lines that differ, and what to do about it. None if there are none.
fn difference(committed: &str, now: &str) -> Option<String> {
    let patch = diffy::create_patch(committed, now);
    (!patch.hunks().is_empty()).then(|| {
        format!(
            "imtcp-cc/public-api.txt is not what the source says:\n{patch}\nRun `cargo xtask \
             public-api`, and commit the file if the change is meant.\n"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 4] = [
        (
            "lib.rs",
            "pub mod open;\nmod shut;\n#[cfg(feature = \"more\")]\npub mod more {}\n\
             #[cfg(feature = \"less\")]\npub mod less;\n\
             pub use shut::{Hidden, Law as Rule};\npub use open::Shown;\n",
        ),
        (
            "open.rs",
            "use crate::shut::Hidden;\n/// Words.\n#[derive(Debug, Clone)]\npub struct Shown {\n\
             /// Words.\npub size: u64,\nowner: Hidden,\n}\n\
             impl Shown {\nfn private(&self) {}\n\
             setters! {\n/// Words.\nsize: u64, name: Option<u8> }\n}\n\
             impl Drop for Hidden { fn drop(&mut self) {} }\n\
             pub(crate) fn near() {}\n#[cfg(test)]\npub fn tested() {}\n",
        ),
        (
            "shut/mod.rs",
            "mod deep;\npub use deep::*;\ntrait Unnamed {}\n",
        ),
        (
            "shut/deep.rs",
            "pub struct Hidden(u8, pub u16);\n\
             impl super::Unnamed for Hidden {}\n\
             impl Hidden {\npub fn second(mut self) -> u16 { self.1 }\n\
             pub const FIRST: u8 = 1;\n}\n\
             pub trait Law { fn given(&self) -> u8 { 1 } fn asked(&self); }\n\
             impl Law for u8 { fn asked(&self) {} }\n\
             pub fn unreachable() {}\n",
        ),
    ];

    const LISTING: &str = "
# made_up
#[cfg(feature = \"more\")]
pub mod more;
pub mod open;
pub use made_up::open::Shown;

pub struct Hidden(_, pub u16);
impl Hidden {
    pub const FIRST: u8 = 1;
    pub fn second(self) -> u16 {}
}
impl Drop for Hidden {}

pub trait Rule {
    fn given(&self) -> u8 {}
    fn asked(&self);
}
impl Law for u8 {}

# made_up::more

# made_up::open

#[derive(Clone, Debug)]
pub struct Shown {
    pub size: u64,
    // private fields
}
impl Shown {
    setters! {
        name : Option < u8 >
    }
    setters! {
        size : u64
    }
}
";

    #[test]
    fn what_users_can_name_is_listed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in FILES {
            workspace::write(&folder.path().join(name), text).expect("a file");
        }
        let switches = Switches {
            features: &["more"],
        };
        let source = Source::read("made_up", folder.path(), switches).expect("a crate");
        let listing = listing::listing(&source, switches).expect("a listing");
        assert_eq!(listing, LISTING);
    }

    #[test]
    fn the_public_items_are_the_committed_ones() {
        let listing = listing().expect("the source can be read");
        let committed = committed().expect("the file is there");
        if let Some(difference) = difference(&committed, &listing) {
            panic!("{difference}");
        }
    }
}
