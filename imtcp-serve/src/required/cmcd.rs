//! Common Media Client Data (CTA-5004, and its second version CTA-5004-A): what a player says of
//! itself with each request.
//!
//! A player sends it in up to four header fields, in a query argument `CMCD`, or as JSON in a
//! request of its own. The first two are dictionaries of structured fields (RFC 9651).

use http::HeaderMap;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use sfv::{BareItem, Dictionary, ListEntry, Parser};
use std::fmt;
use std::time::Duration;

/// The header fields. Which key stands in which does not matter to a reader.
const FIELDS: [&str; 4] = ["cmcd-object", "cmcd-request", "cmcd-session", "cmcd-status"];

/// The query argument.
const ARGUMENT: &str = "CMCD";

/// No player says more than this in one place. A longer value is not read.
const LONGEST: usize = 8192;

/// What a server can act upon. Every key is optional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cmcd {
    /// `br`: the encoded bit rate of the object, in kbit/s.
    pub bitrate_kbps: Option<u64>,
    /// `rtp`: the throughput that the player calls sufficient, in kbit/s.
    pub sufficient_kbps: Option<u64>,
    /// `tb`: the highest bit rate of the title that the player plays, in kbit/s.
    pub top_kbps: Option<u64>,
    /// `mtp`: the throughput that the player has measured, in kbit/s.
    pub measured_kbps: Option<u64>,
    /// `bl`: what the player has in its buffer.
    pub buffer: Option<Duration>,
    /// `d`: how long the object plays.
    pub duration: Option<Duration>,
    /// `su`: the player starts, seeks or recovers, and waits for this object.
    pub startup: bool,
    /// `bs`: the buffer ran empty since the last request.
    pub starved: bool,
    /// `ot`: what the object is.
    pub kind: ObjectKind,
}

/// `ot`: kinds of objects that are fetched side by side, and so need their rates at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// `v`.
    Video,
    /// `a`.
    Audio,
    /// `av`, one object for both, or not told.
    #[default]
    Both,
    /// Manifests, captions, keys and the like. They are small, and nothing is required for them.
    Other,
}

/// Why CMCD was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A value is longer than any player's.
    TooLong,
    /// It is no dictionary, and no object of JSON.
    NotADictionary,
    /// A key that is used here has a value of another type, or one out of bounds.
    Key(&'static str),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "CMCD of more than {LONGEST} bytes"),
            Self::NotADictionary => f.write_str("CMCD that is neither a dictionary nor JSON"),
            Self::Key(key) => write!(f, "CMCD with an impossible value of `{key}`"),
        }
    }
}

/// A value in either notation, as far as it is used here.
enum Raw<'v> {
    Number(u64),
    Flag(bool),
    Word(&'v str),
    Impossible,
}

impl Cmcd {
    /// Reads what came with a request: all header fields, and the query argument. `None` if there
    /// is none.
    ///
    /// # Errors
    /// One of them is malformed. A player that gets one wrong is not trusted with the others.
    pub fn of_request(fields: &HeaderMap, query: Option<&str>) -> Result<Option<Self>, Malformed> {
        let mut found = None;
        for name in FIELDS {
            for value in fields.get_all(name) {
                let text = value.to_str().map_err(|_| Malformed::NotADictionary)?;
                found.get_or_insert_with(Self::default).read_fields(text)?;
            }
        }
        for value in arguments(query.unwrap_or("")) {
            let text = percent_decode_str(value).decode_utf8();
            let text = text.map_err(|_| Malformed::NotADictionary)?;
            found.get_or_insert_with(Self::default).read_fields(&text)?;
        }
        Ok(found)
    }

    /// Reads JSON: an object, an array of objects, or one object a line. Later ones overrule.
    ///
    /// # Errors
    /// It is not JSON, or a key that is used here has an impossible value.
    pub fn from_json(body: &[u8]) -> Result<Self, Malformed> {
        let mut read = Self::default();
        let mut count = 0;
        for value in serde_json::Deserializer::from_slice(body).into_iter::<Value>() {
            match value.map_err(|_| Malformed::NotADictionary)? {
                Value::Array(list) => {
                    for value in &list {
                        read.read_object(value)?;
                    }
                }
                value => read.read_object(&value)?,
            }
            count += 1;
        }
        match count {
            0 => Err(Malformed::NotADictionary),
            _ => Ok(read),
        }
    }

    fn read_fields(&mut self, text: &str) -> Result<(), Malformed> {
        if text.len() > LONGEST {
            return Err(Malformed::TooLong);
        }
        let parsed = Parser::new(text).parse::<Dictionary>();
        for (key, entry) in &parsed.map_err(|_| Malformed::NotADictionary)? {
            self.read(key.as_str(), &of_entry(entry))?;
        }
        Ok(())
    }

