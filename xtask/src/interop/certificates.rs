//! Certificates as the runner makes them: a root, intermediates, and the server's.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What the server is called.
const NAMES: &str = "DNS:server,DNS:server4,DNS:server6,DNS:server46";

/// Further names of the longest that there can be make a certificate of several packets.
const INFLATING_NAMES: usize = 20;
const INFLATING_NAME_LENGTH: usize = 250;

/// Writes `cert.pem` (the server's and its issuers'), `priv.key` and `ca.pem`.
pub fn make(folder: &Path, length: usize) -> Result<()> {
    openssl(
        folder,
        "ca",
        "interop root",
        "basicConstraints=critical,CA:TRUE",
        None,
    )?;
    let mut issuer = "ca".to_owned();
    let mut chain = Vec::new();
    for number in 1..=length {
        let is_own = number == length;
        let name = format!("certificate{number}");
        let extension = if is_own {
            alternative_names(length > 1)
        } else {
            "basicConstraints=critical,CA:TRUE".to_owned()
        };
        openssl(
            folder,
            &name,
            &format!("interop {number}"),
            &extension,
            Some(&issuer),
        )?;
        chain.insert(0, fs::read_to_string(folder.join(format!("{name}.pem")))?);
        issuer = name;
    }
    fs::write(folder.join("cert.pem"), chain.concat())?;
    fs::copy(
        folder.join(format!("{issuer}.key")),
        folder.join("priv.key"),
    )?;
    Ok(())
}

fn alternative_names(inflated: bool) -> String {
    let mut names = format!("subjectAltName={NAMES}");
    if inflated {
        for number in 0..INFLATING_NAMES {
            let name = format!("{number:0>INFLATING_NAME_LENGTH$}");
            names.push_str(&format!(",DNS:{name}"));
        }
    }
    names
}

/// A certificate and its key, signed by `issuer` or by itself.
fn openssl(
    folder: &Path,
    name: &str,
    subject: &str,
    extension: &str,
    issuer: Option<&str>,
) -> Result<()> {
    let mut command = Command::new("openssl");
    command
        .current_dir(folder)
        .args(["req", "-x509", "-sha256", "-nodes", "-days", "10"])
        .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-subj", &format!("/O={subject}"), "-addext", extension])
        .args([
            "-keyout",
            &format!("{name}.key"),
            "-out",
            &format!("{name}.pem"),
        ])
        .stdin(Stdio::null());
    if let Some(issuer) = issuer {
        command.args([
            "-CA",
            &format!("{issuer}.pem"),
            "-CAkey",
            &format!("{issuer}.key"),
        ]);
    }
    let output = command.output().context("openssl is not installed")?;
    if !output.status.success() {
        bail!(
            "openssl: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}
