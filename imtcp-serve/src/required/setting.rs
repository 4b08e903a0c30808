//! Rates that somebody wrote down: in a header field of a request, or by path in a file.
//!
//! Both use the words of the command line: `8 Mbit/s per 2 s`, `exactly 3.3 Mbit/s per 4 s`.

use crate::folder;
use anyhow::{Context, Result, ensure};
use http::HeaderMap;
use imtcp_cc::promise::Requirement;
use imtcp_examples::requirement;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use std::path::Path;

/// The field of a request.
pub const FIELD: &str = "imtcp-required-rate";

/// The requirement that the request itself names.
///
/// # Errors
/// Says what is wrong with it, and what would be right.
pub fn of_request(fields: &HeaderMap) -> Result<Option<Requirement>, String> {
    let Some(value) = fields.get(FIELD) else {
        return Ok(None);
    };
    let text = value
        .to_str()
        .map_err(|_| format!("`{FIELD}` is no text"))?;
    requirement::parse(text).map(Some)
}

/// Rates by path. The first rule that fits counts.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<(String, Requirement)>,
}

/// The file, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    path: Vec<WrittenRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    prefix: String,
    require: String,
}

impl Rules {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or something in it is wrong; the error says what.
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file);
        let text = text.with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", file.display()))
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let written: Written = toml::from_str(text)?;
        let rule = |rule: WrittenRule| {
            let WrittenRule { prefix, require } = rule;
            ensure!(
                prefix.starts_with('/'),
                "the prefix `{prefix}` does not begin with a slash; write `/{prefix}`"
            );
            let requirement = requirement::parse(&require).map_err(anyhow::Error::msg);
            let decoded = percent_decode_str(&prefix).decode_utf8();
            let decoded = decoded.with_context(|| format!("the prefix `{prefix}` is not UTF-8"))?;
            Ok((decoded.into_owned(), requirement?))
        };
        let rules: Result<Vec<_>> = written.path.into_iter().map(rule).collect();
        Ok(Self { rules: rules? })
    }

    /// The number of the first rule for this path, with what it requires. A rule is about the files
    /// that are served, however their path is written.
    pub fn find(&self, path: &str) -> Option<(usize, Requirement)> {
        let name = folder::relative(path).ok()?;
        let path = format!("/{}", name.to_str()?);
        let fits = |(prefix, _): &(String, Requirement)| path.starts_with(prefix.as_str());
        let number = self.rules.iter().position(fits)?;
        Some((number, self.rules[number].1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn words(text: &str) -> Requirement {
        requirement::parse(text).expect("a requirement")
    }

    #[test]
    fn the_first_rule_that_fits_counts() {
        let rules = Rules::parse(
            "[[path]]\nprefix = \"/live/hd/\"\nrequire = \"exactly 6 Mbit/s per 4 s\"\n\
             [[path]]\nprefix = \"/live/\"\nrequire = \"2 Mbit/s per 2 s\"\n",
        );
        let rules = rules.expect("well-formed");
        let expected = |number, text| Some((number, words(text)));
        assert_eq!(
            rules.find("/live/hd/1.m4s"),
            expected(0, "exactly 6 Mbit/s per 4 s")
        );
        assert_eq!(rules.find("/live/1.m4s"), expected(1, "2 Mbit/s per 2 s"));
        assert_eq!(rules.find("/liver/1.m4s"), None);
        assert_eq!(Rules::default().find("/"), None);
    }

    #[test]
    fn a_rule_fits_however_the_path_is_written() {
        let rules = Rules::parse(
            "[[path]]\nprefix = \"/Große Filme/\"\nrequire = \"6 Mbit/s per 4 s\"\n\
             [[path]]\nprefix = \"/two%20words/\"\nrequire = \"4 Mbit/s per 4 s\"\n\
             [[path]]\nprefix = \"/live/\"\nrequire = \"2 Mbit/s per 2 s\"\n",
        );
        let rules = rules.expect("well-formed");
        for (path, expected) in [
            ("/Gro%C3%9Fe%20Filme/1.m4s", Some(0)),
            ("/Gro%c3%9fe%20Filme/", Some(0)),
            ("/two%20words/1.m4s", Some(1)),
            ("//live/1.m4s", Some(2)),
            ("/%6Cive/1.m4s", Some(2)),
            ("/live/../1.m4s", None),
            ("/live%2F1.m4s", None),
            ("/live", None),
        ] {
            let found = rules.find(path).map(|(number, _)| number);
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn what_is_wrong_in_the_file_is_said() {
        for (text, expected) in [
            ("[[path]]\nprefix = \"/\"\n", "require"),
            (
                "[[path]]\nprefix = \"/\"\nrequire = \"fast\"\n",
                "there is no period in `fast`",
            ),
            (
                "[[path]]\nprefix = \"a\"\nrequire = \"1 Mbit/s per 1 s\"\n",
                "write `/a`",
            ),
            ("[[paths]]\n", "paths"),
            ("= 3", "1 | = 3"),
        ] {
            let error = format!("{:#}", Rules::parse(text).expect_err(text));
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = Rules::read(Path::new("/nowhere.toml")).expect_err("not there");
        assert!(format!("{error:#}").contains("/nowhere.toml"));
    }

    #[test]
    fn a_request_can_name_its_own() {
        let mut fields = HeaderMap::new();
        assert_eq!(of_request(&fields), Ok(None));
        fields.insert(FIELD, HeaderValue::from_static("8 Mbit/s per 2 s"));
        assert_eq!(of_request(&fields), Ok(Some(words("8 Mbit/s per 2 s"))));
        fields.insert(FIELD, HeaderValue::from_static("8 Mbps per 2 s"));
        let error = of_request(&fields).expect_err("no such unit");
        assert!(error.contains("known here: bit/s"), "{error}");
    }
}
