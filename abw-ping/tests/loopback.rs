//! The program against this machine itself.

use std::process::{Command, Output};

fn abw_ping(arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_abw-ping"));
    program.args(arguments).output().expect("the program runs")
}

/// Whether this user may ping. Where not, the message has to name both remedies.
fn may_ping(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    if !said.contains("no permission") {
        return true;
    }
    assert!(said.contains("net.ipv4.ping_group_range"), "{said}");
    assert!(said.contains("root"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    false
}

#[test]
fn this_machine_answers_with_a_value_for_machines() {
    let output = abw_ping(&["127.0.0.1", "--json", "--bytes", "300000"]);
    if !may_ping(&output) {
        return;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line: serde_json::Value = serde_json::from_str(&text).expect("one line of JSON");
    assert_eq!(line["address"], "127.0.0.1");
    assert!(line["replies"].as_u64() > Some(0), "{line}");
    assert!(line["bytes_sent"].as_u64() <= Some(300_000), "{line}");
    assert!(line["ended"].is_string(), "{line}");
    let has_value = !line["available_bps"].is_null();
    assert_eq!(output.status.success(), has_value, "{line}");
}

#[test]
fn as_many_results_come_as_were_asked_for() {
    let output = abw_ping(&["127.0.0.1", "--json", "--count", "3", "--bytes", "100000"]);
    if may_ping(&output) {
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}

#[test]
fn a_wrong_name_is_named() {
    let output = abw_ping(&["no such host"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`no such host` is unknown"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn packets_smaller_than_a_quic_server_gets_are_refused() {
    // Nobody listens there, and nobody is asked.
    let output = abw_ping(&["--quic", "127.0.0.1:9", "--packet", "64"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("let --packet be 92 or more"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_error_that_nobody_reads_has_its_exit_code() {
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(reader);
    let mut program = Command::new(env!("CARGO_BIN_EXE_abw-ping"));
    let ended = program.arg("no such host").stderr(writer).status();
    assert_eq!(ended.expect("the program runs").code(), Some(1));
}
