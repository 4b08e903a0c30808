//! Ready questions have the same answers however they are asked, and the right ones.

mod support;

use std::path::Path;
use support::{ingest, logs, path, run, said};

fn table(folder: &Path) -> std::path::PathBuf {
    let (source, table) = (folder.join("logs"), folder.join("table"));
    logs(&source, 60);
    said(&ingest(&source, &table));
    table
}

#[test]
fn plain_sql_and_functions_tell_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = table(folder.path());
    // A larger one, too, whose groups come from several files.
    let large = folder.path().join("large");
    said(&[
        "synthesize",
        "--like",
        path(&small),
        "-t",
        path(&large),
        "--rows",
        "5000",
        "--hours",
        "9",
    ]);
    for table in [&small, &large] {
        for question in ["available", "promises", "controllers"] {
            let ask = ["ask", question, "--format", "csv", "-t", path(table)];
            let functions = said(&ask);
            let plain = said(&[&ask[..], &["--plain"]].concat());
            assert!(functions.lines().count() > 1, "{question}");
            assert_eq!(functions, plain, "{question}");
        }
    }
}

#[test]
fn the_answers_are_those_of_the_logs() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = table(folder.path());
    // 60 logs of three networks; each with one slot kept, one missed and one limited.
    let text = said(&["ask", "promises", "--format", "csv", "-t", path(&table)]);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(
        lines[0].starts_with("unknown,198.51.0.0/24,20,20,20,20,50.0,"),
        "{text}"
    );
    let text = said(&["ask", "available", "--format", "csv", "-t", path(&table)]);
    let p50 = text.lines().nth(1).and_then(|line| line.rsplit(',').next());
    let p50: f64 = p50.expect("a value").parse().expect("a number");
    // Estimates of this network are 1 to 7 Mbit/s, and up to 0.2 more.
    assert!((3.9..=4.4).contains(&p50), "{text}");
}

#[test]
fn an_answer_without_rows_has_its_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = table(folder.path());
    let query = "SELECT prefix, count(*) AS n FROM connections WHERE prefix = 'x' GROUP BY prefix";
    let text = said(&["sql", query, "--format", "csv", "-t", path(&table)]);
    assert_eq!(text, "prefix,n\n");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_ends_the_program_without_a_word() {
    for arguments in [&["ask"][..], &["ask", "available", "--print", "plain"]] {
        let (reader, writer) = std::io::pipe().expect("there are pipes");
        drop(reader);
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_imtcp-fleet"));
        let output = program.args(arguments).stdout(writer).output();
        let output = output.expect("it starts");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert!(output.status.success());
    }
}

#[test]
fn the_same_seed_gives_the_same_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let like = table(folder.path());
    let digest = |name: &str, seed: &str| {
        let table = folder.path().join(name);
        said(&[
            "synthesize",
            "--like",
            path(&like),
            "-t",
            path(&table),
            "--rows",
            "3000",
            "--hours",
            "5",
            "--seed",
            seed,
        ]);
        said(&[
            "sql",
            "SELECT * FROM connections ORDER BY id",
            "--format",
            "csv",
            "-t",
            path(&table),
        ])
    };
    let (one, again, other) = (digest("a", "7"), digest("b", "7"), digest("c", "8"));
    assert_eq!(one.lines().count(), 3001);
    assert_eq!(one, again);
    assert_ne!(one, other);
}

#[test]
fn a_report_has_all_questions_and_loads_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = table(folder.path());
    let page = folder.path().join("page.html");
    said(&[
        "report",
        "-t",
        path(&table),
        "-o",
        path(&page),
        "--title",
        "A <fleet>",
    ]);
    let text = std::fs::read_to_string(page).expect("it was written");
    for part in [
        "A &lt;fleet&gt;",
        "60 connections of 3 networks",
        "Promises kept",
        "<polyline",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("http") && !text.contains("<script"));
}

#[test]
fn mistakes_are_named_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = table(folder.path());
    for (arguments, part) in [
        (
            ["ask", "wether", "-t"],
            "there are available, promises, calibration, controllers",
        ),
        (
            ["sql", "SELECT sketch_quantile('1;2', 0.5)", "-t"],
            "`1;2` is no run of a sketch",
        ),
        (["sql", "SELECT nothing FROM connections", "-t"], "nothing"),
    ] {
        let output = run(&[&arguments[..], &[path(&table)]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && errors.contains(part),
            "{errors}"
        );
    }
}

#[test]
fn questions_are_listed_without_a_table_and_asked_of_one() {
    let text = said(&["ask"]);
    assert!(
        text.contains("available") && text.contains("calibration"),
        "{text}"
    );
    let output = run(&["ask", "available"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && errors.contains("--table"),
        "{errors}"
    );
}
