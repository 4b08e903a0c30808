use super::*;

fn manifest(attributes: &str, segments: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" {attributes}>\
         <BaseURL>b/</BaseURL><Period><AdaptationSet contentType=\"audio\">\
         <Representation id=\"s\" bandwidth=\"1\"/></AdaptationSet>\
         <AdaptationSet contentType=\"video\">{segments}\
         <Representation id=\"hi\" bandwidth=\"900\"/><Representation id=\"lo\" bandwidth=\"300\"/>\
         </AdaptationSet></Period></MPD>"
    )
}

fn parsed(attributes: &str, segments: &str) -> Result<Presentation> {
    let base = Url::parse("https://127.0.0.1:4433/a/manifest.mpd").expect("an address");
    read(&manifest(attributes, segments), &base)
}

const LONG: &str = "type=\"static\" mediaPresentationDuration=\"PT5S\"";

#[test]
fn a_template_with_one_duration_ends_with_the_title() {
    let template = "<SegmentTemplate timescale=\"10\" duration=\"20\" startNumber=\"7\" \
                    media=\"$RepresentationID$-$Number%03d$.m4s\" \
                    initialization=\"$RepresentationID$.mp4\"/>";
    let title = parsed(LONG, template).expect("a title");
    assert_eq!(title.ladder(), [300, 900]);
    let low = &title.qualities[0];
    assert_eq!(low.start.as_ref().expect("a start").path(), "/a/b/lo.mp4");
    let segments: Vec<_> = low
        .segments
        .iter()
        .map(|one| (one.url.path(), one.duration))
        .collect();
    let s = Duration::from_secs;
    let expected = [
        ("/a/b/lo-007.m4s", s(2)),
        ("/a/b/lo-008.m4s", s(2)),
        ("/a/b/lo-009.m4s", s(1)),
    ];
    assert_eq!(segments, expected);
}

#[test]
fn a_timeline_repeats_and_names_by_time() {
    let template = "<SegmentTemplate timescale=\"1\" media=\"$Bandwidth$/$Time$$$.m4s\">\
                    <SegmentTimeline><S t=\"0\" d=\"1\" r=\"1\"/><S d=\"2\" r=\"-1\"/>\
                    </SegmentTimeline></SegmentTemplate>";
    let title = parsed(LONG, template).expect("a title");
    let paths: Vec<_> = title.qualities[1]
        .segments
        .iter()
        .map(|one| one.url.path())
        .collect();
    let expected = [
        "/a/b/900/0$.m4s",
        "/a/b/900/1$.m4s",
        "/a/b/900/2$.m4s",
        "/a/b/900/4$.m4s",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn what_cannot_be_played_is_said() {
    let many = "<SegmentTemplate timescale=\"1\" media=\"$Time$\"><SegmentTimeline>\
                <S t=\"0\" d=\"1\" r=\"900000000000\"/></SegmentTimeline></SegmentTemplate>";
    for (attributes, segments, expected) in [
        ("type=\"dynamic\"", "", "is live"),
        (LONG, "", "files of their own"),
        (LONG, "<SegmentTemplate duration=\"2\"/>", "no `media`"),
        (
            LONG,
            "<SegmentTemplate media=\"$Number$\"/>",
            "neither a timeline nor",
        ),
        (
            "",
            "<SegmentTemplate media=\"$Number$\" duration=\"2\"/>",
            "how long the title is",
        ),
        (
            LONG,
            "<SegmentTemplate media=\"$Number$\" duration=\"0\"/>",
            "impossible duration",
        ),
        (
            LONG,
            "<SegmentTemplate media=\"$N$\" duration=\"2\"/>",
            "no place holder",
        ),
        (
            LONG,
            "<SegmentTemplate media=\"$Number%999d$\" duration=\"2\"/>",
            "no place holder",
        ),
        (
            LONG,
            "<SegmentTemplate media=\"a\" duration=\"2\" timescale=\"0\"/>",
            "timescale is 0",
        ),
        (LONG, many, "too many segments"),
        (
            LONG,
            "<SegmentTemplate media=\"$Number$\" duration=\"2\" \
             startNumber=\"18446744073709551615\"/>",
            "impossible `startNumber`",
        ),
        (
            "mediaPresentationDuration=\"PT9999H\"",
            "<SegmentTemplate media=\"$Number$\" duration=\"9999\"/>",
            "more than an hour",
        ),
        ("oops", "", "is no DASH manifest"),
    ] {
        let error = format!("{:#}", parsed(attributes, segments).expect_err(expected));
        assert!(error.contains(expected), "{error}");
    }
}
