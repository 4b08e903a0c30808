//! What the player says of itself with each request (CTA-5004), in header fields or in the query.

use super::options::Dialect;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sfv::{DictSerializer, Integer, KeyRef, RefBareItem, StringRef, TokenRef};
use std::time::Duration;

/// The throughput that suffices, in bit rates: enough to fill the buffer.
const SUFFICIENT: u64 = 3;

/// What does not change while a title plays.
#[derive(Clone, Debug)]
pub struct Viewing {
    /// `sid`: this session.
    pub session: String,
    /// `cid`: what is played.
    pub content: String,
    /// `sf`: `d` for DASH, `h` for HLS.
    pub format: &'static str,
}

/// What a request is for, and how the player does.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// `ot`: `m` a manifest, `i` an initialisation, `v` video, `av` video with sound.
    pub kind: &'static str,
    /// `br`, in bit/s.
    pub bitrate_bps: Option<u64>,
    /// `tb`: the highest bit rate of the title.
    pub top_bps: Option<u64>,
    /// `d`: how long the object plays.
    pub duration: Option<Duration>,
    /// `bl`: what is in the buffer.
    pub buffer: Option<Duration>,
    /// `mtp`: the throughput as measured.
    pub measured_bps: Option<f64>,
    /// `su`: the viewer waits.
    pub startup: bool,
    /// `bs`: the buffer ran empty since the last request.
    pub starved: bool,
}

impl Needs {
    /// Of a small object: nothing but its kind, and that the viewer waits for it.
    pub fn small(kind: &'static str) -> Self {
        Self {
            kind,
            bitrate_bps: None,
            top_bps: None,
            duration: None,
            buffer: None,
            measured_bps: None,
            startup: true,
            starved: false,
        }
    }

    /// The header fields, and what is added to the query.
    pub fn written(
        &self,
        viewing: &Viewing,
        dialect: Dialect,
    ) -> (Vec<(&'static str, String)>, Option<String>) {
        let (object, request, session, status) =
            (self.object(), self.request(), viewing.keys(), self.status());
        match dialect {
            Dialect::Off => (Vec::new(), None),
            Dialect::Header => {
                let fields = [
                    ("cmcd-object", object),
                    ("cmcd-request", request),
                    ("cmcd-session", session),
                    ("cmcd-status", status),
                ];
                let written = fields.into_iter();
                let written = written.filter_map(|(name, keys)| Some((name, dictionary(keys)?)));
                (written.collect(), None)
            }
            Dialect::Query => {
                let mut keys = [object, request, session, status].concat();
                keys.sort_by_key(|(key, _)| *key);
                let text = dictionary(keys).unwrap_or_default();
                let encoded = utf8_percent_encode(&text, NON_ALPHANUMERIC);
                (Vec::new(), Some(format!("CMCD={encoded}")))
            }
        }
    }

    fn object(&self) -> Vec<(&'static str, Value)> {
        let kbps = |bps: u64| Value::Number(bps.div_ceil(1000));
        let mut keys = vec![("ot", Value::Word(self.kind))];
        keys.extend(self.bitrate_bps.map(|bps| ("br", kbps(bps))));
        keys.extend(self.duration.map(|span| ("d", Value::Number(ms(span)))));
        keys.extend(self.top_bps.map(|bps| ("tb", kbps(bps))));
        keys
    }

    fn request(&self) -> Vec<(&'static str, Value)> {
        let mut keys = Vec::new();
        let level = self.buffer.map(ms);
        keys.extend(level.map(|level| ("bl", Value::Number(hundreds(level)))));
        let measured = self.measured_bps.map(|bps| (bps / 1e5).round());
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no rate is")]
        keys.extend(measured.map(|tenths| ("mtp", Value::Number(tenths as u64 * 100))));
        keys.extend(self.startup.then_some(("su", Value::Yes)));
        keys
    }

    fn status(&self) -> Vec<(&'static str, Value)> {
        let sufficient = self
            .bitrate_bps
            .map(|bps| (bps * SUFFICIENT).div_ceil(100_000) * 100);
        let mut keys = Vec::new();
        keys.extend(self.starved.then_some(("bs", Value::Yes)));
        keys.extend(sufficient.map(|kbps| ("rtp", Value::Number(kbps))));
        keys
    }
}

impl Viewing {
    fn keys(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("cid", Value::Text(self.content.clone())),
            ("sf", Value::Word(self.format)),
            ("sid", Value::Text(self.session.clone())),
            ("st", Value::Word("v")),
        ]
    }
}

/// A value of a key.
#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    Word(&'static str),
    Text(String),
    /// A key without a value is true, and false ones are not sent.
    Yes,
}

/// Keys that CTA-5004 has no value for are left out.
fn dictionary(keys: Vec<(&'static str, Value)>) -> Option<String> {
    let mut written = DictSerializer::new();
    for (key, value) in &keys {
        let item = match value {
            Value::Number(number) => Integer::try_from(*number).ok().map(RefBareItem::from),
            Value::Word(word) => TokenRef::from_str(word).ok().map(RefBareItem::from),
            Value::Text(text) => StringRef::from_str(text).ok().map(RefBareItem::from),
            Value::Yes => Some(RefBareItem::from(true)),
        };
        if let Some(item) = item {
            let _ = written.bare_item(KeyRef::constant(key), item);
        }
    }
    written.finish()
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The standard wants `bl` in steps of 100.
fn hundreds(number: u64) -> u64 {
    number.saturating_add(50) / 100 * 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::required::Cmcd;
    use http::{HeaderMap, HeaderValue};

    fn both() -> (Viewing, Needs) {
        let viewing = Viewing {
            session: "0001".to_owned(),
            content: "title".to_owned(),
            format: "d",
        };
        let needs = Needs {
            kind: "v",
            bitrate_bps: Some(2_000_000),
            top_bps: Some(4_000_000),
            duration: Some(Duration::from_secs(2)),
            buffer: Some(Duration::from_millis(7_960)),
            measured_bps: Some(17_340_000.0),
            startup: false,
            starved: true,
        };
        (viewing, needs)
    }

    #[test]
    fn the_fields_are_those_of_the_standard() {
        let (viewing, needs) = both();
        let (fields, query) = needs.written(&viewing, Dialect::Header);
        let expected = [
            ("cmcd-object", "ot=v, br=2000, d=2000, tb=4000"),
            ("cmcd-request", "bl=8000, mtp=17300"),
            ("cmcd-session", "cid=\"title\", sf=d, sid=\"0001\", st=v"),
            ("cmcd-status", "bs, rtp=6000"),
        ];
        let expected = expected.map(|(name, value)| (name, value.to_owned()));
        assert_eq!((fields, query), (expected.to_vec(), None));
        assert_eq!(needs.written(&viewing, Dialect::Off), (Vec::new(), None));
    }

    #[test]
    fn the_server_reads_the_same_in_either_dialect() {
        let (viewing, needs) = both();
        let mut map = HeaderMap::new();
        for (name, value) in needs.written(&viewing, Dialect::Header).0 {
            map.insert(name, HeaderValue::from_str(&value).expect("a value"));
        }
        let by_fields = Cmcd::of_request(&map, None)
            .expect("well formed")
            .expect("some");
        let query = needs.written(&viewing, Dialect::Query).1;
        let by_query = Cmcd::of_request(&HeaderMap::new(), query.as_deref());
        assert_eq!(by_query, Ok(Some(by_fields)));
        assert_eq!(by_fields.bitrate_kbps, Some(2000));
        assert_eq!(by_fields.buffer, Some(Duration::from_secs(8)));
        assert!(by_fields.starved && !by_fields.startup);
    }
}
