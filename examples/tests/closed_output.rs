//! Programs whose output nobody reads.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// As in `crosstraffic receive | head -0`.
#[test]
fn a_result_that_nobody_reads_is_no_error() {
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(reader);
    let mut program = Command::new(env!("CARGO_BIN_EXE_crosstraffic"))
        .args(["receive", "--listen", "127.0.0.1:0"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(program.stderr.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert!(line.starts_with("listening on 127.0.0.1:"), "{line}");
    let kill = format!("kill -TERM {}", program.id());
    let killed = Command::new("sh").args(["-c", &kill]).status();
    assert!(killed.expect("sh is there").success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "");
    assert!(program.wait().expect("it ends").success());
}
