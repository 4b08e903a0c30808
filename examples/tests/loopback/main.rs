//! A server and clients in one runtime, over real sockets on the loopback interface.

mod logs;
mod strangers;
mod support;

use clap::Parser;
use imtcp_examples::bulk;
use imtcp_examples::serve::Server;
use std::future::pending;
use std::time::Duration;
use support::{Running, ServeLine, fetch_in_parallel, fetch_with, folder, on_one_thread};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

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
fn a_live_body_comes_whole_and_no_sooner_than_its_frames() {
    on_one_thread(async {
        let (folder, bytes) = folder();
        let server = Running::start(folder.path(), &["--frames", "500 kB per 20 ms"]);
        fetch_in_parallel(&server, folder.path(), &bytes, 2).await;
        let fetched = fetch_with(&[&server.url("file"), "--insecure"]).await;
        let fetched = fetched.expect("it comes");
        assert_eq!(fetched.bytes, bytes.len() as u64);
        // Four frames, of which the first is there at once.
        assert!(fetched.seconds >= 0.06, "{fetched:?}");
        server.stop().await;
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
