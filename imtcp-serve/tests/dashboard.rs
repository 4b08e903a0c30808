//! The dashboard: what it shows, whom it answers, and that its answers are bounded.

mod support;

use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use support::{Client, Site, pattern, within};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection's row has a minute of five rates, and each takes eleven bytes at most.
const MOST_OF_A_ROW: usize = 60 * 5 * 11 + 1_500;

async fn start(arguments: &[&str]) -> (Site, SocketAddr) {
    let content = pattern(300_000);
    let line = [&["--dashboard", "127.0.0.1:0"], arguments].concat();
    let site = Site::start(&[("file", &content)], &line).await;
    let address = site.server.dashboard.expect("asked for");
    (site, address)
}

/// The whole answer, fields included.
async fn raw(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("listens");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("read");
    answer
}

async fn get(address: SocketAddr, host: &str, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    raw(address, &request).await
}

async fn state(address: SocketAddr, query: &str) -> Value {
    let answer = get(address, "localhost", &format!("/state.json?{query}")).await;
    let (_, content) = answer.split_once("\r\n\r\n").expect("fields");
    serde_json::from_str(content).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// The first state for which this holds.
async fn state_when(address: SocketAddr, query: &str, holds: impl Fn(&Value) -> bool) -> Value {
    within(async {
        loop {
            let state = state(address, query).await;
            if holds(&state) {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
}

fn slots(row: &Value) -> u64 {
    let count = |name: &str| row[name].as_u64().expect("a number");
    count("slots_kept") + count("slots_source_limited") + count("slots_missed")
}

fn rows(state: &Value) -> &Vec<Value> {
    state["connections"].as_array().expect("rows")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_shown_with_what_it_requires_and_after_its_end_among_the_ended() {
    let promise = ["--promise", "1 Mbit/s per 100 ms", "--idle", "4 s"];
    let (site, address) = start(&promise).await;
    let mut client = Client::connect(site.server.address).await;
    // Slots end with packets, so the second request ends that of the first.
    for _ in 0..2 {
        let answer = client.get("/file", &[]).await;
        assert_eq!(answer.content.len(), 300_000);
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    let shown = state_when(address, "", |state| {
        let row = &state["connections"][0];
        row["rtt_ms"].is_number() && slots(row) > 0
    })
    .await;
    let row = &rows(&shown)[0];
    assert_eq!(row["controller"], "imtcp");
    assert_eq!(row["required"], 1000);
    assert_eq!(row["content_bytes"], 600_000);
    assert_eq!(row["refused"], Value::Null);
    assert!(
        row["peer"]
            .as_str()
            .expect("an address")
            .starts_with("127.0.0.1:")
    );
    assert!(row["sent"].as_u64() > row["lost"].as_u64(), "{row}");
    let lengths = ["goodput", "available", "low", "high", "required"];
    let lengths = lengths.map(|name| row["history"][name].as_array().expect("a list").len());
    let letters = row["history"]["status"].as_str().expect("letters").len();
    assert!(lengths.iter().all(|length| *length == letters), "{row}");
    let totals = &shown["totals"];
    assert_eq!(
        (&totals["open"], &totals["connections"]),
        (&1.into(), &1.into())
    );
    assert_eq!(totals["content_bytes"], 600_000);

    let name = row["id"].clone();
    drop(client);
    let ended = state_when(address, "", |state| !state["ended"][0].is_null()).await;
    let gone = &ended["ended"][0];
    assert_eq!((&gone["id"], &gone["bytes"]), (&name, &600_000.into()));
    assert_eq!(gone["requests"], 2);
    assert!(slots(gone) >= slots(row));
    assert_eq!(ended["totals"]["open"], 0);
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_come_in_pages_of_a_bounded_size() {
    const MANY: usize = 120;
    let (site, address) = start(&["--cc", "cubic"]).await;
    let mut clients = Vec::new();
    for _ in 0..MANY {
        clients.push(Client::connect(site.server.address).await);
    }
    let full = |state: &Value| state["totals"]["open"] == MANY && state["page"]["found"] == MANY;
    let first = state_when(address, "rows=50", full).await;
    assert_eq!(rows(&first).len(), 50);
    assert_eq!(first["page"]["of"], 3);
    let last = state(address, "rows=50&page=2").await;
    assert_eq!(rows(&last).len(), 20);
    // Connections end between two looks, so a page beyond the last is the last.
    let beyond = state(address, &format!("rows=50&page={}", usize::MAX)).await;
    assert_eq!(beyond["page"]["number"], 2);

    // The oldest are the first, since none has trouble; and the other way round.
    let names = |state: &Value| -> Vec<_> {
        let names = rows(state).iter();
        names.map(|row| row["id"].clone()).collect()
    };
    assert_eq!(names(&beyond), names(&last));
    let newest = names(&state(address, "rows=100&order=newest").await);
    let oldest = names(&state(address, "rows=100&page=1").await);
    let backwards: Vec<_> = newest.into_iter().take(20).rev().collect();
    assert_eq!(backwards, oldest);

    let one = &names(&first)[7];
    let found = state(address, &format!("find={}", one.as_str().expect("a name"))).await;
    assert_eq!(names(&found), std::slice::from_ref(one));
    let size = get(address, "localhost", "/state.json?rows=100")
        .await
        .len();
    let most = 100 * MOST_OF_A_ROW + 2_000;
    assert!(size < most, "{size} bytes");
    let status = get(address, "localhost", "/state.json?rows=101").await;
    assert!(status.starts_with("HTTP/1.1 400 "), "{status}");
    assert!(
        status.ends_with("`rows` is a number from 1 to 100\n"),
        "{status}"
    );
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_elsewhere_are_not_answered() {
    let (site, address) = start(&[]).await;
    for path in ["/", "/page.js", "/plot.js", "/page.css", "/state.json"] {
        for host in ["evil.example", "127.0.0.1.evil.example", "192.0.2.1:80", ""] {
            let answer = get(address, host, path).await;
            assert!(answer.starts_with("HTTP/1.1 421 "), "{host}: {answer}");
            assert!(!answer.contains("totals"), "{host}: {answer}");
        }
        // As through a tunnel: the port is another one.
        for host in ["localhost:8080", "127.0.0.1:1", "[::1]:1"] {
            let answer = get(address, host, path).await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{host}: {answer}");
        }
    }
    let nameless = raw(address, "GET /state.json HTTP/1.0\r\n\r\n").await;
    assert!(nameless.starts_with("HTTP/1.0 421 "), "{nameless}");
    let posted = "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let posted = raw(address, posted).await;
    assert!(posted.starts_with("HTTP/1.1 405 "), "{posted}");
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_is_neither_echoed_nor_run() {
    let (site, address) = start(&[]).await;
    let hostile = "%3Cscript%3Ealert(1)%3C/script%3E";
    for path in [
        format!("/state.json?find={hostile}"),
        format!("/state.json?order={hostile}"),
        format!("/state.json?{hostile}=1"),
        format!("/{hostile}"),
    ] {
        let answer = get(address, "localhost", &path).await;
        let small = answer.to_lowercase();
        assert!(
            !small.contains("<script") && !small.contains("alert"),
            "{answer}"
        );
        // Whatever it is, no browser takes it for a page, and no page of elsewhere shows it.
        let fields = [
            "x-content-type-options: nosniff",
            "default-src 'none'",
            "frame-ancestors 'none'",
            "cross-origin-resource-policy: same-origin",
        ];
        assert!(fields.iter().all(|field| small.contains(field)), "{answer}");
        assert!(!small.contains("content-type: text/html"), "{answer}");
        assert!(!small.contains("access-control-allow"), "{answer}");
    }
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_say_nothing_are_sent_away() {
    let (site, address) = start(&[]).await;
    // More than there are places.
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(TcpStream::connect(address).await.expect("a queue"));
    }
    let state = within(state(address, "")).await;
    assert_eq!(state["totals"]["open"], 0);
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_not_for_pages_of_elsewhere_either() {
    let site = Site::start(&[], &[]).await;
    let metrics = site.server.metrics.expect("asked for");
    for (host, status) in [("evil.example", "421"), ("127.0.0.1:9433", "200")] {
        let answer = get(metrics, host, "/metrics").await;
        let (line, _) = answer.split_once("\r\n").expect("a line");
        assert!(line.contains(status), "{host}: {line}");
    }
    site.server.stop().await;
}
