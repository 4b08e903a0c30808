//! A server and clients in one runtime, over real sockets on the loopback interface.

use clap::Parser;
use imtcp_examples::bulk;
use imtcp_examples::fetch::{self, Fetched, fetch};
use imtcp_examples::serve::{self, Report, Server};
use std::future::pending;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet, LocalSet};

const SIZE: usize = 2_000_000;

#[derive(Parser)]
struct ServeLine {
    #[command(flatten)]
    options: serve::Options,
}

#[derive(Parser)]
struct FetchLine {
    #[command(flatten)]
    options: fetch::Options,
}

/// A server that runs beside the test.
struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    outcome: JoinHandle<anyhow::Result<Report>>,
}

impl Running {
    /// Serves `root` with further options.
    fn start(root: &Path, more: &[&str]) -> Self {
        let mut line = vec!["serve", "--listen", "127.0.0.1:0", "--root"];
        line.push(root.to_str().expect("a readable path"));
        line.extend(more);
        let server = Server::bind(&ServeLine::parse_from(line).options).expect("it can listen");
        let (stop, stopped) = oneshot::channel();
        Self {
            address: server.local(),
            stop,
            outcome: tokio::task::spawn_local(server.run(async {
                let _ = stopped.await;
            })),
        }
    }

    fn url(&self, file: &str) -> String {
        format!("https://{}/{file}", self.address)
    }

    async fn stop(self) -> Report {
        self.stop.send(()).expect("it still runs");
        let outcome = self.outcome.await.expect("it does not panic");
        outcome.expect("it ends well")
    }
}

async fn fetch_with(line: &[&str]) -> anyhow::Result<Fetched> {
    let line = ["fetch"].iter().chain(line);
    fetch(&FetchLine::parse_from(line).options, pending()).await
}

fn on_one_thread<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, test)
}

/// Bytes without a short period, so that a chunk that is lost or comes twice shows.
fn content() -> Vec<u8> {
    (0..SIZE as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).to_le_bytes()[0])
        .collect()
}

/// A folder with one file, and those bytes.
fn folder() -> (TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = content();
    std::fs::write(folder.path().join("file"), &bytes).expect("a file");
    (folder, bytes)
}

/// Fetches the file `count` times at once and compares.
async fn fetch_in_parallel(server: &Running, folder: &Path, bytes: &[u8], count: usize) {
    let mut fetches = JoinSet::new();
    for number in 0..count {
        let output = folder.join(format!("copy-{number}"));
        let url = server.url("file");
        fetches.spawn_local(async move {
            let path = output.to_str().expect("a readable path");
            let fetched = fetch_with(&[&url, "--insecure", "--output", path]).await;
            (fetched.expect("it comes"), output)
        });
    }
    while let Some(fetched) = fetches.join_next().await {
        let (fetched, output) = fetched.expect("it does not panic");
        assert_eq!(fetched.bytes, bytes.len() as u64);
        let copy = std::fs::read(output).expect("the copy is there");
        assert!(copy == bytes, "the copy differs from the file");
    }
}

#[test]
fn a_file_comes_whole_to_several_clients_at_once() {
    on_one_thread(async {
        let (folder, bytes) = folder();
        let server = Running::start(folder.path(), &["--controller", "imtcp"]);
        fetch_in_parallel(&server, folder.path(), &bytes, 4).await;
        let report = server.stop().await;
        assert_eq!((report.connections, report.responses), (4, 4));
        assert!(report.sent_bytes >= 4 * bytes.len() as u64, "{report}");
    });
}

