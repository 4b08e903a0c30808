//! Files over HTTP/3: what a client asks, and what it gets.

mod support;

use std::time::Duration;
use support::{Client, Site, pattern, sample};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_comes_whole_in_parts_and_as_fields_alone() {
    let content = pattern(300_001);
    let site = Site::start(&[("video/1.m4s", &content)], &[]).await;
    let mut client = Client::connect(site.server.address).await;

    let whole = client.get("/video/1.m4s", &[]).await;
    assert_eq!(whole.status, 200);
    assert_eq!(whole.content, content);
    assert_eq!(whole.field("content-length"), "300001");
    assert_eq!(whole.field("content-type"), "video/iso.segment");
    assert_eq!(whole.field("accept-ranges"), "bytes");

    let head = client.ask("HEAD", "/video/1.m4s", &[], None).await;
    assert_eq!((head.status, head.content.len()), (200, 0));
    for name in ["content-length", "content-type", "etag", "last-modified"] {
        assert_eq!(head.field(name), whole.field(name));
    }
    // Ranges are for GET, so this one is about the whole.
    for range in ["bytes=0-9", "bytes=300001-"] {
        let fields = [("range", range)];
        let head = client.ask("HEAD", "/video/1.m4s", &fields, None).await;
        assert_eq!((head.status, head.field("content-length")), (200, "300001"));
    }

    let part = client
        .get("/video/1.m4s", &[("range", "bytes=100000-299999")])
        .await;
    assert_eq!(part.status, 206);
    assert_eq!(part.content, &content[100_000..300_000]);
    assert_eq!(part.field("content-range"), "bytes 100000-299999/300001");
    let last = client.get("/video/1.m4s", &[("range", "bytes=-1")]).await;
    assert_eq!(last.content, &content[300_000..]);

    let beyond = client
        .get("/video/1.m4s", &[("range", "bytes=300001-")])
        .await;
    assert_eq!(beyond.status, 416);
    assert_eq!(beyond.field("content-range"), "bytes */300001");
    let several = client
        .get("/video/1.m4s", &[("range", "bytes=0-1,5-6")])
        .await;
    assert_eq!(
        (several.status, several.content.len()),
        (200, content.len())
    );
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_good_is_not_sent_again() {
    let site = Site::start(&[("a.mpd", b"content")], &[]).await;
    let mut client = Client::connect(site.server.address).await;
    let first = client.get("/a.mpd", &[]).await;
    let (tag, date) = (first.field("etag"), first.field("last-modified"));
    let range = ("range", "bytes=0-2");
    for (fields, status, content) in [
        (vec![("if-none-match", tag)], 304, ""),
        (vec![("if-modified-since", date)], 304, ""),
        (vec![("if-none-match", "\"other\"")], 200, "content"),
        (vec![range, ("if-range", tag)], 206, "con"),
        (vec![range, ("if-range", "\"other\"")], 200, "content"),
        (vec![range, ("if-none-match", tag)], 304, ""),
    ] {
        let answer = client.get("/a.mpd", &fields).await;
        let text = String::from_utf8_lossy(&answer.content);
        assert_eq!((answer.status, &*text), (status, content), "{fields:?}");
    }
    let failed = client.get("/a.mpd", &[("if-match", "\"other\"")]).await;
    assert_eq!(failed.status, 412);
    let root = site.folder.path().join("root/a.mpd");
    std::fs::write(root, "another").expect("written");
    let changed = client.get("/a.mpd", &[("if-none-match", tag)]).await;
    assert_eq!(
        (changed.status, changed.content.as_slice()),
        (200, &b"another"[..])
    );
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_its_date_and_pages_of_elsewhere_may_read_it() {
    let site = Site::start(&[("a.mpd", b"content")], &[]).await;
    let mut client = Client::connect(site.server.address).await;
    let tag = client.get("/a.mpd", &[]).await.field("etag").to_owned();
    let tag = [("if-none-match", tag.as_str())];
    for (method, path, fields, status) in [
        ("GET", "/a.mpd", &[][..], 200),
        ("HEAD", "/a.mpd", &[], 200),
        ("GET", "/a.mpd", &tag, 304),
        ("GET", "/nothing", &[], 404),
        ("PUT", "/a.mpd", &[], 405),
        ("OPTIONS", "/a.mpd", &[], 204),
    ] {
        let answer = client.ask(method, path, fields, None).await;
        assert_eq!(answer.status, status, "{method} {path}");
        let date = answer.field("date");
        assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
        let exposed = answer.field("access-control-expose-headers");
        assert!(exposed.split(", ").any(|name| name == "date"), "{exposed}");
    }
    // Whatever condition files are asked for by, a browser may send.
    let preflight = client.ask("OPTIONS", "/a", &[], None).await;
    let allowed = preflight.field("access-control-allow-headers");
    for name in ["if-modified-since", "if-unmodified-since", "if-range"] {
        assert!(allowed.contains(name), "{name}: {allowed}");
    }
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_leads_out_of_the_root_and_other_methods_are_told_so() {
    let files: &[(&str, &[u8])] = &[("index.html", b"index"), (".secret", b"s"), ("empty", b"")];
    let site = Site::start(files, &[]).await;
    std::fs::write(site.folder.path().join("key"), "k").expect("written");
    std::os::unix::fs::symlink("../key", site.folder.path().join("root/link")).expect("linked");
    let mut client = Client::connect(site.server.address).await;
    for (path, status) in [
        ("/", 200),
        ("/empty", 200),
        ("/?a=/../b", 200),
        ("/nothing", 404),
        ("/.secret", 404),
        ("/link", 404),
        ("/../key", 400),
        ("/%2e%2e/key", 400),
        ("/a%2f..%2f..%2fkey", 400),
        ("/%00", 400),
        ("*", 400),
    ] {
        let answer = client.get(path, &[]).await;
        assert_eq!(answer.status, status, "{path}");
    }
    let put = client.ask("PUT", "/index.html", &[], Some(b"new")).await;
    assert_eq!(
        (put.status, put.field("allow")),
        (405, "GET, HEAD, OPTIONS, POST")
    );
    let preflight = client.ask("OPTIONS", "/a", &[], None).await;
    assert_eq!(preflight.status, 204);
    assert!(
        preflight
            .field("access-control-allow-headers")
            .contains("cmcd-object")
    );
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_has_not_ended_is_answered_in_full() {
    // The client's window has a million bytes, so the server still has the end of the large file
    // when all of it is read.
    let content = pattern(1_060_000);
    let files: &[(&str, &[u8])] = &[("large", &content), ("small", &content[..10])];
    let site = Site::start(files, &[]).await;
    let mut client = Client::connect(site.server.address).await;
    let begun = client.begin_open("/large").await;
    let (coming, _request) = begun.expect("begun");
    site.until("all of it is read", |metrics| {
        sample(metrics, "imtcp_serve_content_bytes_total") == 1_060_000.0
    })
    .await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(coming.read().await.content == content);
    for (path, length) in [("/small", 10), ("/nothing", 22)] {
        let begun = client.begin_open(path).await;
        let (coming, _request) = begun.expect("begun");
        let answer = coming.read().await;
        assert_eq!(answer.content.len(), length, "{path}");
    }
    // The server waits for no end that never comes.
    site.until("three answers are complete", |metrics| {
        let sent = "imtcp_serve_answers_total{progress=\"sent\"";
        metrics.keys().any(|name| name.starts_with(sent)) && sample(metrics, sent) == 3.0
    })
    .await;
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_controller_serves() {
    for cc in ["imtcp", "imtcp-off", "cubic", "bbr2", "reno"] {
        let content = pattern(1_000_000);
        let site = Site::start(&[("file", &content)], &["--cc", cc]).await;
        let mut client = Client::connect(site.server.address).await;
        let answer = client.get("/file", &[]).await;
        assert!(
            answer.content == content,
            "{cc}: {} bytes",
            answer.content.len()
        );
        site.server.stop().await;
    }
}
