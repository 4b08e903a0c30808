//! Logs become rows, each of them once.

mod support;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use support::{fleet, ingest, log, logs, path, run, said};

const ALL: &str = "SELECT * EXCEPT (began), CAST(began AS VARCHAR) AS begun FROM connections \
                   ORDER BY id";

fn rows(table: &Path) -> String {
    said(&["sql", ALL, "--format", "csv", "-t", path(table)])
}

#[test]
fn a_killed_ingestion_goes_on_and_no_row_is_lost_or_comes_twice() {
    const LOGS: u32 = 400;
    let folder = tempfile::tempdir().expect("a folder");
    let (source, whole, killed) = (
        folder.path().join("logs"),
        folder.path().join("whole"),
        folder.path().join("killed"),
    );
    logs(&source, LOGS);
    said(&ingest(&source, &whole));

    let arguments = [&ingest(&source, &killed)[..], &["--batch", "5"]].concat();
    let mut kills: u64 = 0;
    loop {
        let mut command = fleet(&arguments);
        let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
        // Later each time, so that it dies at one step after the other, and ends at last.
        thread::sleep(Duration::from_millis(10 + kills * 4));
        if let Some(status) = child.try_wait().expect("it can be asked") {
            assert!(status.success(), "{status}");
            break;
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        kills += 1;
        assert!(kills < 500, "it never ends");
    }
    assert!(kills > 3, "it was killed {kills} times only");
    let rows = rows(&killed);
    assert_eq!(rows.lines().count(), LOGS as usize + 1);
    assert_eq!(rows, self::rows(&whole), "after {kills} kills");
}

#[test]
fn only_new_logs_are_read_and_young_ones_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, table) = (folder.path().join("logs"), folder.path().join("table"));
    logs(&source, 6);
    let [rest @ .., _] = ingest(&source, &table);
    let settled = |seconds: &str| said(&[&rest[..], &[seconds]].concat());
    let text = settled("3600");
    assert!(
        text.contains("0 new rows") && text.contains("6 are too young"),
        "{text}"
    );
    assert!(settled("0").contains("6 new rows"));
    logs(&source, 9);
    let text = settled("0");
    assert!(
        text.contains("3 new rows") && text.contains("6 were there before"),
        "{text}"
    );
    assert_eq!(rows(&table).lines().count(), 10);
}

#[test]
fn a_row_tells_what_the_log_the_labels_and_the_truth_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, table) = (folder.path().join("logs"), folder.path().join("table"));
    fs::create_dir(&source).expect("a folder");
    for name in ["a.sqlog", "b.sqlog"] {
        fs::write(source.join(name), log(0)).expect("it is written");
    }
    // Estimates are 1.01 to 1.2 Mbit/s, give or take 0.05; the first ten hold 1.05.
    let truth = "t_s,truth_bps\n0,1050000\n1.05,2000000\n";
    fs::write(source.join("a-truth.csv"), truth).expect("it is written");
    let labels = folder.path().join("labels.csv");
    let line = "log,address,began,controller\na.sqlog,2001:db8:7::1,2026-11-17T23:59:00Z,special\n";
    fs::write(&labels, line).expect("it is written");
    let known = ["--truth=-truth.csv", "--labels", path(&labels)];
    said(&[&ingest(&source, &table)[..], &known].concat());
    let sql = "SELECT date, hour, prefix, controller, vantage, duration_ms, packets_sent, \
               bytes_sent, estimates, judged, held, slots_kept, slots_missed, slots_limited, \
               least_rtt_us, sketch_count(rtt), sketch_count(achieved), \
               round(sketch_quantile(estimate, 0.5) / 1e6, 1), damaged \
               FROM connections ORDER BY date";
    let text = said(&["sql", sql, "--format", "csv", "-t", path(&table)]);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            // Without labels and truth: the network and the time are the log's own.
            "2026-11-16,5,198.51.0.0/24,unknown,server,2000,20,24000,20,0,0,1,1,1,20000,20,2,1.1,0",
            "2026-11-17,23,2001:db8:7::/48,special,server,2000,20,24000,20,20,10,1,1,1,20000,20,2,\
             1.1,0",
        ]
    );
}

#[test]
fn what_is_no_log_is_refused_by_name_and_the_others_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, table) = (folder.path().join("logs"), folder.path().join("table"));
    logs(&source, 2);
    fs::write(source.join("movie.qlog"), [0, 1, 2]).expect("it is written");
    let output = run(&ingest(&source, &table));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(
        errors.contains("movie.qlog") && errors.contains("not a qlog"),
        "{errors}"
    );
    assert_eq!(rows(&table).lines().count(), 3);

    let output = run(&["ingest", "/no/such/folder", "-t", path(&table)]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && errors.contains("/no/such/folder"),
        "{errors}"
    );
}
