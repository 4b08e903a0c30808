//! What the program refuses before it runs anything, and outputs that cannot be written.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn imtcp_sim(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_imtcp-sim");
    let output = Command::new(program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{program} does not start: {error}"))
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// What is said of a command line that cannot be followed.
fn refused(arguments: &[&str]) -> String {
    let output = imtcp_sim(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?} were accepted");
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// `println!` panics there.
#[test]
fn a_standard_output_that_is_full_is_an_error() {
    for arguments in [
        &["list"][..],
        &["explain", "demo"],
        &["explain", "demo", "--json"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full");
        let full = full.expect("Linux has it");
        let mut program = Command::new(env!("CARGO_BIN_EXE_imtcp-sim"));
        let output = program
            .args(arguments)
            .stdout(full)
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(
            said,
            "imtcp-sim: cannot write standard output: No space left on device (os error 28)\n"
        );
    }
}

#[test]
fn more_seeds_than_can_be_run_are_refused() {
    let seeds = "0..18446744073709551615";
    for command in [
        &["run", "demo"][..],
        &["survey"],
        &["sweep", "d2"],
        &["calibrate"],
    ] {
        let said = refused(&[command, &["--seeds", seeds]].concat());
        assert!(
            said.contains("holds 18446744073709551616 seeds; at most 1000000"),
            "{said}"
        );
    }
}

/// They were taken and did nothing.
#[test]
fn options_that_would_do_nothing_are_refused() {
    let survey = ["survey", "fixed", "--seeds", "1..1"];
    for options in [
        &["--promise", "--placebo"][..],
        &["--promise", "--repeats", "3"],
        &["--estimates", "--repeats", "3"],
        &["--shares", "--repeats", "3"],
    ] {
        let said = refused(&[&survey, options].concat());
        assert!(said.contains("cannot be used with"), "{said}");
    }
    for options in [
        &["--qlog-replay"][..],
        &["--qlog-level", "events"],
        &["--qlog-compression", "gzip"],
    ] {
        let said = refused(&[&["run", "demo", "--qlog", "none"], options].concat());
        assert!(said.contains("--qlog none writes no qlog"), "{said}");
    }
    let out = folder("calibrated").display().to_string();
    let said = refused(&["calibrate", "demo", "--seeds", "1..1", "--out", &out]);
    assert!(said.contains("demo: nothing is promised"), "{said}");
    let said = refused(&[
        "calibrate",
        "--sweep",
        "m1",
        "--seeds",
        "1..1",
        "--out",
        &out,
    ]);
    assert!(said.contains("m1: nothing is promised"), "{said}");
}

/// The runs were made, and then neither their scores were printed nor the file written.
#[test]
fn a_file_that_cannot_be_written_is_told_before_the_first_run() {
    let out = folder("unwritable").display().to_string();
    let run = [
        "run",
        "demo",
        "--set",
        "duration=4 s",
        "--qlog",
        "none",
        "--out",
        &out,
    ];
    let survey = ["survey", "fixed", "--seeds", "1..1", "--repeats", "0"];
    for command in [&run[..], &survey] {
        let output = imtcp_sim(&[command, &["--json", "/nowhere/at/all.json"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            said,
            "imtcp-sim: cannot write /nowhere/at/all.json: No such file or directory (os error 2)\n"
        );
        assert!(output.stdout.is_empty(), "nothing was run");
    }
    // The scores are printed even where the file turns out to be full.
    let output = imtcp_sim(&[&run[..], &["--json", "/dev/full"]].concat());
    assert!(!output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("goodput"),
        "{output:?}"
    );
}

/// What is in a file stays there when nothing can be run.
#[test]
fn a_run_that_cannot_begin_leaves_an_earlier_result_alone() {
    let file = folder("earlier.json");
    fs::write(&file, "[7]\n").expect("it can be written");
    let name = file.display().to_string();
    let out = folder("earlier").display().to_string();
    let flow = "flow.main.controller=nobody";
    refused(&["run", "demo", "--json", &name, "--out", &out, "--set", flow]);
    let traces = ["--traces", "/nowhere", "--json", &name];
    refused(&[&["survey", "radio", "--seeds", "1..1"][..], &traces].concat());
    assert_eq!(fs::read_to_string(file).expect("it is there"), "[7]\n");
}

#[test]
fn a_head_start_that_is_no_time_is_refused() {
    for time in ["inf", "1e300", "nan", "-1", "soon"] {
        let head_start = format!("--head-start={time}");
        let said = refused(&["score", "demo", "--estimates", "none.csv", &head_start]);
        assert!(
            said.contains("this is no time; write seconds, such as 2.5"),
            "{said}"
        );
    }
}

#[test]
fn a_file_without_an_end_is_refused() {
    let said = refused(&["explain", "/dev/zero"]);
    assert!(
        said.contains("/dev/zero: cannot be read: it has more than 16 MB"),
        "{said}"
    );
    let file = folder("endless.toml");
    let text = "name = \"endless\"\ntitle = \"t\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n\
                trace = \"/dev/zero\"\ndelay = \"10 ms\"\nqueue = \"90 KB\"\n";
    fs::write(&file, text).expect("it can be written");
    let said = refused(&["explain", &file.display().to_string()]);
    let expected = "/dev/zero: link.l.trace: cannot be read: it has more than 64 MB";
    assert!(said.contains(expected), "{said}");
}
