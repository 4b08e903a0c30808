//! What is not built here: a browser, Node.js, ffmpeg, and the players from npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The players' own files, and the names under which the page loads them.
const PLAYERS: [(&str, &str); 2] = [
    ("dashjs/dist/modern/umd/dash.all.min.js", "dash.js"),
    ("shaka-player/dist/shaka-player.compiled.js", "shaka.js"),
];

/// The page that plays, beside the package that names the players.
const PAGE: [&str; 2] = ["play.html", "play.js"];

/// Programs of the system's.
pub struct Tools {
    /// The browser.
    pub chromium: PathBuf,
    /// What runs the driver.
    pub node: PathBuf,
    /// What gives a program a priority, where there is one.
    pub chrt: Option<PathBuf>,
}

impl Tools {
    /// Finds them, or says which package brings the first that is missing.
    pub fn find(chromium: &str) -> Result<Self> {
        need("ffmpeg", "ffmpeg", "encodes the title")?;
        need("npm", "npm", "installs the players")?;
        Ok(Self {
            chromium: need(chromium, "chromium", "plays")?,
            node: need("node", "nodejs", "drives the browser")?,
            chrt: find("chrt"),
        })
    }
}

fn need(program: &str, package: &str, does: &str) -> Result<PathBuf> {
    match find(program) {
        Some(path) => Ok(path),
        None => {
            bail!("`{program}`, which {does}, is not there; on Debian: apt-get install {package}")
        }
    }
}

/// Where a program is, by its name or its path.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(program));
    paths.find(|path| path.is_file())
}

/// The folder of the page, of the driver, and of what npm is told to install.
pub fn sources() -> PathBuf {
    workspace::root().join("imtcp-serve/browser")
}

/// Installs the players below the target folder, as the lock file says, unless they are there.
pub fn install() -> Result<PathBuf> {
    let folder = workspace::target().join("browser");
    let lock = "package-lock.json";
    let wanted = read(&sources().join(lock))?;
    // Written last, so that an installation that was cut off is made again.
    let done = folder.join("installed");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    for name in ["package.json", lock] {
        workspace::write(&folder.join(name), &read(&sources().join(name))?)?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    workspace::run(npm.current_dir(&folder)).context("npm needs the network, once")?;
    workspace::write(&done, &wanted)?;
    Ok(folder)
}

/// Puts page and players beside a title.
pub fn furnish(title: &Path, packages: &Path) -> Result<()> {
    let page = PAGE.map(|name| (sources().join(name), name));
    let players = PLAYERS.map(|(path, name)| (packages.join("node_modules").join(path), name));
    for (from, name) in page.into_iter().chain(players) {
        fs::copy(&from, title.join(name))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let missing = Tools::find("no-such-browser")
            .err()
            .map(|error| error.to_string());
        let missing = missing.expect("it is not there");
        assert!(missing.contains("apt-get install"), "{missing}");
        let missing = need("no-such-browser", "chromium", "plays").expect_err("not there");
        let expected = "`no-such-browser`, which plays, is not there; on Debian: apt-get install \
                        chromium";
        assert_eq!(missing.to_string(), expected);
        assert!(find("/no/such/program").is_none());
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
    }

    #[test]
    fn the_lock_file_names_no_machine() {
        let lock = read(&sources().join("package-lock.json")).expect("committed");
        assert!(
            !lock.contains("\"resolved\""),
            "npm install --omit-lockfile-registry-resolved"
        );
    }
}
