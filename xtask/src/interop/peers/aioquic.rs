//! aioquic's example client and server, from PyPI.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{Start, Task, holds, note, run, words};
use crate::interop::play::PORT;

/// The release on PyPI.
pub const VERSION: &str = "1.7.2";

/// What its examples need besides.
const NEEDS: [&str; 3] = ["jinja2", "starlette", "wsproto"];

fn folder(cache: &Path) -> PathBuf {
    cache.join("aioquic")
}

fn examples(cache: &Path) -> PathBuf {
    folder(cache).join(format!("aioquic-{VERSION}/examples"))
}

pub fn prepare(cache: &Path) -> Result<()> {
    let folder = folder(cache);
    if holds(&folder, VERSION) {
        return Ok(());
    }
    fs::create_dir_all(&folder).context("cannot make a folder for aioquic")?;
    run("python3", &folder, &["-m", "venv", "venv"])?;
    let release = format!("aioquic=={VERSION}");
    let pip = "venv/bin/pip";
    let mut install = vec!["install", "--quiet", &release];
    install.extend(NEEDS);
    run(pip, &folder, &install)?;
    run(
        pip,
        &folder,
        &[
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            &release,
        ],
    )?;
    run(
        "tar",
        &folder,
        &["xzf", &format!("aioquic-{VERSION}.tar.gz")],
    )?;
    if !examples(cache).is_dir() {
        bail!("aioquic's source distribution has no examples any more");
    }
    note(&folder, VERSION)
}

/// The interpreter and an example.
fn example(cache: &Path, name: &str) -> String {
    let python = folder(cache).join("venv/bin/python");
    format!(
        "cd {}; exec_python=\"{} {name}\"; mkdir -p $QLOGDIR\n",
        examples(cache).display(),
        python.display()
    )
}

pub fn client(cache: &Path, task: &Task<'_>) -> Option<Start> {
    let mut options = "--insecure --output-dir /downloads --secrets-log $SSLKEYLOGFILE \
                       --quic-log $QLOGDIR"
        .to_owned();
    if task.told != "http3" {
        options.push_str(" --legacy-http");
    }
    let all = words(task.requests);
    let ticket = "--session-ticket /logs/ticket";
    let (first, rest) = task.requests.split_first()?;
    let rest = words(rest);
    let lines = match task.told {
        "handshake" | "transfer" | "retry" | "http3" => format!("$exec_python {options} {all}"),
        "chacha20" => {
            format!("$exec_python {options} --cipher-suites CHACHA20_POLY1305_SHA256 {all}")
        }
        "keyupdate" => format!("$exec_python {options} --key-update {all}"),
        "v2" => format!("$exec_python {options} --negotiate-v2 {all}"),
        "multiconnect" => {
            format!("for url in {all}; do $exec_python {options} $url; done")
        }
        "resumption" => format!(
            "$exec_python {options} {ticket} {first}\n$exec_python {options} {ticket} {rest}"
        ),
        "zerortt" => format!(
            "$exec_python {options} {ticket} {first}\n\
             $exec_python {options} {ticket} --zero-rtt {rest}"
        ),
        _ => return None,
    };
    Some(Start::script(example(cache, "http3_client.py") + &lines))
}

pub fn server(cache: &Path, task: &Task<'_>) -> Option<Start> {
    let retry = match task.told {
        "handshake" | "transfer" | "http3" | "chacha20" | "keyupdate" | "v2" | "multiconnect"
        | "resumption" | "zerortt" => "",
        "retry" => "--retry",
        _ => return None,
    };
    let line = format!(
        "STATIC_ROOT=/www exec $exec_python --certificate /certs/cert.pem \
         --private-key /certs/priv.key --host :: --port {PORT} --secrets-log $SSLKEYLOGFILE \
         --quic-log $QLOGDIR {retry}"
    );
    Some(Start::script(example(cache, "http3_server.py") + &line))
}
