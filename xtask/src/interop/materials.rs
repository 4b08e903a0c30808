//! What a cell begins with: folders, files, certificates, names of hosts.

use std::fs;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};

use super::cases::Case;
use super::certificates;
use super::link;
use super::trace::SERVER_6;

/// The folders, files and certificates of a cell. Returns the files' names.
pub fn prepare(folder: &Path, case: Case) -> Result<Vec<String>> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for name in [
        "www",
        "downloads",
        "certs",
        "sim",
        "client_logs",
        "server_logs",
        "roots",
    ] {
        fs::create_dir_all(folder.join(name))
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let (four, six) = (link::SERVER, SERVER_6);
    fs::write(
        folder.join("hosts"),
        format!("127.0.0.1 localhost\n{four} server server4 server46\n{six} server6 server46\n"),
    )?;
    certificates::make(&folder.join("certs"), case.chain_length())?;
    let wanted = case.files();
    let mut random = fs::File::open("/dev/urandom").context("no randomness")?;
    let mut names = Vec::new();
    for number in 0..wanted.repeated {
        for (index, size) in wanted.sizes.iter().enumerate() {
            let name = format!("f{number}x{index}x");
            let name = format!("{name:x<width$}", width = wanted.name_length);
            let mut content = vec![0; *size];
            random.read_exact(&mut content)?;
            fs::write(folder.join("www").join(&name), content)?;
            names.push(name);
        }
    }
    Ok(names)
}
