//! ngtcp2's client and server of Debian's packages. They know HTTP/3 alone.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::{Start, Task, words};
use crate::interop::cases::Case;
use crate::interop::play::PORT;

const QUIET: &str = "-q --no-quic-dump --no-http-dump";

pub fn prepare() -> Result<()> {
    for program in ["gtlsclient", "gtlsserver"] {
        let mut probe = Command::new(program);
        probe
            .arg("--help")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if probe.status().is_err() {
            bail!("`{program}` is missing; on Debian: apt-get install ngtcp2-client ngtcp2-server");
        }
    }
    Ok(())
}

pub fn client(task: &Task<'_>) -> Option<Start> {
    let host = task.case.host();
    let fetch = format!(
        "mkdir -p $QLOGDIR\nfetch() {{ gtlsclient {QUIET} --download=/downloads \
         --qlog-dir=$QLOGDIR --exit-on-all-streams-close \"$@\"; }}\n"
    );
    let all = words(task.requests);
    let (first, rest) = task.requests.split_first()?;
    let rest = words(rest);
    let session = "--session-file=/logs/session --tp-file=/logs/parameters";
    let lines = match task.told {
        "handshake" | "transfer" | "retry" | "http3" | "ecn" => {
            format!("fetch {host} {PORT} {all}")
        }
        "chacha20" => {
            let ciphers = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305";
            format!("fetch --ciphers={ciphers} {host} {PORT} {all}")
        }
        "keyupdate" => format!("fetch --key-update=100ms {host} {PORT} {all}"),
        "multiconnect" => format!("for url in {all}; do fetch {host} {PORT} $url; done"),
        "resumption" => format!(
            "fetch {session} {host} {PORT} {first}\n\
             fetch --disable-early-data {session} {host} {PORT} {rest}"
        ),
        "zerortt" => {
            format!("fetch {session} {host} {PORT} {first}\nfetch {session} {host} {PORT} {rest}")
        }
        _ => return None,
    };
    Some(Start::script(fetch + &lines))
}

pub fn server(task: &Task<'_>) -> Option<Start> {
    let validation = match task.case {
        Case::Retry => "-V",
        Case::V2 | Case::Connectionmigration => return None,
        _ => "",
    };
    Some(Start::script(format!(
        "mkdir -p $QLOGDIR\nexec gtlsserver {QUIET} {validation} --qlog-dir=$QLOGDIR -d /www \
         '*' {PORT} /certs/priv.key /certs/cert.pem"
    )))
}
