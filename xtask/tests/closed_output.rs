//! A chore whose output nobody reads: `cargo xtask doctor | head -1`.

use std::process::Command;

#[test]
fn a_reader_that_goes_ends_a_chore_without_a_word() {
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(reader);
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = doctor.arg("doctor").stdout(writer).output();
    let output = output.expect("it starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(1), "it did not come to its end");
}
