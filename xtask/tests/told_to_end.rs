//! A chore of hours that is told to end, as by a service manager, ends with what it has started.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A program that says something, notes its id, and stays.
fn program(folder: &Path, name: &str, says: &str) {
    let text = format!("#!/bin/sh\necho $$ > $0.id\nprintf '{says}'\nexec sleep 600\n");
    let file = folder.join(name);
    fs::write(&file, text).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("allowed");
}

/// A page of metrics for whoever asks; how often it was asked for, and its port.
fn metrics() -> (Arc<AtomicUsize>, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 1024]);
            let page = "imtcp_serve_open_connections 1\nimtcp_serve_connections_total 1\n";
            let _ = stream.write_all(page.as_bytes());
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    (asked, port)
}

#[test]
fn a_soak_that_is_told_to_end_ends_soon_with_its_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (asked, port) = metrics();
    let says = format!(
        "listening on https://127.0.0.1:1/\\nmetrics on http://127.0.0.1:{port}/metrics\\n"
    );
    program(folder.path(), "imtcp-serve", &says);
    program(folder.path(), "imtcp-crowd", "");
    let mut soak = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let soak = soak.args(["soak", "--minutes", "3", "--binaries"]);
    let soak = soak.arg(folder.path()).env("TMPDIR", folder.path());
    let mut soak = soak.stderr(Stdio::piped()).spawn().expect("it starts");
    while asked.load(Ordering::Relaxed) < 2 {
        thread::sleep(Duration::from_millis(20));
    }
    let id = i32::try_from(soak.id()).expect("an id");
    kill(Pid::from_raw(id), Signal::SIGTERM).expect("told");
    let status = soak.wait().expect("it ends");
    let mut said = String::new();
    let errors = soak.stderr.as_mut().expect("it has some");
    errors.read_to_string(&mut said).expect("text");
    assert!(!status.success() && said.contains("interrupted"), "{said}");
    let looks = asked.load(Ordering::Relaxed);
    assert!(looks < 5, "it looked {looks} times at the server");
    for name in ["imtcp-serve", "imtcp-crowd"] {
        let id = fs::read_to_string(folder.path().join(format!("{name}.id")));
        let id = id.expect("it was started");
        let process = Path::new("/proc").join(id.trim());
        assert!(!process.exists(), "{name} still runs");
    }
}
