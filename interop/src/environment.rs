//! What the runner tells: environment variables and folders.

use anyhow::{Context, Result, bail, ensure};
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use url::Url;

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Fetches.
    Client,
    /// Serves.
    Server,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// What the environment says.
#[derive(Debug)]
pub struct Environment {
    /// `ROLE`.
    pub role: Role,
    /// `TESTCASE`.
    pub case_name: String,
    /// `REQUESTS`: what the client fetches.
    pub requests: Vec<Url>,
    /// `SSLKEYLOGFILE`: where TLS secrets go, if anywhere.
    pub key_log: Option<PathBuf>,
    /// `QLOGDIR`: the folder of qlogs, if there are any.
    pub qlog_folder: Option<PathBuf>,
    /// `CLIENT_PARAMS` or `SERVER_PARAMS`.
    pub parameters: Parameters,
    /// The folder above `www`, `downloads` and `certs`: `/`, unless `INTEROP_ROOT` names another.
    root: PathBuf,
    /// The server's port: 443, unless `INTEROP_PORT` names another.
    pub port: u16,
}

/// What the runner passes on from whoever started it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// `h3`: the client speaks HTTP/3 in every case, for servers that know nothing else.
    pub http3: bool,
    /// `receive-timestamps`: acknowledgements tell when packets arrived, if the other side wants
    /// that. The runner reads captures with Wireshark, which does not know the draft's frame and
    /// takes what follows it for something else, so this is off unless asked for.
    pub receive_timestamps: bool,
    /// `cubic`: quiche's CUBIC in the place of this project's controller, to compare.
    pub cubic: bool,
}

/// A variable that says something.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Which end this is, and what the case is called. The rest may be written for cases that this
/// endpoint does not carry, so it is looked at later.
///
/// # Errors
/// The role is missing.
pub fn role_and_case() -> Result<(Role, String)> {
    let role = match variable("ROLE").as_deref() {
        Some("client") => Role::Client,
        Some("server") => Role::Server,
        other => bail!(
            "ROLE is {}; it has to be client or server",
            other.unwrap_or("not set")
        ),
    };
    Ok((role, variable("TESTCASE").unwrap_or_default()))
}

impl Environment {
    /// Reads the rest.
    ///
    /// # Errors
    /// Something is not as it has to be.
    pub fn read(role: Role, case_name: String) -> Result<Self> {
        let parameters = match role {
            Role::Client => variable("CLIENT_PARAMS"),
            Role::Server => variable("SERVER_PARAMS"),
        };
        let port = match variable("INTEROP_PORT") {
            Some(port) => port
                .parse()
                .with_context(|| format!("INTEROP_PORT is `{port}`"))?,
            None => 443,
        };
        Ok(Self {
            role,
            case_name,
            requests: match role {
                Role::Client => parse_requests(&variable("REQUESTS").unwrap_or_default())?,
                Role::Server => Vec::new(),
            },
            key_log: variable("SSLKEYLOGFILE").map(PathBuf::from),
            qlog_folder: variable("QLOGDIR").map(PathBuf::from),
            parameters: Parameters::parse(&parameters.unwrap_or_default())?,
            root: variable("INTEROP_ROOT").map_or_else(|| PathBuf::from("/"), PathBuf::from),
            port,
        })
    }

    /// The folder that the server serves.
    pub fn www(&self) -> PathBuf {
        self.root.join("www")
    }

    /// The folder for what the client fetches.
    pub fn downloads(&self) -> PathBuf {
        self.root.join("downloads")
    }

    /// A file of the server's certificate.
    pub fn certificate(&self, name: &str) -> PathBuf {
        self.root.join("certs").join(name)
    }
}

impl Parameters {
    fn parse(text: &str) -> Result<Self> {
        let mut parameters = Self::default();
        for word in text.split_whitespace() {
            match word {
                "h3" => parameters.http3 = true,
                "receive-timestamps" => parameters.receive_timestamps = true,
                "cubic" => parameters.cubic = true,
                _ => bail!("the parameter `{word}` is not `h3`, `receive-timestamps` or `cubic`"),
            }
        }
        Ok(parameters)
    }
}

fn parse_requests(text: &str) -> Result<Vec<Url>> {
    let parse = |word: &str| {
        let url = Url::parse(word).with_context(|| format!("REQUESTS has `{word}`: no URL"))?;
        ensure!(
            url.scheme() == "https" && url.has_host(),
            "REQUESTS has `{word}`; a request looks like https://server4:443/file"
        );
        file_name(&url)?;
        Ok(url)
    };
    text.split_whitespace().map(parse).collect()
}

/// The name under which a file is kept: the last part of the URL's path.
///
/// # Errors
/// There is none.
pub fn file_name(url: &Url) -> Result<&str> {
    let name = Path::new(url.path())
        .file_name()
        .and_then(|name| name.to_str());
    name.with_context(|| format!("{url} names no file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_file_or_of_another_scheme_is_refused_by_its_words() {
        for (text, part) in [
            ("https://server4:443/", "names no file"),
            ("https://server4:443/a/..", "names no file"),
            ("http://server4/a", "looks like https://"),
            ("server4", "no URL"),
        ] {
            let error = parse_requests(text).expect_err(text);
            assert!(format!("{error:#}").contains(part), "{error:#}");
        }
    }

    #[test]
    fn requests_are_kept_in_their_order() {
        let requests = parse_requests("https://server4:443/b  https://server4:443/x/a");
        let requests = requests.expect("two of them");
        let names = requests.iter().map(|url| file_name(url).expect("a name"));
        assert_eq!(names.collect::<Vec<_>>(), ["b", "a"]);
    }
}
