use super::*;
use http::{HeaderName, HeaderValue};
use proptest::prelude::*;

fn fields(list: &[(&'static str, &str)]) -> HeaderMap {
    let field = |(name, value): &(&'static str, &str)| {
        let value = HeaderValue::from_str(value).expect("text");
        (HeaderName::from_static(name), value)
    };
    list.iter().map(field).collect()
}

fn typical() -> Cmcd {
    Cmcd {
        bitrate_kbps: Some(3200),
        top_kbps: Some(6000),
        sufficient_kbps: Some(15_000),
        measured_kbps: Some(25_400),
        buffer: Some(Duration::from_millis(21_300)),
        duration: Some(Duration::from_millis(4004)),
        startup: true,
        starved: true,
        kind: ObjectKind::Video,
    }
}

#[test]
fn the_same_is_read_from_headers_query_and_json() {
    let headers = fields(&[
        ("cmcd-object", "br=3200,d=4004,ot=v,tb=6000"),
        (
            "cmcd-request",
            "bl=21300,dl=18500,mtp=25400,nor=\"../300kbps/track.m4v\",su",
        ),
        (
            "cmcd-session",
            "cid=\"faec5fc2-ac30\",pr=1.08,sf=d,sid=\"6e2fb550\",st=v,v=1",
        ),
        ("cmcd-status", "bs,rtp=15000"),
    ]);
    assert_eq!(Cmcd::of_request(&headers, None), Ok(Some(typical())));

    let query = "a=b&CMCD=bl%3D21300%2Cbr%3D3200%2Cbs%2Ccom.example-hello%3D%22w%22%2Cd%3D4004%2C\
                 mtp%3D25400%2Cot%3Dv%2Crtp%3D15000%2Csu%2Ctb%3D6000&c=d";
    let none = HeaderMap::new();
    assert_eq!(Cmcd::of_request(&none, Some(query)), Ok(Some(typical())));

    let object = r#"{"bl": 21300, "br": 3200, "bs": true, "d": 4004, "mtp": 25400, "ot": "v",
        "rtp": 15000, "su": true, "tb": 6000, "com.example-hello": {"any": ["thing"]}}"#;
    assert_eq!(Cmcd::from_json(object.as_bytes()), Ok(typical()));
}

#[test]
fn the_second_version_has_lists_and_batches() {
    let headers = fields(&[("cmcd-object", "br=(3200;v 128;a), d=4004.4")]);
    let read = Cmcd::of_request(&headers, None).expect("well-formed");
    let read = read.expect("there");
    assert_eq!(read.bitrate_kbps, Some(3200));
    assert_eq!(read.duration, Some(Duration::from_millis(4004)));
    for body in [
        r#"[{"br": 1, "su": true}, {"br": [128, 3200]}]"#,
        "{\"br\": 1, \"su\": true}\n{\"br\": 3200}\n",
    ] {
        let read = Cmcd::from_json(body.as_bytes()).expect("well-formed");
        assert_eq!(
            (read.bitrate_kbps, read.startup),
            (Some(3200), true),
            "{body}"
        );
    }
}

#[test]
fn without_cmcd_there_is_none() {
    let other = fields(&[("priority", "u=1")]);
    for query in [
        None,
        Some(""),
        Some("CMCD"),
        Some("cmcd=br%3D1"),
        Some("XCMCD=1"),
    ] {
        assert_eq!(Cmcd::of_request(&other, query), Ok(None), "{query:?}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let long = format!("br=1,nor=\"{}\"", "x".repeat(LONGEST));
    for (value, error) in [
        ("br=", Malformed::NotADictionary),
        ("br=1,,", Malformed::NotADictionary),
        ("BR=1", Malformed::NotADictionary),
        ("br=9999999999999999", Malformed::NotADictionary),
        ("nor=\"open", Malformed::NotADictionary),
        ("br=-1", Malformed::Key("br")),
        ("br=fast", Malformed::Key("br")),
        ("br=()", Malformed::Key("br")),
        ("br=(1 fast)", Malformed::Key("br")),
        ("bl", Malformed::Key("bl")),
        ("su=1", Malformed::Key("su")),
        ("ot=1", Malformed::Key("ot")),
        (&long, Malformed::TooLong),
    ] {
        let read = Cmcd::of_request(&fields(&[("cmcd-request", value)]), None);
        assert_eq!(read, Err(error), "{value}");
    }
    let none = HeaderMap::new();
    for query in ["CMCD=%ff", "CMCD=br%3D"] {
        let read = Cmcd::of_request(&none, Some(query));
        assert_eq!(read, Err(Malformed::NotADictionary), "{query}");
    }
    let deep = "[".repeat(100_000);
    for (body, error) in [
        ("", Malformed::NotADictionary),
        ("3", Malformed::NotADictionary),
        ("{\"br\": 1", Malformed::NotADictionary),
        (&deep, Malformed::NotADictionary),
        ("{\"br\": -1}", Malformed::Key("br")),
        ("{\"br\": 1e300}", Malformed::Key("br")),
        ("{\"br\": null}", Malformed::Key("br")),
    ] {
        let short = &body[..body.len().min(20)];
        assert_eq!(Cmcd::from_json(body.as_bytes()), Err(error), "{short}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in "((br|bl|su|ot|rtp|mtp|d|x)\
                 (=(-?[0-9]{1,17}([.][0-9]{0,4})?|v|[(\")]|[?]1))?[,; ]?){0,9}",
    ) {
        let _ = Cmcd::from_json(&bytes);
        let mut headers = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_bytes(&bytes) {
            headers.insert("cmcd-request", value);
        }
        let _ = Cmcd::of_request(&headers, None);
        let _ = Cmcd::of_request(&HeaderMap::new(), Some(&format!("CMCD={text}")));
    }

    #[test]
    fn a_rate_that_is_sent_is_read(kbps in 0..=LARGEST) {
        let value = kbps.to_string();
        let headers = fields(&[("cmcd-object", &format!("br={value}"))]);
        let read = Cmcd::of_request(&headers, None).expect("well-formed").expect("there");
        prop_assert_eq!(read.bitrate_kbps, Some(kbps));
        let read = Cmcd::from_json(format!("{{\"br\":{value}}}").as_bytes()).expect("well-formed");
        prop_assert_eq!(read.bitrate_kbps, Some(kbps));
    }
}
