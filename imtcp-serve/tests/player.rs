//! The player against the server over loopback: what a viewer would have seen, and what either
//! tells the other.

mod support;

use clap::Parser;
use imtcp_serve::play::{Options, Qoe, play};
use imtcp_serve::title::Plan;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::{Site, sample, within};
use tempfile::TempDir;
use tokio::net::UdpSocket;

const REQUIRED: &str = "imtcp_serve_required_bits_per_second{";
const UNDERSTOOD: &str = "imtcp_serve_dialects_total{result=\"understood\"";

/// Eight segments of a second in three qualities.
fn title(folder: &Path) {
    let folder = folder.display().to_string();
    let line = [
        "imtcp-title",
        &folder,
        "--synthetic",
        "--length",
        "8 s",
        "--segment",
        "1 s",
    ];
    let rates = ["--rates", "500 kbit/s,1 Mbit/s,2 Mbit/s"];
    let plan = Plan::try_parse_from(line.iter().chain(&rates)).expect("good arguments");
    plan.make().expect("made");
}

async fn site() -> Site {
    let site = Site::start(&[], &[]).await;
    title(&site.folder.path().join("root/t"));
    site
}

fn options(url: &str, arguments: &[&str]) -> Options {
    let mut line = vec!["imtcp-play", url, "--startup", "1 s"];
    if !arguments.contains(&"--buffer") {
        line.extend(["--buffer", "4 s"]);
    }
    Options::try_parse_from(line.iter().chain(arguments)).expect("good arguments")
}

