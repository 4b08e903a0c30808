//! Beginnings and ends: SIGTERM, clients that vanish, and those that mean harm.

mod support;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{Client, Site, line, pattern, sample, within};
use tokio::net::UdpSocket;
use tokio::runtime::Runtime;
use tokio_quiche::quiche;

const OPEN: &str = "imtcp_serve_open_connections";

/// The program itself, with its standard error in a file.
struct Program {
    child: Child,
    address: SocketAddr,
}

impl Program {
    fn start(folder: &tempfile::TempDir, arguments: &[&str]) -> Self {
        let errors = fs::File::create(folder.path().join("log")).expect("created");
        Self::start_telling(folder, arguments, errors.into())
    }

    /// With its standard error elsewhere.
    fn start_telling(folder: &tempfile::TempDir, arguments: &[&str], errors: Stdio) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_imtcp-serve"))
            .args(line(folder, arguments))
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("the program is there");
        let said = BufReader::new(child.stdout.take().expect("piped"));
        let address = said.lines().map_while(Result::ok).find_map(|line| {
            let rest = line.strip_prefix("listening on https://")?.to_owned();
            rest.trim_end_matches('/').parse().ok()
        });
        Self {
            child,
            address: address.expect("it listens"),
        }
    }

    fn terminate(&self) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(id), Signal::SIGTERM).expect("it runs");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).expect("written");
    let records = text.split(['\n', '\u{1e}']).filter(|line| !line.is_empty());
    records
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_finishes_the_answers_that_have_begun_and_all_files_name_the_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let content = pattern(20_000_000);
    fs::create_dir(folder.path().join("root")).expect("made");
    fs::write(folder.path().join("root/file"), &content).expect("written");
    let inside = |name: &str| folder.path().join(name).display().to_string();
    let (qlog, estimates, slots) = (inside("qlog"), inside("estimates.csv"), inside("slots.csv"));
    let files = [
        "--qlog",
        &qlog,
        "--estimates",
        &estimates,
        "--slots",
        &slots,
    ];
    let rest = ["--promise", "1 Mbit/s per 100 ms", "--log", "json"];
    let mut program = Program::start(&folder, &[&files[..], &rest[..]].concat());

    let mut client = Client::connect(program.address).await;
    let mut coming = client
        .begin("GET", "/file", &[], None)
        .await
        .expect("begun");
    let mut got = coming.some().await.expect("some content");
    program.terminate();
    while let Some(part) = coming.some().await {
        got.extend(part);
    }
    assert_eq!(got.len(), content.len());
    assert!(got == content);
    let status = tokio::task::spawn_blocking(move || program.child.wait().expect("it ran"));
    assert!(within(status).await.expect("no panic").success());

    // One name for all.
    let log = lines(&folder.path().join("log"));
    let ended = log
        .iter()
        .find(|line| line["message"] == "ended")
        .expect("a line");
    let name = ended["connection"].as_str().expect("a name");
    assert_eq!(ended["bytes"], content.len());
    let request = log
        .iter()
        .find(|line| line["message"] == "request")
        .expect("a line");
    assert_eq!(
        (&request["connection"], &request["status"]),
        (&name.into(), &200.into())
    );
    let events = lines(&folder.path().join(format!("qlog/{name}.sqlog")));
    let closed = events
        .iter()
        .any(|event| event["data"].to_string().contains("connection_close"));
    assert!(closed, "the qlog ends early");
    for file in [estimates, slots] {
        let text = fs::read_to_string(&file).expect("written");
        let of_it = |line: &str| line.starts_with(&format!("{name},"));
        assert!(text.lines().count() > 1, "{file} is empty");
        assert!(text.lines().skip(1).all(of_it), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_in_the_middle_leaves_nothing() {
    let content = pattern(50_000_000);
    let site = Site::start(&[("file", &content)], &["--idle", "500 ms"]).await;
    let address = site.server.address;
    let vanish = move || {
        // Its tasks end with the runtime, and say nothing any more.
        let runtime = Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let mut client = Client::connect(address).await;
            let fields = [("cmcd-object", "br=5000,ot=v")];
            let mut coming = client
                .begin("GET", "/file", &fields, None)
                .await
                .expect("begun");
            coming.some().await.expect("some content");
            std::mem::forget(client);
        });
        runtime.shutdown_background();
    };
    for _ in 0..3 {
        tokio::task::spawn_blocking(vanish).await.expect("no panic");
    }
    site.until("all are gone", |metrics| {
        sample(metrics, "imtcp_serve_connections_total") == 3.0 && sample(metrics, OPEN) == 0.0
    })
    .await;
    let cancelled = "imtcp_serve_answers_total{progress=\"cancelled\"";
    site.until("and their answers were given up", |metrics| {
        metrics.keys().any(|name| name.starts_with(cancelled)) && sample(metrics, cancelled) == 3.0
    })
    .await;
    let mut client = Client::connect(address).await;
    assert_eq!(client.ask("HEAD", "/file", &[], None).await.status, 200);
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_handshakes_take_no_place() {
    let site = Site::start(&[("file", b"content")], &[]).await;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a port");
    let local = socket.local_addr().expect("bound");
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a config");
    config.set_application_protos(&[b"h3"]).expect("a protocol");
    let mut packet = [0; 1350];
    for number in 0..10_000_u64 {
        let id = [&number.to_be_bytes()[..], &[7; 8]].concat();
        let id = quiche::ConnectionId::from_ref(&id);
        let to = site.server.address;
        let mut one = quiche::connect(None, &id, local, to, &mut config).expect("a connection");
        let (length, _) = one.send(&mut packet).expect("a first packet");
        socket.send_to(&packet[..length], to).await.expect("sent");
    }
    let mut client = Client::connect(site.server.address).await;
    assert_eq!(client.get("/file", &[]).await.content, b"content");
    let metrics = site.metrics().await;
    assert_eq!(
        (
            sample(&metrics, OPEN),
            sample(&metrics, "imtcp_serve_connections_total")
        ),
        (1.0, 1.0)
    );
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_without_end_close_the_connection_and_not_the_server() {
    let site = Site::start(&[("file", b"content")], &[]).await;
    // quiche sends fields at once or not at all, so they have to fit into its window.
    let mut client = Client::with_window(site.server.address, 200).await;
    let long = "x".repeat(7_000);
    let fields = [("cmcd-session", long.as_str()); 4];
    assert_eq!(
        client.get("/file", &fields).await.status,
        200,
        "28 kB are read"
    );
    let fields = [("cmcd-session", long.as_str()); 20];
    let answer = client.begin("GET", "/file", &fields, None).await;
    assert!(answer.is_none(), "140 kB are read");
    let mut client = Client::connect(site.server.address).await;
    assert_eq!(client.get("/file", &[]).await.content, b"content");
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_holds_little_and_others_are_served() {
    let content = pattern(50_000_000);
    let site = Site::start(&[("file", &content)], &["--drain", "100 ms"]).await;
    let mut slow = Client::connect(site.server.address).await;
    let mut coming = slow.begin("GET", "/file", &[], None).await.expect("begun");
    coming.some().await.expect("some content");
    let mut other = Client::connect(site.server.address).await;
    assert!(other.get("/file", &[]).await.content == content);
    // What the slow one has not taken is bounded by flow control and by the driver's channel.
    let given = sample(&site.metrics().await, "imtcp_serve_content_bytes_total");
    assert!(
        given < 75_000_000.0,
        "{given} bytes for 50 MB and a beginning"
    );
    // It ends all the same.
    within(site.server.stop()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_which_nothing_is_taken_is_given_up_with_what_it_needs() {
    const REQUIRED: &str = "imtcp_serve_required_bits_per_second{";
    // The driver takes the whole of the short one, and cannot send its end: the client's window has
    // a million bytes.
    let content = pattern(50_000_000);
    let files: &[(&str, &[u8])] = &[
        ("long", &content),
        ("short", &content[..1_060_000]),
        ("other", b"content"),
    ];
    let site = Site::start(files, &["--patience", "500 ms"]).await;
    let mut client = Client::connect(site.server.address).await;
    let fields = [("imtcp-required-rate", "1 Mbit/s per 1 s")];
    for (path, given_up) in [("/long", 1.0), ("/short", 2.0)] {
        let begun = client.begin("GET", path, &fields, None).await;
        let mut coming = begun.expect("begun");
        site.until("it is given up, and so is its rate", |metrics| {
            let stalled = "imtcp_serve_answers_total{progress=\"stalled\"";
            metrics.keys().any(|name| name.starts_with(stalled))
                && sample(metrics, stalled) == given_up
                && !metrics.keys().any(|name| name.starts_with(REQUIRED))
        })
        .await;
        let mut bytes = 0;
        while let Some(part) = coming.some().await {
            bytes += part.len();
        }
        assert!(bytes < 1_060_000, "{path}: {bytes} bytes");
    }
    // Its connection goes on.
    assert_eq!(client.get("/other", &[]).await.content, b"content");
    site.server.stop().await;
}

#[test]
fn what_a_server_lacks_is_said_and_it_does_not_start() {
    let program = env!("CARGO_BIN_EXE_imtcp-serve");
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().to_str().expect("text");
    for (arguments, expected) in [
        (
            vec!["--root", "/nowhere"],
            "cannot serve the folder /nowhere",
        ),
        (
            vec!["--root", root, "--cert", "/no.pem", "--key", "/no.pem"],
            "cannot read /no.pem",
        ),
        (
            vec!["--root", root, "--rates", "/no.toml"],
            "cannot read /no.toml",
        ),
        (
            vec!["--root", root, "--estimates", "/no/where.csv"],
            "cannot write /no/where.csv",
        ),
    ] {
        let run = Command::new(program)
            .args(arguments)
            .env("RUST_BACKTRACE", "1")
            .output()
            .expect("it ran");
        let text = String::from_utf8_lossy(&run.stderr);
        let said: Vec<&str> = text.lines().collect();
        let is_one_line = said.last().is_some_and(|line| line.contains(expected));
        assert!(!run.status.success() && is_one_line, "{text}");
    }
}

#[test]
fn a_choice_of_the_log_that_is_none_is_said() {
    let run = Command::new(env!("CARGO_BIN_EXE_imtcp-serve"))
        .args(["--root", "/nowhere"])
        .env("RUST_LOG", "imtcp_serve=inof")
        .output()
        .expect("it ran");
    let text = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success());
    assert!(text.contains("RUST_LOG=imtcp_serve=inof"), "{text}");
}

/// As in `imtcp-serve | head -1`, or where what kept the log of a service was started anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_goes_on_when_nobody_reads_its_log() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("root")).expect("made");
    fs::write(folder.path().join("root/file"), "content").expect("written");
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    let mut program = Program::start_telling(&folder, &[], writer.into());
    drop(reader);
    for _ in 0..3 {
        let mut client = Client::connect(program.address).await;
        assert_eq!(client.get("/file", &[]).await.content, b"content");
    }
    program.terminate();
    let status = tokio::task::spawn_blocking(move || program.child.wait().expect("it ran"));
    assert!(within(status).await.expect("no panic").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_sigterm_waits_for_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("root")).expect("made");
    fs::write(folder.path().join("root/file"), pattern(50_000_000)).expect("written");
    let mut program = Program::start(&folder, &["--drain", "60 min", "--patience", "60 min"]);
    let mut client = Client::connect(program.address).await;
    let begun = client.begin("GET", "/file", &[], None).await;
    let mut coming = begun.expect("begun");
    coming.some().await.expect("some content");
    // What it has not taken keeps the server busy for as long as it is patient.
    program.terminate();
    let log = folder.path().join("log");
    let ending = async {
        while !fs::read_to_string(&log).is_ok_and(|text| text.contains("ending")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(ending).await;
    // Colours are for terminals, and would hide the names of fields from `grep open=`.
    let text = fs::read_to_string(&log).expect("written");
    assert!(text.contains("ending open=1"), "{text:?}");
    program.terminate();
    let status = tokio::task::spawn_blocking(move || program.child.wait().expect("it ran"));
    assert!(within(status).await.expect("no panic").success());
}

/// A path to `server` that carries datagrams of so many bytes at most, for one client.
async fn narrow_path(server: SocketAddr, most: usize) -> SocketAddr {
    let path = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let path = path.expect("a port");
    let entry = path.local_addr().expect("bound");
    tokio::spawn(async move {
        let (mut client, mut datagram) = (server, [0; 65_535]);
        while let Ok((length, from)) = path.recv_from(&mut datagram).await {
            let to = if from == server { client } else { server };
            if from != server {
                client = from;
            }
            if length <= most {
                // A datagram that is lost comes again.
                let _ = path.send_to(&datagram[..length], to).await;
            }
        }
    });
    entry
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_carries_less_than_ethernet_carries_the_file() {
    let content = pattern(300_000);
    let site = Site::start(&[("file", &content)], &[]).await;
    // As through a tunnel, which has room for headers of IPv6.
    let entry = narrow_path(site.server.address, 1_280 - 48).await;
    let mut client = Client::connect(entry).await;
    assert!(client.get("/file", &[]).await.content == content);
    site.server.stop().await;
}
