//! The series of patches, whatever the user has told git.

use std::fs;
use std::process::Command;

#[test]
fn settings_of_the_user_s_change_no_patch() {
    let home = tempfile::tempdir().expect("a folder");
    let settings = home.path().join("gitconfig");
    let text = "[diff]\n\tnoprefix = true\n\tinterHunkContext = 9\n[commit]\n\tgpgSign = true\n";
    fs::write(&settings, text).expect("written");
    let mut check = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let check = check.args(["series", "check"]);
    let output = check.env("GIT_CONFIG_GLOBAL", &settings).output();
    let output = output.expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
