//! What logs do not say of themselves: a CSV file beside them.

use crate::prefix::prefix;
use anyhow::{Context, Result, bail};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

/// What is known of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The network of the peer.
    pub prefix: Option<String>,
    /// When the connection began.
    pub began: Option<DateTime<Utc>>,
    /// The congestion controller.
    pub controller: Option<String>,
}

/// Labels by the path of the log below its source.
#[derive(Clone, Debug, Default)]
pub struct Labels(BTreeMap<String, Label>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    log: String,
    #[serde(default)]
    address: Option<String>,
    #[serde(default)]
    began: Option<String>,
    #[serde(default)]
    controller: Option<String>,
}

impl Labels {
    /// Reads a CSV file with the columns `log`, and any of `address`, `began` and `controller`.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is wrong; the error names the line.
    pub fn read(file: &Path) -> Result<Self> {
        let about = || format!("the labels in {}", file.display());
        let mut labels = BTreeMap::new();
        let mut reader = csv::Reader::from_path(file).with_context(about)?;
        for (index, line) in reader.deserialize().enumerate() {
            let line: Line = line.with_context(|| {
                let columns = "the columns are log, address, began and controller";
                format!("{}; {columns}", about())
            })?;
            let name = line.log.clone();
            let label = label(line).with_context(|| format!("{}: line {}", about(), index + 2))?;
            if labels.insert(name.clone(), label).is_some() {
                bail!("{}: `{name}` has two lines; leave one out", about());
            }
        }
        Ok(Self(labels))
    }

    /// What is known of a log.
    pub fn of(&self, log: &str) -> Label {
        self.0.get(log).cloned().unwrap_or_default()
    }
}

fn label(line: Line) -> Result<Label> {
    let told = |text: Option<String>| text.filter(|text| !text.is_empty());
    let network = told(line.address).map(|text| {
        let address: IpAddr = text
            .parse()
            .with_context(|| format!("`{text}` is no address; write 203.0.113.7 or 2001:db8::7"))?;
        anyhow::Ok(prefix(address))
    });
    let began = told(line.began).map(|text| {
        let time = DateTime::parse_from_rfc3339(&text);
        time.with_context(|| format!("`{text}` is no time; write 2026-11-23T05:00:00Z"))
    });
    Ok(Label {
        prefix: network.transpose()?,
        began: began.transpose()?.map(|time| time.to_utc()),
        controller: told(line.controller),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(text: &str) -> Result<Labels> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("labels.csv");
        fs::write(&file, text).expect("it is written");
        Labels::read(&file)
    }

    #[test]
    fn a_label_has_what_its_line_tells() {
        let text = "log,address,began,controller\n\
                    a/b.sqlog,203.0.113.9,2026-11-23T05:00:00Z,cubic\nc.sqlog,,,\n";
        let labels = read(text).expect("labels");
        let label = labels.of("a/b.sqlog");
        assert_eq!(label.prefix.as_deref(), Some("203.0.113.0/24"));
        assert_eq!(label.controller.as_deref(), Some("cubic"));
        let began = label.began.expect("a time");
        assert_eq!(began.to_rfc3339(), "2026-11-23T05:00:00+00:00");
        assert_eq!(labels.of("c.sqlog"), Label::default());
        assert_eq!(labels.of("d.sqlog"), Label::default());
    }

    #[test]
    fn a_wrong_line_is_named_with_the_remedy() {
        for (text, part) in [
            ("log,address\na,203.0.113\n", "write 203.0.113.7"),
            ("log,began\na,yesterday\n", "write 2026-11-23T05"),
            ("log,speed\na,1\n", "the columns are"),
            ("log\na\na\n", "two lines"),
        ] {
            let error = format!("{:#}", read(text).expect_err(text));
            assert!(error.contains(part), "{error}");
        }
    }
}
