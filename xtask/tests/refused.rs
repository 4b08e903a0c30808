//! Arguments that no chore can follow: they are told before anything is built.

use std::process::Command;

#[test]
fn what_cannot_be_followed_is_refused_before_anything_is_built() {
    for (line, expected) in [
        (
            "harm --seeds 0..18446744073709551615",
            "holds 18446744073709551616 seeds; at most 1000000 at a time",
        ),
        ("harm --seeds 5..1", "5..1 holds no seed"),
        (
            "figures --seeds 1..10000000000",
            "`1..10000000000` holds 10000000000 seeds; at most 1000000 at a time",
        ),
        (
            "figures A1 --traces .",
            "none has an axis `trace`, as M3 has",
        ),
        ("fuzz --seconds 0", "0 is not in 1.."),
        (
            "rivals --queue nan",
            "write a number of bandwidth-delay products, 0.01 to 1000",
        ),
        (
            "rivals --newcomers cubic,bbr",
            "[possible values: kernel, promise, promise-exactly, imtcp, imtcp-off, reno, cubic, \
             bbr2]",
        ),
        (
            "real-path --queue nan",
            "write a number of bandwidth-delay products, 0.01 to 1000",
        ),
        ("real-path --controllers imtpc", "imtcp-off, reno, cubic"),
        (
            "real-path --controllers cubic --rivals 1,4",
            "`cubic` is not measured beside rivals",
        ),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        // Without a path there is no cargo that could build.
        let mut chore = Command::new(env!("CARGO_BIN_EXE_xtask"));
        let chore = chore.args(&arguments).env_remove("CARGO").env("PATH", "");
        let output = chore.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?} were accepted");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
