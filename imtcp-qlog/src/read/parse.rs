//! From the text of a record to its time, name and data.

use super::header::Dialect;
use super::record::Number;
use serde::Deserialize;
use serde::de;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A record before its place and time are known.
pub(super) struct Raw<'r> {
    pub(super) time: f64,
    pub(super) name: Cow<'r, str>,
    pub(super) data: &'r [u8],
}

/// Reads a record. One that nothing follows is checked to its end, because it may be cut off.
pub(super) fn parse<'r>(
    text: &'r [u8],
    is_open: bool,
    dialect: &Dialect,
) -> Result<Raw<'r>, serde_json::Error> {
    if text.first() == Some(&b'[') {
        return columns(text, dialect);
    }
    match quick(text) {
        Some(raw) if !is_open => Ok(raw),
        _ => members(text),
    }
}

/// A record of the shape that most writers have: `{"time":T,"name":"N","data":{...}}`. The data is
/// not looked at, so this says nothing of whether it is JSON. Nor does it see where the data ends:
/// members behind it, the last of which is an object, are taken for a part of it.
fn quick(text: &[u8]) -> Option<Raw<'_>> {
    let rest = text.strip_prefix(b"{\"time\":")?;
    let comma = rest.iter().take(40).position(|byte| *byte == b',')?;
    let time: f64 = std::str::from_utf8(&rest[..comma]).ok()?.parse().ok()?;
    // What JSON has no number for is damage, and is told as such.
    if !time.is_finite() {
        return None;
    }
    let rest = rest[comma..].strip_prefix(b",\"name\":\"")?;
    let quote = rest.iter().take(80).position(|byte| *byte == b'"')?;
    let name = std::str::from_utf8(&rest[..quote]).ok()?;
    let data = rest[quote..]
        .strip_prefix(b"\",\"data\":")?
        .strip_suffix(b"}")?;
    let is_object = data.first() == Some(&b'{') && data.last() == Some(&b'}');
    (is_object && !name.contains('\\')).then_some(Raw {
        time,
        name: Cow::Borrowed(name),
        data,
    })
}

#[derive(Deserialize)]
struct Members<'r> {
    time: Number,
    #[serde(borrow)]
    name: Option<Cow<'r, str>>,
    #[serde(borrow)]
    category: Option<Cow<'r, str>>,
    /// What the event is called behind its category. Drafts and writers differ, and some write two
    /// of these: then the first one counts.
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'r, str>>,
    #[serde(borrow)]
    event_type: Option<Cow<'r, str>>,
    #[serde(borrow)]
    event: Option<Cow<'r, str>>,
    #[serde(borrow)]
    data: Option<&'r RawValue>,
}

fn members(text: &[u8]) -> Result<Raw<'_>, serde_json::Error> {
    let members: Members<'_> = serde_json::from_slice(text)?;
    let event = members.kind.or(members.event_type).or(members.event);
    let name = match (members.name, members.category, event) {
        (Some(name), ..) => name,
        (None, Some(category), Some(event)) => Cow::Owned(format!("{category}:{event}")),
        _ => return Err(de::Error::missing_field("name")),
    };
    Ok(Raw {
        time: members.time.0,
        name,
        data: members.data.map_or(b"{}", |data| data.get().as_bytes()),
    })
}

/// An event whose members stand in columns, as in the oldest drafts.
fn columns<'r>(text: &'r [u8], dialect: &Dialect) -> Result<Raw<'r>, serde_json::Error> {
    let values: Vec<&'r RawValue> = serde_json::from_slice(text)?;
    let value = |names: &[&str]| {
        let is_named = |column: &String| names.contains(&column.to_ascii_lowercase().as_str());
        let at = dialect.columns.iter().position(is_named)?;
        values.get(at).copied()
    };
    let text_of = |names: &[&str]| -> Result<Option<Cow<'r, str>>, serde_json::Error> {
        value(names)
            .map(|value| serde_json::from_str(value.get()))
            .transpose()
    };
    let time = value(&["relative_time", "delta_time", "time", "reference_time"])
        .ok_or_else(|| de::Error::missing_field("time"))?;
    let time: Number = serde_json::from_str(time.get())?;
    let name = match (
        text_of(&["category"])?,
        text_of(&["event", "event_type", "name", "type"])?,
    ) {
        (Some(category), Some(event)) => Cow::Owned(format!("{category}:{event}")),
        (None, Some(name)) => name,
        _ => return Err(de::Error::missing_field("event")),
    };
    Ok(Raw {
        time: time.0,
        name,
        data: value(&["data"]).map_or(b"{}", |data| data.get().as_bytes()),
    })
}
