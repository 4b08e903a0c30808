//! What a server writes down: qlogs, estimates, slots.

use crate::support::{Running, fetch_in_parallel, fetch_with, folder, on_one_thread};
use imtcp_examples::serve::Report;

#[test]
fn the_end_of_the_server_completes_its_logs() {
    on_one_thread(async {
        let (folder, bytes) = folder();
        let qlogs = folder.path().join("qlogs");
        let estimates = folder.path().join("estimates.csv");
        let server = Running::start(
            folder.path(),
            &[
                "--qlog",
                qlogs.to_str().expect("a readable path"),
                "--estimates",
                estimates.to_str().expect("a readable path"),
            ],
        );
        fetch_in_parallel(&server, folder.path(), &bytes, 1).await;
        // A second client is in the middle of its transfer when the server ends.
        let url = server.url("file");
        let cut_off =
            tokio::task::spawn_local(async move { fetch_with(&[&url, "--insecure"]).await });
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        server.stop().await;
        let _ = cut_off.await.expect("it does not panic");

        let mut records = 0;
        for file in std::fs::read_dir(&qlogs).expect("the folder is there") {
            let text = std::fs::read_to_string(file.expect("an entry").path()).expect("text");
            for record in text.split('\u{1e}').filter(|record| !record.is_empty()) {
                serde_json::from_str::<serde_json::Value>(record)
                    .unwrap_or_else(|error| panic!("not JSON: {error}: {record}"));
                records += 1;
            }
        }
        assert!(records > 100, "{records} records");
        let estimates = std::fs::read_to_string(&estimates).expect("the file is there");
        assert!(estimates.starts_with("path,seconds,") && estimates.ends_with('\n'));
    });
}

/// Lets a client fetch for a second from a server with this promise; returns its slots file in
/// lines and fields, and its account.
fn promised(promise: &str) -> (Vec<Vec<String>>, Report) {
    on_one_thread(async {
        let folder = tempfile::tempdir().expect("a folder");
        let file = std::fs::File::create(folder.path().join("file")).expect("a file");
        file.set_len(1 << 40).expect("it takes no blocks");
        let slots = folder.path().join("slots.csv");
        let name = slots.to_str().expect("a readable path");
        let server = Running::start(folder.path(), &["--promise", promise, "--slots", name]);
        let url = server.url("file");
        let fetched = fetch_with(&[&url, "--insecure", "--seconds", "1"]).await;
        assert!(fetched.expect("some of it comes").bytes > 0);
        let report = server.stop().await;
        let text = std::fs::read_to_string(slots).expect("the file is there");
        let fields = |line: &str| line.split(',').map(str::to_owned).collect();
        (text.lines().map(fields).collect(), report)
    })
}

#[test]
fn slots_of_a_promise_follow_each_other_in_the_file() {
    let (lines, report) = promised("at least 2 Mbit/s per 50 ms");
    let column = |name: &str| {
        let found = lines[0].iter().position(|column| column == name);
        found.unwrap_or_else(|| panic!("no column {name} in {:?}", lines[0]))
    };
    let of_event = |event: &'static str| {
        let at = column("event");
        lines.iter().filter(move |line| line[at] == event)
    };
    let required: Vec<_> = of_event("required").collect();
    assert_eq!(required.len(), 1, "{lines:?}");
    assert_eq!(required[0][column("what")], "at_least");
    assert!(of_event("status").count() > 0, "{lines:?}");

    let slots: Vec<_> = of_event("slot").collect();
    assert!(slots.len() >= 3, "{lines:?}");
    let seconds = |line: &[String], name| {
        let seconds: f64 = line[column(name)].parse().expect("a time");
        (seconds * 1e6).round()
    };
    for (slot, number) in slots.iter().zip(0..) {
        assert_eq!(slot[column("path")], "1");
        assert_eq!(slot[column("slot")], format!("{number}"));
        assert_eq!(slot[column("required_bps")], "2000000");
        let length = seconds(slot, "end_s") - seconds(slot, "start_s");
        assert!((length - 50_000.0).abs() <= 1.0, "{slot:?}");
    }
    for pair in slots.windows(2) {
        assert_eq!(seconds(pair[0], "end_s"), seconds(pair[1], "start_s"));
    }
    let totals = report.slots.expect("something was promised");
    let counted = totals.kept + totals.source_limited + totals.missed;
    assert_eq!(counted, slots.len() as u64);
    let missed = slots.iter().filter(|slot| slot[column("what")] == "missed");
    assert_eq!(missed.count() as u64, totals.missed);
}

#[test]
fn a_promise_that_the_path_does_not_allow_is_told_and_no_more() {
    // Two round trips of a handshake with its signatures are far above that.
    let (lines, report) = promised("2 Mbit/s per 0.1 ms");
    let rejected = lines.iter().find(|line| line[2] == "rejected");
    let rejected = rejected.unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!(rejected[3], "period");
    let note = rejected.last().expect("a note");
    assert!(
        note.contains("below two round trips of this path"),
        "{note}"
    );
    assert_eq!(report.slots.map(|slots| slots.rejections), Some(1));
}