#[test]
fn the_server_decides_about_acknowledgements_if_it_may() {
    for (frequency, timestamps) in [(true, true), (true, false), (false, true), (false, false)] {
        on_one_thread(async {
            let (folder, bytes) = folder();
            let server = Running::start(folder.path(), &[]);
            let url = server.url("file");
            let mut line = vec![url.as_str(), "--insecure"];
            line.extend((!frequency).then_some("--no-ack-frequency"));
            line.extend((!timestamps).then_some("--no-receive-timestamps"));
            let fetched = fetch_with(&line).await.expect("it comes");
            assert_eq!(fetched.bytes, bytes.len() as u64);
            let report = server.stop().await;
            let acks = report.acknowledgements.expect("it was acknowledged");
            println!("{frequency}, {timestamps}: {fetched:?}; {acks}");
            assert_eq!(acks.requests > 0, frequency, "{acks}");
            // Those of the handshake's end are not timed.
            let timed = acks.timed_packets * 10 > acks.packets * 9;
            assert_eq!((timed, acks.timed_packets > 0), (timestamps, timestamps));
            // Without a request each datagram is acknowledged, with it there are fewer.
            let fewer = fetched.sent_datagrams * 3 < fetched.datagrams * 2;
            assert_eq!(fewer, frequency, "{fetched:?}");
        });
    }
}

#[test]
fn every_controller_moves_the_file() {
    for controller in ["imtcp-off", "reno", "cubic", "bbr2"] {
        on_one_thread(async {
            let (folder, bytes) = folder();
            let server = Running::start(folder.path(), &["--controller", controller]);
            fetch_in_parallel(&server, folder.path(), &bytes, 1).await;
            server.stop().await;
        });
    }
}

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

#[test]
fn a_certificate_is_verified_unless_told_otherwise() {
    on_one_thread(async {
        let (folder, _) = folder();
        let server = Running::start(folder.path(), &[]);
        let refused = fetch_with(&[&server.url("file")]).await;
        let error = format!("{:#}", refused.expect_err("nobody vouches for it"));
        assert!(error.contains("--insecure"), "{error}");
        server.stop().await;
    });
}

#[test]
fn a_certificate_has_to_be_for_the_address_in_the_url() {
    on_one_thread(async {
        let (folder, bytes) = folder();
        for (name, valid) in [("127.0.0.1", true), ("127.0.0.2", false)] {
            let made =
                rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
            let cert = folder.path().join("cert.pem");
            let key = folder.path().join("key.pem");
            std::fs::write(&cert, made.cert.pem()).expect("a file");
            std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
            let (cert, key) = (
                cert.to_str().expect("a readable path"),
                key.to_str().expect("a readable path"),
            );
            let server = Running::start(folder.path(), &["--cert", cert, "--key", key]);
            let fetched = fetch_with(&[&server.url("file"), "--ca", cert]).await;
            assert_eq!(fetched.as_ref().is_ok(), valid, "{name}: {fetched:?}");
            if let Ok(fetched) = fetched {
                assert_eq!(fetched.bytes, bytes.len() as u64);
            }
            server.stop().await;
        }
    });
}

#[test]
fn a_file_that_is_not_there_is_an_error_with_its_status() {
    on_one_thread(async {
        let (folder, _) = folder();
        let server = Running::start(folder.path(), &[]);
        let refused = fetch_with(&[&server.url("nothing"), "--insecure"]).await;
        let error = format!("{:#}", refused.expect_err("it is not there"));
        assert!(
            error.contains("404") && error.contains("/nothing"),
            "{error}"
        );
        server.stop().await;
    });
}

#[test]
fn a_fetch_that_stops_on_time_has_what_had_arrived() {
    on_one_thread(async {
        let (folder, bytes) = folder();
        let arrivals = folder.path().join("arrivals.csv");
        let server = Running::start(folder.path(), &[]);
        let url = server.url("file");
        let name = arrivals.to_str().expect("a readable path");
        let whole = fetch_with(&[&url, "--insecure", "--seconds", "60", "--arrivals", name]).await;
        assert_eq!(whole.expect("it comes").bytes, bytes.len() as u64);
        let text = std::fs::read_to_string(&arrivals).expect("the file is there");
        assert_grows(&text, bytes.len() as u64);

        let file = std::fs::File::create(folder.path().join("long")).expect("a file");
        file.set_len(1 << 40).expect("it takes no blocks");
        let url = server.url("long");
        let part = fetch_with(&[&url, "--insecure", "--seconds", "1", "--arrivals", name]).await;
        let part = part.expect("some of it comes");
        assert!(part.seconds >= 1.0 && part.bytes < 1 << 40, "{part}");
        let text = std::fs::read_to_string(&arrivals).expect("the file is there");
        assert_grows(&text, part.bytes);
        server.stop().await;
    });
}

