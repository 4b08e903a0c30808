//! Programs whose output nobody reads.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// Waits until the program listens, and returns where.
fn listening(program: &mut Child) -> (BufReader<ChildStderr>, String) {
    let mut said = BufReader::new(program.stderr.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    let address = line.trim_end().strip_prefix("listening on ");
    let address = address.unwrap_or_else(|| panic!("{line}"));
    (said, address.to_owned())
}

fn terminate(program: &mut Child) -> bool {
    let kill = format!("kill -TERM {}", program.id());
    let killed = Command::new("sh").args(["-c", &kill]).status();
    assert!(killed.expect("sh is there").success());
    program.wait().expect("it ends").success()
}

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
    let (mut said, _) = listening(&mut program);
    assert!(terminate(&mut program));
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "");
}

#[test]
fn an_error_that_nobody_reads_has_its_exit_code() {
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(reader);
    let ended = Command::new(env!("CARGO_BIN_EXE_fetch"))
        .arg("http://localhost/")
        .stderr(writer)
        .status();
    assert_eq!(ended.expect("it starts").code(), Some(1));
}

/// A datagram with a long header of this version, and nothing in it that could be decrypted.
fn initial(version: u32) -> Vec<u8> {
    let mut datagram = vec![0xc0];
    datagram.extend(version.to_be_bytes());
    // Identifiers of eight bytes and of none, no token, and a length of two bytes.
    datagram.extend([8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x44, 0x00]);
    datagram.resize(1200, 0);
    datagram
}

/// As in `serve | head -1`, or where what kept the log of a service was started anew.
#[test]
fn a_server_goes_on_when_nobody_reads_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let qlogs = folder.path().join("qlogs");
    let mut program = Command::new(env!("CARGO_BIN_EXE_serve"))
        .args(["--listen", "127.0.0.1:0", "--root"])
        .arg(folder.path())
        .arg("--qlog")
        .arg(&qlogs)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (said, server) = listening(&mut program);
    drop(said);
    // It cannot create a log any more, and says so.
    std::fs::remove_dir(&qlogs).expect("it made the folder");
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let patience = Some(Duration::from_secs(30));
    client.set_read_timeout(patience).expect("not zero");
    for version in [1, 0x1a2a_3a4a] {
        client
            .send_to(&initial(version), &server)
            .expect("loopback");
    }
    // The second one is answered, if there is somebody.
    let answered = client.recv_from(&mut [0; 1500]);
    assert!(terminate(&mut program), "it ended by itself");
    answered.expect("a list of versions");
}
