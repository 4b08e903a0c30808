//! A receiver that may not open as many files as there are transfers to it.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// Open files. Half of them are the program's own.
const FILES: usize = 20;

fn receiver() -> Child {
    let program = env!("CARGO_BIN_EXE_crosstraffic");
    let line = format!("ulimit -n {FILES} && exec {program} tcp-receive --listen 127.0.0.1:0");
    Command::new("sh")
        .args(["-c", &line])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

#[test]
fn transfers_that_find_no_room_do_not_end_the_others() {
    let mut program = receiver();
    let mut said = BufReader::new(program.stderr.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    let address = line.trim_end().strip_prefix("listening on ");
    let address = address.unwrap_or_else(|| panic!("{line}"));
    let transfers: Vec<TcpStream> = (0..FILES)
        .map(|_| TcpStream::connect(address).expect("the kernel answers"))
        .collect();
    line.clear();
    said.read_line(&mut line).expect("a line");
    assert!(line.contains("a connection is not taken"), "{line}");
    drop(transfers);

    let kill = format!("kill -TERM {}", program.id());
    let killed = Command::new("sh").args(["-c", &kill]).status();
    assert!(killed.expect("sh is there").success());
    let mut result = String::new();
    let mut output = program.stdout.take().expect("a pipe");
    output.read_to_string(&mut result).expect("text");
    assert!(program.wait().expect("it ends").success());
    assert!(result.contains("\"flows\""), "{result}");
}
