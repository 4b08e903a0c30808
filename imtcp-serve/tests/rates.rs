//! From what a client says of the rate that it needs to the promise, and back to the client.

mod support;

use sfv::{BareItem, List, ListEntry, Parser};
use support::{Client, Site, pattern, sample};

const REQUIRED: &str = "imtcp_serve_required_bits_per_second{";

/// The keys of the one entity in a CMSD field.
fn cmsd(field: &str) -> Vec<(String, i64)> {
    let list: List = Parser::new(field).parse().expect("a list");
    let [ListEntry::Item(entity)] = list.as_slice() else {
        panic!("not one entity: {field}");
    };
    let number = |value: &BareItem| match value {
        BareItem::Integer(number) => i64::from(*number),
        _ => panic!("not a number: {field}"),
    };
    let keys = entity.params.iter();
    keys.map(|(key, value)| (key.to_string(), number(value)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn cmcd_becomes_the_promise_and_the_measurement_becomes_cmsd() {
    let content = pattern(4_000_000);
    let site = Site::start(&[("1.m4s", &content)], &[]).await;
    let mut client = Client::connect(site.server.address).await;
    let video = [
        ("cmcd-object", "br=5000,d=4000,ot=v"),
        ("cmcd-request", "bl=9000,mtp=25000"),
    ];
    client.get("/1.m4s", &video).await;
    site.until("5 Mbit/s of video take 6.47", |metrics| {
        sample(metrics, REQUIRED) == 6_470_588.0
    })
    .await;
    // By the query, for the sound: both are needed.
    client.get("/1.m4s?CMCD=br%3D100%2Cot%3Da", &[]).await;
    site.until("and the sound 129 kbit/s", |metrics| {
        sample(metrics, REQUIRED) == 6_600_000.0
    })
    .await;
    // By JSON, a lower quality of the video.
    let posted = client
        .ask("POST", "/cmcd", &[], Some(br#"{"br": 1000, "ot": "v"}"#))
        .await;
    assert_eq!(posted.status, 204);
    site.until("the player has switched down", |metrics| {
        sample(metrics, REQUIRED) == 1_423_530.0
    })
    .await;
    let last = client.get("/1.m4s", &[]).await;
    let keys = cmsd(last.field("cmsd-dynamic"));
    // Over loopback, where no link is the narrow one, an estimate is a matter of chance.
    let found = keys.iter().find(|(key, _)| key == "rtt");
    assert!(found.is_some_and(|(_, value)| *value > 0), "{keys:?}");
    let estimated = keys.iter().any(|(key, _)| key == "etp");
    let suggested = keys.iter().any(|(key, _)| key == "mb");
    assert!(estimated || !suggested, "{keys:?}");
    let metrics = site.metrics().await;
    assert_eq!(
        sample(&metrics, "imtcp_serve_dialects_total{result=\"understood\""),
        3.0
    );
    assert_eq!(
        sample(&metrics, "imtcp_serve_content_bytes_total"),
        12_000_000.0
    );
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_of_a_request_holds_while_it_is_answered() {
    let content = pattern(30_000_000);
    let site = Site::start(&[("file", &content)], &["--promise", "1 Mbit/s per 1 s"]).await;
    let mut client = Client::connect(site.server.address).await;
    let fields = [("priority", "u=1, r=3000")];
    let mut coming = client
        .begin("GET", "/file", &fields, None)
        .await
        .expect("begun");
    coming.some().await.expect("some content");
    // The rest waits for the client, so the request stays open.
    site.until(
        "the server's rate and the request's are required",
        |metrics| sample(metrics, REQUIRED) == 4_000_000.0,
    )
    .await;
    let rest = coming.read().await;
    assert!(rest.content.len() < content.len());
    site.until("the server's alone", |metrics| {
        sample(metrics, REQUIRED) == 1_000_000.0
    })
    .await;
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_path_does_not_allow_is_refused_and_the_rest_stays() {
    let content = pattern(30_000_000);
    let site = Site::start(&[("file", &content)], &["--promise", "1 Mbit/s per 1 s"]).await;
    let mut client = Client::connect(site.server.address).await;
    let whole = client.get("/file", &[]).await;
    assert!(whole.content == content);
    // No path of sockets has two round trips in 100 us.
    let fields = [("imtcp-required-rate", "2 Mbit/s per 100 us")];
    let begun = client.begin("GET", "/file", &fields, None).await;
    let mut coming = begun.expect("begun");
    coming.some().await.expect("some content");
    site.until("3 Mbit/s are refused, and 1 Mbit/s stays", |metrics| {
        sample(metrics, "imtcp_serve_refused_rates_total") == 1.0
            && metrics
                .keys()
                .any(|name| name.starts_with("imtcp_serve_refused_bits"))
            && sample(metrics, "imtcp_serve_refused_bits_per_second{") == 3_000_000.0
            && sample(metrics, REQUIRED) == 1_000_000.0
    })
    .await;
    assert!(coming.read().await.content.len() < content.len());
    site.until("nothing is refused any more", |metrics| {
        let refused = "imtcp_serve_refused_bits_per_second{";
        !metrics.keys().any(|name| name.starts_with(refused))
            && sample(metrics, REQUIRED) == 1_000_000.0
    })
    .await;
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_by_path_and_fields_of_requests_are_promises_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = folder.path().join("rates.toml");
    let text = "[[path]]\nprefix = \"/live/\"\nrequire = \"exactly 2 Mbit/s per 1 s\"\n";
    std::fs::write(&rules, text).expect("written");
    let content = pattern(100_000);
    let files: &[(&str, &[u8])] = &[("live/1", &content), ("2", &content)];
    let arguments = ["--rates", rules.to_str().expect("text"), "--slots"];
    let slots = folder.path().join("slots.csv");
    let arguments = [&arguments[..], &[slots.to_str().expect("text")]].concat();
    let site = Site::start(files, &arguments).await;
    let mut client = Client::connect(site.server.address).await;
    client.get("/live/1", &[]).await;
    site.until("the rule's rate", |metrics| {
        sample(metrics, REQUIRED) == 2_000_000.0
    })
    .await;
    client
        .get("/2", &[("imtcp-required-rate", "3 Mbit/s per 1 s")])
        .await;
    site.until("the rule's rate alone again", |metrics| {
        sample(metrics, REQUIRED) == 2_000_000.0
    })
    .await;
    drop(client);
    site.server.stop().await;
    let lines = std::fs::read_to_string(slots).expect("written");
    let required: Vec<_> = lines
        .lines()
        .filter(|line| line.contains(",required,"))
        .map(|line| {
            line.split(',')
                .skip(1)
                .take(6)
                .collect::<Vec<_>>()
                .join(",")
        })
        .collect();
    let expected = [
        "required,exactly,,,,2000000",
        "required,at_least,,,,5000000",
        "required,exactly,,,,2000000",
    ];
    assert_eq!(required, expected, "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_rates_are_counted_and_the_file_comes_all_the_same() {
    let site = Site::start(&[("1.m4s", b"content")], &[]).await;
    let mut client = Client::connect(site.server.address).await;
    for fields in [
        [("cmcd-object", "br=,,")],
        [("cmcd-request", "bl=-1")],
        [("imtcp-required-rate", "fast")],
        [("priority", "r=fast")],
    ] {
        let answer = client.get("/1.m4s", &fields).await;
        assert_eq!(
            (answer.status, answer.content.as_slice()),
            (200, &b"content"[..])
        );
    }
    for (body, status) in [
        (&b"{"[..], 400),
        (&[b'['; 70_000], 413),
        (b"{\"br\":1}", 204),
    ] {
        let answer = client.ask("POST", "/cmcd", &[], Some(body)).await;
        assert_eq!(answer.status, status, "{} bytes", body.len());
    }
    let metrics = site.metrics().await;
    assert_eq!(
        sample(&metrics, "imtcp_serve_dialects_total{result=\"malformed\""),
        4.0
    );
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quiches_own_controllers_make_no_promise_and_tell_their_window() {
    let site = Site::start(&[("1.m4s", &pattern(100_000))], &["--cc", "cubic"]).await;
    let mut client = Client::connect(site.server.address).await;
    let video = [("cmcd-object", "br=5000,ot=v")];
    let answer = client.get("/1.m4s", &video).await;
    let keys: Vec<_> = cmsd(answer.field("cmsd-dynamic"));
    let keys: Vec<_> = keys.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["etp", "rtt"]);
    let metrics = site.metrics().await;
    assert!(
        !metrics.keys().any(|name| name.starts_with(REQUIRED)),
        "{metrics:#?}"
    );
    site.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn urgency_seven_is_the_background_until_somebody_waits_for_a_request() {
    const BACKGROUND: &str = "imtcp_serve_in_background{";
    let content = pattern(30_000_000);
    let site = Site::start(&[("file", &content)], &[]).await;
    let mut client = Client::connect(site.server.address).await;
    let fields = [("priority", "u=7, i")];
    let mut coming = client
        .begin("GET", "/file", &fields, None)
        .await
        .expect("begun");
    coming.some().await.expect("some content");
    site.until("the update alone is a background task", |metrics| {
        sample(metrics, BACKGROUND) == 1.0
    })
    .await;
    let mut awaited = client
        .begin("GET", "/file", &[], None)
        .await
        .expect("begun");
    awaited.some().await.expect("some content");
    site.until("somebody waits for another file", |metrics| {
        sample(metrics, BACKGROUND) == 0.0
    })
    .await;
    coming.read().await;
    awaited.read().await;
    site.server.stop().await;
}