async fn watch(site: &Site, name: &str, arguments: &[&str]) -> Qoe {
    let url = format!("https://{}/t/{name}", site.server.address);
    within(play(&options(&url, arguments))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn either_format_and_either_rule_plays_without_a_stall() {
    let site = site().await;
    let plays = ["manifest.mpd", "master.m3u8"]
        .into_iter()
        .flat_map(|name| {
            let site = &site;
            ["throughput", "bola"]
                .map(|rule| async move { watch(site, name, &["--abr", rule]).await })
        });
    let figures = futures::future::join_all(plays).await;
    for qoe in &figures {
        let told = qoe.json().expect("figures");
        assert_eq!(
            (&qoe.error, qoe.stalls, qoe.segments),
            (&None, 0, 8),
            "{told}"
        );
        assert!(
            qoe.startup_delay_s.is_some() && qoe.stalled_s == 0.0,
            "{told}"
        );
        // It begins with the lowest, and over loopback ends with the highest.
        assert!(qoe.switches >= 1, "{told}");
        assert!(
            qoe.mean_bitrate_kbps > 500.0 && qoe.mean_bitrate_kbps < 2000.0,
            "{told}"
        );
        assert!((qoe.played_s - 8.0).abs() < 0.1, "{told}");
    }
    let formats: Vec<_> = figures.iter().map(|qoe| (qoe.format, qoe.abr)).collect();
    let expected = [
        ("dash", "throughput"),
        ("dash", "bola"),
        ("hls", "throughput"),
        ("hls", "bola"),
    ];
    assert_eq!(formats, expected);
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_player_says_becomes_a_promise_in_either_dialect() {
    for (dialect, plays) in [("header", "2 s"), ("query", "2 s")] {
        let site = site().await;
        let arguments = ["--cmcd", dialect, "--play", plays];
        let (qoe, ()) = tokio::join!(
            watch(&site, "manifest.mpd", &arguments),
            site.until("the bit rate and more is required", |metrics| {
                let required = metrics.iter().find(|(name, _)| name.starts_with(REQUIRED));
                // 500 kbit/s and what it takes to stay there.
                required.is_some_and(|(_, bps)| *bps >= 550_000.0)
            })
        );
        assert_eq!(qoe.error, None);
        let metrics = site.metrics().await;
        // The manifest, two starts at most, and two segments.
        let understood = sample(&metrics, UNDERSTOOD);
        assert!((4.0..=5.0).contains(&understood), "{understood}");
        site.server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_that_says_nothing_gets_no_promise() {
    let site = site().await;
    let qoe = watch(&site, "manifest.mpd", &["--cmcd", "off", "--play", "1 s"]).await;
    assert_eq!((qoe.error, qoe.segments), (None, 1));
    let metrics = site.metrics().await;
    assert!(
        !metrics.keys().any(|name| name.starts_with(UNDERSTOOD)),
        "{metrics:#?}"
    );
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_or_malformed_is_said() {
    let site = site().await;
    let root = site.folder.path().join("root/t");
    std::fs::write(root.join("bad.mpd"), "<MPD><Period>").expect("written");
    std::fs::write(root.join("bad.m3u8"), "no playlist").expect("written");
    std::fs::remove_file(root.join("0-1.m4s")).expect("it was there");
    for (name, expected) in [
        ("bad.mpd", "is no DASH manifest"),
        ("bad.m3u8", "is no HLS playlist"),
        ("none.mpd", "the server answered 404"),
        ("manifest.mpd", "0-1.m4s: the server answered 404"),
    ] {
        let qoe = watch(&site, name, &[]).await;
        let error = qoe.error.expect(expected);
        assert!(error.contains(expected), "{error}");
        assert_eq!((qoe.startup_delay_s, qoe.segments), (None, 0));
    }
    let narrow = watch(&site, "master.m3u8", &["--buffer", "1 s"]).await;
    let error = narrow.error.expect("no room");
    assert!(error.contains("--buffer has to be 2.0 s"), "{error}");
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_at_the_address_is_an_error() {
    let silent = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let address = silent.local_addr().expect("bound");
    let url = format!("https://{address}/manifest.mpd");
    let qoe = within(play(&options(&url, &["--patience", "1 s"]))).await;
    let error = qoe.error.expect("nobody is there");
    assert!(error.contains("does not answer for 1.0 s"), "{error}");
}

/// The server as a program, which can be stopped in the middle.
struct Program(Child);

impl Program {
    fn start(folder: &TempDir) -> (Self, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_imtcp-serve"))
            .args(support::line(folder, &[]))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let mut line = String::new();
        let output = child.stdout.take().expect("piped");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let url = line
            .trim()
            .rsplit(' ')
            .next()
            .expect("an address")
            .to_owned();
        (Self(child), url)
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.0.id()).expect("an id");
        kill(Pid::from_raw(id), signal).expect("it runs");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stalls_is_a_stall_and_then_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    title(&folder.path().join("root/t"));
    let (server, url) = Program::start(&folder);
    let options = options(&format!("{url}t/master.m3u8"), &["--patience", "6 s"]);
    let stop = async {
        // The buffer is full long before, and holds four seconds.
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        server.signal(Signal::SIGSTOP);
    };
    let (qoe, ()) = within(async { tokio::join!(play(&options), stop) }).await;
    let told = qoe.json().expect("figures");
    let error = qoe.error.expect("the server stands still");
    assert!(
        error.contains("the server sent nothing for 6.0 s"),
        "{told}"
    );
    assert!(
        qoe.stalls == 1 && qoe.stalled_s > 0.0 && qoe.played_s >= 1.0,
        "{told}"
    );
}

#[test]
fn the_program_writes_figures_and_fails_where_the_title_ends_early() {
    let folder = tempfile::tempdir().expect("a folder");
    title(&folder.path().join("root/t"));
    std::fs::remove_file(folder.path().join("root/t/2-4.m4s")).expect("it was there");
    std::fs::remove_file(folder.path().join("root/t/1-4.m4s")).expect("it was there");
    std::fs::remove_file(folder.path().join("root/t/0-4.m4s")).expect("it was there");
    let (_server, url) = Program::start(&folder);
    let (json, rows) = (
        folder.path().join("qoe.json"),
        folder.path().join("segments.csv"),
    );
    let output = Command::new(env!("CARGO_BIN_EXE_imtcp-play"))
        .args([
            &format!("{url}t/manifest.mpd"),
            "--abr",
            "bola",
            "--use-cmsd",
            "--json",
        ])
        .arg(&json)
        .arg("--segments")
        .arg(&rows)
        .output()
        .expect("started");
    assert!(!output.status.success());
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let written = std::fs::read_to_string(&json).expect("written");
    assert_eq!(
        printed,
        serde_json::from_str::<serde_json::Value>(&written).expect("JSON")
    );
    assert_eq!(
        (&printed["segments"], &printed["uses_cmsd"]),
        (&3.into(), &true.into())
    );
    let error = printed["error"].as_str().expect("an error");
    assert!(error.contains("-4.m4s: the server answered 404"), "{error}");
    let rows = std::fs::read_to_string(&rows).expect("written");
    assert!(
        rows.starts_with("number,began_s,") && rows.lines().count() == 4,
        "{rows}"
    );
}

#[test]
fn a_title_without_ffmpeg_names_the_package() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_imtcp-title"))
        .arg(folder.path())
        .args(["--ffmpeg", "no-such-ffmpeg"])
        .output()
        .expect("started");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && told.contains("apt-get install ffmpeg"),
        "{told}"
    );
}