    fn read_object(&mut self, value: &Value) -> Result<(), Malformed> {
        let object = value.as_object().ok_or(Malformed::NotADictionary)?;
        for (key, value) in object {
            self.read(key, &of_json(value))?;
        }
        Ok(())
    }

    fn read(&mut self, key: &str, raw: &Raw<'_>) -> Result<(), Malformed> {
        let number = |key| match raw {
            Raw::Number(number) => Ok(Some(*number)),
            _ => Err(Malformed::Key(key)),
        };
        let span = |key| Ok(number(key)?.map(Duration::from_millis));
        let flag = |key| match raw {
            Raw::Flag(flag) => Ok(*flag),
            _ => Err(Malformed::Key(key)),
        };
        match key {
            "br" => self.bitrate_kbps = number("br")?,
            "tb" => self.top_kbps = number("tb")?,
            "rtp" => self.sufficient_kbps = number("rtp")?,
            "mtp" => self.measured_kbps = number("mtp")?,
            "bl" => self.buffer = span("bl")?,
            "d" => self.duration = span("d")?,
            "su" => self.startup = flag("su")?,
            "bs" => self.starved = flag("bs")?,
            "ot" => self.kind = kind(raw)?,
            _ => {}
        }
        Ok(())
    }
}

/// The values of the argument in a query.
fn arguments(query: &str) -> impl Iterator<Item = &str> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter_map(|(name, value)| (name == ARGUMENT).then_some(value))
}

/// Numbers count from 0. A decimal is rounded: some players send them. The second version of CMCD
/// has lists, one value for each track; the largest counts.
fn of_entry(entry: &ListEntry) -> Raw<'_> {
    match entry {
        ListEntry::Item(item) => of_item(&item.bare_item),
        ListEntry::InnerList(list) => {
            let values = list.items.iter().map(|item| of_item(&item.bare_item));
            let numbers = values.map(|value| match value {
                Raw::Number(number) => Some(number),
                _ => None,
            });
            let largest = numbers.collect::<Option<Vec<_>>>();
            let largest = largest.and_then(|numbers| numbers.into_iter().max());
            largest.map_or(Raw::Impossible, Raw::Number)
        }
    }
}

fn of_item(item: &BareItem) -> Raw<'_> {
    match item {
        BareItem::Integer(number) => of_signed(i64::from(*number)),
        BareItem::Decimal(number) => of_signed(f64_rounded(f64::from(*number))),
        BareItem::Boolean(flag) => Raw::Flag(*flag),
        BareItem::Token(word) => Raw::Word(word.as_str()),
        BareItem::String(word) => Raw::Word(word.as_str()),
        _ => Raw::Impossible,
    }
}

fn of_json(value: &Value) -> Raw<'_> {
    match value {
        Value::Bool(flag) => Raw::Flag(*flag),
        Value::String(word) => Raw::Word(word),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(number), _) if number <= LARGEST => Raw::Number(number),
            (None, Some(number)) => of_signed(f64_rounded(number)),
            _ => Raw::Impossible,
        },
        Value::Array(list) => list.iter().fold(Raw::Impossible, |best, value| {
            match (best, of_json(value)) {
                (Raw::Number(a), Raw::Number(b)) => Raw::Number(a.max(b)),
                (_, value @ Raw::Number(_)) => value,
                (best, _) => best,
            }
        }),
        _ => Raw::Impossible,
    }
}

/// The largest integer of a structured field; JSON may have no larger one either.
const LARGEST: u64 = 999_999_999_999_999;

fn of_signed(number: i64) -> Raw<'static> {
    match u64::try_from(number) {
        Ok(number) if number <= LARGEST => Raw::Number(number),
        _ => Raw::Impossible,
    }
}

/// -1 for what is no number of this field.
#[allow(clippy::cast_possible_truncation, reason = "checked to lie far inside")]
fn f64_rounded(number: f64) -> i64 {
    match number.is_finite() && (0.0..1e15).contains(&number) {
        true => number.round() as i64,
        false => -1,
    }
}

/// Kinds that are not known yet count as small.
fn kind(raw: &Raw<'_>) -> Result<ObjectKind, Malformed> {
    match raw {
        Raw::Word("v") => Ok(ObjectKind::Video),
        Raw::Word("a") => Ok(ObjectKind::Audio),
        Raw::Word("av") => Ok(ObjectKind::Both),
        Raw::Word(_) => Ok(ObjectKind::Other),
        _ => Err(Malformed::Key("ot")),
    }
}

#[cfg(test)]
#[path = "cmcd_tests.rs"]
mod tests;