/// A file of arrivals that never goes back and ends with so many bytes.
fn assert_grows(text: &str, bytes: u64) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("seconds,bytes"));
    let mut last = (0.0, 0);
    for line in lines {
        let (seconds, bytes) = line.split_once(',').expect("two columns");
        let next = (
            seconds.parse().expect("a time"),
            bytes.parse().expect("bytes"),
        );
        assert!(next.0 >= last.0 && next.1 >= last.1, "{last:?}, {next:?}");
        last = next;
    }
    assert_eq!(last.1, bytes);
}

#[test]
fn tcp_as_cross_traffic_comes_through_until_it_is_stopped() {
    on_one_thread(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("it can");
        let to = listener.local_addr().expect("it has one");
        let options = |congestion_control: &str| bulk::Options {
            to,
            flows: 3,
            congestion_control: congestion_control.to_owned(),
        };
        let refused = bulk::send(&options("no-such-thing"), pending()).await;
        let error = format!(
            "{:#}",
            refused.expect_err("the kernel has none of that name")
        );
        assert!(error.contains("no-such-thing"), "{error}");

        let (stop, stopped) = oneshot::channel::<()>();
        let receiver = tokio::task::spawn_local(bulk::receive(listener, async {
            let _ = stopped.await;
        }));
        let span = tokio::time::sleep(Duration::from_millis(200));
        let sent = bulk::send(&options("reno"), span).await.expect("it sends");
        stop.send(()).expect("it still runs");
        let received = receiver.await.expect("no panic").expect("it ends well");
        assert_eq!((sent.flows, received.flows), (3, 3));
        assert!(
            0 < received.bytes && received.bytes <= sent.bytes,
            "{sent}; {received}"
        );
    });
}

#[test]
fn a_promise_that_cannot_be_read_is_refused_with_an_example() {
    let line = |more: &[&str]| {
        let line = ["serve", "--root", "."].iter().chain(more);
        let error = ServeLine::try_parse_from(line).err().expect("refused");
        error.to_string()
    };
    let error = line(&["--promise", "8 Mbps per 2 s"]);
    assert!(error.contains("unknown unit `Mbps`"), "{error}");
    let error = line(&["--slots", "slots.csv"]);
    assert!(error.contains("--promise"), "{error}");
}

#[test]
fn options_that_cannot_be_met_are_named() {
    on_one_thread(async {
        let (folder, _) = folder();
        let root = folder.path().to_str().expect("a readable path");
        let bind = |more: &[&str]| {
            let line = ["serve"].iter().chain(more);
            let error = Server::bind(&ServeLine::parse_from(line).options).err();
            format!("{:#}", error.expect("refused"))
        };
        let error = bind(&["--root", "/nonexistent/folder"]);
        assert!(error.contains("/nonexistent/folder"), "{error}");
        let error = bind(&["--root", root, "--listen", "192.0.2.1:4433"]);
        assert!(error.contains("192.0.2.1:4433"), "{error}");
        let file = folder.path().join("file");
        let file = file.to_str().expect("a readable path");
        let error = bind(&["--root", root, "--cert", file, "--key", file]);
        assert!(error.contains(file) && error.contains("PEM"), "{error}");
        let promise = ["--root", root, "--promise", "8 Mbit/s per 2 s"];
        let error = bind(&[&promise[..], &["--controller", "cubic"]].concat());
        assert!(error.contains("--controller imtcp"), "{error}");
        let error = bind(&[&promise[..], &["--slots", "/nonexistent/file"]].concat());
        assert!(error.contains("/nonexistent/file"), "{error}");
    });
}
