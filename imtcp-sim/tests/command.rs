//! The program itself: its files, its JSON, its errors.

use serde_json::Value;
use signal_hook::consts::SIGPIPE;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn imtcp_sim(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_imtcp-sim");
    let output = Command::new(program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{program} does not start: {error}"))
}

/// As in `imtcp-sim list | head -1`.
#[test]
fn a_reader_that_goes_ends_the_program_without_a_word() {
    for arguments in [&["list"][..], &["explain", "demo"]] {
        let (reader, writer) = std::io::pipe().expect("there are pipes");
        drop(reader);
        let mut program = Command::new(env!("CARGO_BIN_EXE_imtcp-sim"));
        let program = program.args(arguments).stdout(writer);
        let output = program.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, "", "{arguments:?}");
        assert_eq!(output.status.signal(), Some(SIGPIPE), "{arguments:?}");
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs the demo, cut to 8 s, with a step at 5 s; returns the JSON's text.
fn short_demo(name: &str, more: &[&str]) -> String {
    let out = folder(name);
    let json = out.join("result.json");
    std::fs::create_dir_all(&out).expect("the folder for test files can be made");
    let (out, json) = (out.display().to_string(), json.display().to_string());
    let step = "traffic.cross.steps=[{ at = \"5 s\", rate = \"30 Mbit/s\" }]";
    let mut arguments = vec!["run", "demo", "--out", &out, "--json", &json];
    arguments.extend(["--set", "duration=8 s", "--set", step]);
    arguments.extend(more);
    let output = imtcp_sim(&arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    std::fs::read_to_string(json).expect("the JSON file is written")
}

#[test]
fn two_processes_write_the_same_json_and_name_every_key() {
    let text = short_demo("first", &["--seed", "5"]);
    assert_eq!(
        text,
        short_demo("second", &["--seed", "5", "--qlog", "none"])
    );
    let runs: Value = serde_json::from_str(&text).expect("the JSON parses");
    let run = &runs[0];
    let keys = |value: &Value| {
        let object = value.as_object().expect("an object");
        object.keys().cloned().collect::<Vec<_>>()
    };
    for key in ["scenario", "seed", "sim_seconds", "truth", "flows"] {
        assert!(keys(run).contains(&key.to_owned()), "{key}");
    }
    for key in ["link", "t", "capacity_bps", "cross_bps", "flow_bps"] {
        assert!(keys(&run["truth"][0]).contains(&key.to_owned()), "{key}");
    }
    let flow = &run["flows"][0];
    for key in [
        "name",
        "controller",
        "goodput_bps",
        "sent_packets",
        "sent_bytes",
        "lost_packets",
        "retransmitted_bytes",
        "rtt_ms",
        "estimates",
        "estimates_classic",
        "score",
    ] {
        assert!(keys(flow).contains(&key.to_owned()), "{key}");
    }
    for key in [
        "t",
        "available_bps",
        "low_bps",
        "high_bps",
        "window_s",
        "flags",
    ] {
        assert!(
            keys(&flow["estimates"][0]).contains(&key.to_owned()),
            "{key}"
        );
    }
    for key in ["mare", "bias", "coverage95", "settle_s"] {
        assert!(keys(&flow["score"]).contains(&key.to_owned()), "{key}");
    }
    for key in ["min", "p50", "p95"] {
        assert!(flow["rtt_ms"][key].is_f64(), "{key}");
    }
    assert_eq!(flow["score"]["settle_s"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_range_of_seeds_gives_one_object_each_in_order_and_all_files() {
    let text = short_demo("range", &["--seeds", "2..4"]);
    let runs: Value = serde_json::from_str(&text).expect("the JSON parses");
    let seeds: Vec<_> = runs
        .as_array()
        .expect("an array")
        .iter()
        .map(|run| &run["seed"])
        .collect();
    assert_eq!(seeds, [2, 3, 4]);
    let exists = |name: &str| folder("range").join(name).exists();
    for seed in 2..=4 {
        for suffix in [
            "main.svg",
            "main-estimates.csv",
            "main-state.csv",
            "truth.csv",
        ] {
            assert!(
                exists(&format!("demo-seed{seed}-{suffix}")),
                "seed {seed}: {suffix}"
            );
        }
    }
    assert!(exists("demo-seed2-main.sqlog"), "the first seed's qlog");
    assert!(!exists("demo-seed3-main.sqlog"), "no other seed's qlog");
}

#[test]
fn the_qlog_is_a_sequence_of_json_records_in_virtual_time() {
    short_demo("qlog", &[]);
    let path = folder("qlog").join("demo-seed1-main.sqlog");
    let text = std::fs::read_to_string(path).expect("the qlog is written");
    let mut last = 0.0;
    let mut measured = 0;
    for record in text
        .split('\u{1e}')
        .filter(|record| !record.is_empty())
        .skip(1)
    {
        let event: Value = serde_json::from_str(record).expect("every record parses");
        let time = event["time"].as_f64().expect("every event has its time");
        assert!(time <= 8000.0, "{time} ms lies beyond the run");
        last = time;
        measured += usize::from(event["name"] == "imtcp:estimate_updated");
    }
    assert!(last > 7000.0, "the last event is at {last} ms");
    assert!(measured > 50, "{measured} estimates in the qlog");
}

#[test]
fn list_names_the_scenarios_and_explain_shows_one() {
    let list = String::from_utf8_lossy(&imtcp_sim(&["list"]).stdout).into_owned();
    for name in [
        "a1 ",
        "a1-bulk",
        "a2",
        "a3-4",
        "a4",
        "demo",
        "m0-none",
        "m0-poisson-40",
    ] {
        assert!(list.contains(name), "{name} is not in\n{list}");
    }
    let explained = String::from_utf8_lossy(&imtcp_sim(&["explain", "a1"]).stdout).into_owned();
    for fact in [
        "bottleneck",
        "180ms",
        "2250000 B",
        "60.00 Mbit/s",
        "150 s",
        "20.00 Mbit/s",
    ] {
        assert!(explained.contains(fact), "{fact} is not in\n{explained}");
    }
}

#[test]
fn errors_are_one_line_with_the_remedy_and_exit_with_1() {
    for (arguments, expected) in [
        (
            vec!["run", "nothing"],
            "imtcp-sim: nothing: cannot be read: No such file or directory (os error 2); \
             give a file, or a name that `imtcp-sim list` shows\n",
        ),
        (
            vec!["explain", "demo", "--set", "link.bottleneck.rate=50"],
            "imtcp-sim: --set: link.bottleneck.rate: `50` has no unit; \
             write a number and its unit, such as \"50 Mbit/s\"\n",
        ),
    ] {
        let output = imtcp_sim(&arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn the_demo_shows_every_second_and_compares() {
    let out = folder("demo").display().to_string();
    let output = imtcp_sim(&["demo", "--out", &out]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for second in 1..=60 {
        let row = format!("\n{second:5} ");
        assert!(text.contains(&row), "second {second} is not in\n{text}");
    }
    for row in [
        "goodput",
        "mean error of the estimate",
        "settled",
        "extra bytes",
    ] {
        assert!(text.contains(row), "{row} is not in\n{text}");
    }
    assert!(folder("demo").join("demo-seed1-main.svg").exists());
    assert!(
        folder("demo")
            .join("demo-without-measuring-seed1-main.sqlog")
            .exists()
    );
}

#[test]
fn a_survey_writes_every_path_and_knows_its_classes() {
    let out = folder("survey");
    let json = out.join("survey.json");
    std::fs::create_dir_all(&out).expect("the folder for test files can be made");
    let (folder, file) = (out.display().to_string(), json.display().to_string());
    // The bars may be missed here. The files are there in any case.
    let seeds = ["--seeds", "10..11", "--repeats", "0"];
    let mut arguments = vec!["survey", "steps", "--out", &folder, "--json", &file];
    arguments.extend(seeds);
    let output = imtcp_sim(&arguments);
    let text = std::fs::read_to_string(out.join("steps.csv")).expect("the CSV file is written");
    assert_eq!(text.lines().count(), 3, "a header and two paths: {text}");
    let text = std::fs::read_to_string(json).expect("the JSON file is written");
    let classes: Value = serde_json::from_str(&text).expect("the JSON parses");
    assert_eq!(classes[0]["class"], "steps");
    assert_eq!(classes[0]["paths"][1]["seed"], 11);
    let kept = classes[0]["tally"]["missed"] == serde_json::json!([0, 0, 0])
        && classes[0]["tally"]["of_not_measuring"].as_f64() >= Some(0.995);
    assert_eq!(output.status.success(), kept, "{classes:#}");

    let output = imtcp_sim(&["survey", "hills"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        errors.contains("no class `hills`; known: fixed, steps, elastic, managed"),
        "{errors}"
    );
}

/// They were taken and did nothing.
#[test]
fn a_survey_refuses_settings_and_carriers_that_it_would_not_use() {
    for kind in ["--estimates", "--shares"] {
        for other in [["--set", "link.link.jitter=1 ms"], ["--carriers", "imtcp"]] {
            let output =
                imtcp_sim(&[&["survey", "fixed", "--seeds", "1..1", kind], &other[..]].concat());
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success());
            assert!(errors.contains("cannot be used with"), "{errors}");
        }
    }
}

#[test]
fn drawn_traces_are_written_and_radio_links_follow_them() {
    let out = folder("traces");
    let _ = std::fs::remove_dir_all(&out);
    let name = out.display().to_string();
    let output = imtcp_sim(&["traces", &name, "--seeds", "5..6"]);
    assert!(output.status.success(), "{output:?}");
    for seed in [5, 6] {
        let file = out.join(format!("drawn-{seed}.trace"));
        let text = std::fs::read_to_string(file).expect("it is written");
        let last: u32 = text
            .lines()
            .last()
            .expect("lines")
            .parse()
            .expect("a number");
        assert_eq!(last, 30_000);
    }
    let survey = |more: &[&str]| {
        let mut arguments = vec!["survey", "--estimates", "--seeds", "1..1"];
        arguments.extend(more);
        let output = imtcp_sim(&arguments);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let page = out.with_extension("html").display().to_string();
    let said = survey(&["radio", "--traces", &name, "--html", &page]);
    assert!(said.contains("drawn-"), "{said}");
    let page = std::fs::read_to_string(page).expect("it is written");
    assert!(page.starts_with("<!doctype html>") && page.contains("\"class\":\"radio\""));
    let said = survey(&["fixed", "--traces", &name]);
    assert!(
        said.contains("traces are for the class radio; name it"),
        "{said}"
    );
    std::fs::write(out.join("x.trace"), "7\nseven\n").expect("it can be written");
    let said = survey(&["radio", "--traces", &name]);
    assert!(
        said.contains("x.trace:2: `seven` is no millisecond of a delivery"),
        "{said}"
    );
}
