//! The certificate: the user's, or one that is made at the first start and kept.

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Names of the files in the folder that is kept.
const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";

/// Two files in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, followed by those of its issuers.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Identity {
    /// Files of the user.
    ///
    /// # Errors
    /// One cannot be read, or holds something else.
    pub fn of_files(certificate: &Path, key: &Path) -> Result<Self> {
        // A key's kind stands before these words: `RSA PRIVATE KEY` for one.
        for (file, what, mark) in [
            (certificate, "certificate", "BEGIN CERTIFICATE-----"),
            (key, "private key", "PRIVATE KEY-----"),
        ] {
            let content = fs::read(file);
            let content = content.with_context(|| format!("cannot read {}", file.display()))?;
            ensure!(
                content
                    .windows(mark.len())
                    .any(|part| part == mark.as_bytes()),
                "{} holds no {what} in PEM; there is no `{mark}` in it",
                file.display()
            );
        }
        Ok(Self {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        })
    }

    /// The pair that is kept in `folder`. It is made if there is none, for `localhost` and this
    /// address; no client has reason to trust it.
    ///
    /// # Errors
    /// It cannot be read or written, or half of it is missing.
    pub fn kept_in(folder: &Path, address: IpAddr) -> Result<Self> {
        let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
        match (certificate.exists(), key.exists()) {
            (true, true) => {}
            (false, false) => make(folder, &certificate, &key, address)?,
            (is_there, _) => {
                let missing = if is_there { &key } else { &certificate };
                ensure!(
                    false,
                    "{} is missing, and its counterpart is there; bring it back, or delete both",
                    missing.display()
                );
            }
        }
        Self::of_files(&certificate, &key)
    }

    /// Whether the key stays private beside a folder that is served.
    ///
    /// # Errors
    /// It is one of the files that anybody can fetch.
    pub fn check_beside(&self, root: &Path) -> Result<()> {
        let real = |path: &Path| {
            let real = fs::canonicalize(path);
            real.with_context(|| format!("cannot read {}", path.display()))
        };
        let (key, root) = (real(&self.key)?, real(root)?);
        // Names that begin with a dot are not served.
        let is_hidden = |part: &OsStr| part.as_encoded_bytes().starts_with(b".");
        let is_served = key
            .strip_prefix(&root)
            .is_ok_and(|name| !name.iter().any(is_hidden));
        ensure!(
            !is_served,
            "the private key {} lies in the folder that is served, where anybody could fetch it; \
             move it out, or into a folder whose name begins with a dot",
            self.key.display()
        );
        Ok(())
    }
}

fn make(folder: &Path, certificate: &Path, key: &Path, address: IpAddr) -> Result<()> {
    let names = vec!["localhost".to_owned(), address.to_string()];
    let made = rcgen::generate_simple_self_signed(names);
    let made = made.context("cannot make a self-signed certificate")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let written = |path: &Path, text: String, mode: u32| {
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(mode).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))
    };
    written(key, made.signing_key.serialize_pem(), 0o600)?;
    written(certificate, made.cert.pem(), 0o644)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::os::unix::fs::PermissionsExt;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn a_pair_is_made_once_and_its_key_is_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("deep/tls");
        let first = Identity::kept_in(&inner, HERE).expect("made");
        let text = fs::read_to_string(&first.certificate).expect("there");
        assert!(text.starts_with("-----BEGIN CERTIFICATE-----"), "{text}");
        let mode = fs::metadata(&first.key)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(Identity::kept_in(&inner, HERE).expect("kept"), first);
        assert_eq!(fs::read_to_string(&first.certificate).expect("there"), text);
    }

    #[test]
    fn a_key_that_anybody_could_fetch_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        for (place, is_private) in [
            ("root", false),
            ("root/deep/tls", false),
            ("root/.tls", true),
            ("root/.deep/tls", true),
            ("rooted", true),
            ("tls", true),
        ] {
            let identity = Identity::kept_in(&folder.path().join(place), HERE).expect("made");
            let checked = identity.check_beside(&root);
            assert_eq!(checked.is_ok(), is_private, "{place}: {checked:?}");
        }
        // By another name, too.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(root.join("deep"), &link).expect("linked");
        let identity = Identity::kept_in(&link.join("tls"), HERE).expect("there");
        let error = identity.check_beside(&root).expect_err("it is served");
        assert!(error.to_string().contains("move it out"), "{error}");
    }

    #[test]
    fn half_a_pair_is_no_pair() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(KEY), "").expect("written");
        let error = Identity::kept_in(folder.path(), HERE).expect_err("half");
        assert!(error.to_string().contains("cert.pem is missing"), "{error}");
        let error = Identity::of_files(Path::new("/no/cert"), Path::new("/no/key"));
        let error = format!("{:#}", error.expect_err("none"));
        assert!(error.contains("cannot read /no/cert"), "{error}");
    }

    #[test]
    fn a_file_that_holds_something_else_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let good = Identity::kept_in(folder.path(), HERE).expect("made");
        let swapped = Identity::of_files(&good.key, &good.certificate);
        let error = swapped.expect_err("the wrong way round").to_string();
        assert!(error.contains("key.pem holds no certificate"), "{error}");
        let twice = Identity::of_files(&good.certificate, &good.certificate);
        let error = twice.expect_err("no key").to_string();
        assert!(error.contains("cert.pem holds no private key"), "{error}");
    }
}
