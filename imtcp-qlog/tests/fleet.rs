//! `imtcp-qlog fleet` hands over to `imtcp-fleet`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

/// One test at a time. A program cannot start while anybody has it open for writing, and a process
/// that another test starts meanwhile has a copy of the writer's handle for a moment.
static ALONE: Mutex<()> = Mutex::new(());

/// The program alone in a folder: beside the original there may be the other one.
fn alone(folder: &Path) -> PathBuf {
    let program = folder.join("imtcp-qlog");
    fs::copy(env!("CARGO_BIN_EXE_imtcp-qlog"), &program).expect("it is copied");
    program
}

fn other(folder: &Path) {
    let program = folder.join("imtcp-fleet");
    fs::write(&program, "#!/bin/sh\necho \"$# $*\"\nexit 3\n").expect("it is written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can be run");
}

fn run(program: &Path, path: &Path) -> Output {
    let mut command = Command::new(program);
    command.args(["fleet", "ask", "--format=csv", "-t", "a b"]);
    command.env("PATH", path).output().expect("it starts")
}

#[test]
fn the_other_program_gets_all_arguments_and_its_status_is_the_status() {
    let _alone = ALONE.lock();
    for is_beside in [true, false] {
        let (own, path) = (
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("one"),
        );
        let program = alone(own.path());
        other(if is_beside { own.path() } else { path.path() });
        let output = run(&program, path.path());
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text.trim(), "4 ask --format=csv -t a b");
        assert_eq!(output.status.code(), Some(3));
    }
}

#[test]
fn where_it_is_not_installed_the_error_says_how_to_install_it() {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(&alone(folder.path()), folder.path());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        errors.contains("cargo install --locked --path imtcp-fleet"),
        "{errors}"
    );
}
