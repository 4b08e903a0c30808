//! The header of a log or of a trace, and what follows from it for the reading of events. Writers
//! differ in units, in names, and in how they write times.

use crate::write::FORMAT;
use imtcp_cc::qlog::SCHEMA_URI;
use serde::Deserialize;
use serde_json::Value;

/// The header, as far as it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The title of the file or of its trace.
    pub title: String,
    /// `client`, `server` or `network`; empty if the header does not say.
    pub vantage_point: String,
    /// Who made the file, as far as that decides what can be done with it.
    pub writer: Writer,
    /// The wall-clock time that times count from, if the header tells it: a time of RFC 3339, or
    /// the milliseconds since 1970 in older files.
    pub reference_time: Option<String>,
}

/// Who made a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writer {
    /// quiche, without anything between it and the file.
    Quiche,
    /// quiche through [`crate::write`].
    Own,
    /// Somebody else.
    #[default]
    Other,
}

/// What a header says.
#[derive(Debug, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) header: Header,
    pub(crate) dialect: Dialect,
    /// What of it cannot be read.
    pub(crate) problem: Option<String>,
}

/// How the events of a trace are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialect {
    /// Milliseconds of a unit of time.
    pub(crate) time_unit: f64,
    /// Milliseconds of a unit of round trips.
    pub(crate) rtt_unit: f64,
    /// Bits per second of a unit of the pacing rate. quiche's own controllers log bytes, those that
    /// are plugged into it log bits.
    pub(crate) pacing_unit: f64,
    /// Whether a time counts from the event before.
    pub(crate) is_delta: bool,
    /// The names of the columns, where an event is an array.
    pub(crate) columns: Vec<String>,
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            time_unit: 1.0,
            rtt_unit: 1.0,
            pacing_unit: 1.0,
            is_delta: false,
            columns: Vec::new(),
        }
    }
}

/// The names of the columns, if a header does not tell them (draft-marx-qlog-main-schema-01).
const COLUMNS: [&str; 4] = ["relative_time", "category", "event", "data"];

#[derive(Default, Deserialize)]
struct Top {
    title: Option<String>,
    file_schema: Option<String>,
    serialization_format: Option<String>,
    qlog_version: Option<Value>,
    qlog_format: Option<String>,
    trace: Option<Trace>,
}

#[derive(Default, Deserialize)]
struct Trace {
    title: Option<String>,
    vantage_point: Option<Value>,
    common_fields: Option<CommonFields>,
    configuration: Option<Configuration>,
    event_fields: Option<Vec<String>>,
    event_schemas: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
struct CommonFields {
    time_format: Option<String>,
    time_units: Option<String>,
    reference_time: Option<Value>,
}

#[derive(Default, Deserialize)]
struct Configuration {
    time_units: Option<String>,
}

/// What a header says: `None` if the text is none, as far as can be told.
pub(crate) fn parse(top: &[u8], trace: Option<&[u8]>) -> Option<Parsed> {
    let mut top: Top = serde_json::from_slice(top).ok()?;
    let is_header = top.file_schema.is_some()
        || top.qlog_version.is_some()
        || top.qlog_format.is_some()
        || top.trace.is_some()
        || trace.is_some();
    if !is_header {
        return None;
    }
    let (trace, problem) = match trace.map(serde_json::from_slice) {
        Some(Ok(trace)) => (trace, None),
        Some(Err(error)) => {
            let problem = format!(
                "the header of the trace cannot be read ({error}); its units are taken to be \
                 milliseconds"
            );
            (Trace::default(), Some(problem))
        }
        None => (top.trace.take().unwrap_or_default(), None),
    };
    Some(Parsed {
        dialect: dialect(&top, &trace),
        header: header(top, trace),
        problem,
    })
}

fn header(top: Top, trace: Trace) -> Header {
    let writer = writer(&top, &trace);
    let vantage_point = match trace.vantage_point {
        Some(Value::String(kind)) => kind,
        Some(point) => text(point.get("type")),
        None => String::new(),
    };
    let common = trace.common_fields.unwrap_or_default();
    Header {
        title: trace.title.or(top.title).unwrap_or_default(),
        vantage_point,
        writer,
        reference_time: common.reference_time.as_ref().and_then(reference_time),
    }
}

fn writer(top: &Top, trace: &Trace) -> Writer {
    let format = top.serialization_format.as_deref();
    let mut schemas = trace.event_schemas.iter().flatten();
    match (&top.file_schema, format) {
        (Some(_), Some("JSON-SEQ")) => Writer::Quiche,
        (Some(_), Some(FORMAT)) if schemas.any(|schema| schema == SCHEMA_URI) => Writer::Own,
        _ => Writer::Other,
    }
}

/// Clocks that do not count from 1970 tell the time of day beside.
fn reference_time(value: &Value) -> Option<String> {
    let named = ["wall_clock_time", "epoch"].map(|name| value.get(name));
    let told = named.into_iter().flatten().chain([value]);
    told.map(|value| text(Some(value)))
        .find(|told| told.starts_with(|c: char| c.is_ascii_digit()))
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn dialect(top: &Top, trace: &Trace) -> Dialect {
    let common = trace.common_fields.as_ref();
    let configured = trace.configuration.as_ref();
    let units = configured
        .and_then(|configuration| configuration.time_units.as_deref())
        .or_else(|| common.and_then(|fields| fields.time_units.as_deref()));
    // picoquic counts everything in microseconds, and says so of times alone.
    let unit = if units == Some("us") { 1e-3 } else { 1.0 };
    let format = common.and_then(|fields| fields.time_format.as_deref());
    // quiche's own controllers log bytes per second.
    let is_quiche = writer(top, trace) == Writer::Quiche;
    Dialect {
        time_unit: unit,
        rtt_unit: unit,
        pacing_unit: if is_quiche { 8.0 } else { 1.0 },
        is_delta: matches!(format, Some("delta" | "relative_to_previous_event")),
        columns: match &trace.event_fields {
            Some(fields) => fields.clone(),
            None => COLUMNS.map(str::to_owned).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(top: &str) -> (Header, Dialect) {
        let parsed = parse(top.as_bytes(), None).expect("it is a header");
        (parsed.header, parsed.dialect)
    }

    #[test]
    fn the_newest_draft_and_quiche_differ_in_the_unit_of_the_pacing_rate() {
        let header = |format: &str| {
            format!(
                "{{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\
                 \"serialization_format\":\"{format}\",\"trace\":{{\"event_schemas\":[\"a\"],\
                 \"vantage_point\":{{\"type\":\"server\"}}}}}}"
            )
        };
        let (said, quiche) = parsed(&header("JSON-SEQ"));
        assert_eq!((said.writer, quiche.pacing_unit), (Writer::Quiche, 8.0));
        let (said, draft) = parsed(&header("application/qlog+json-seq"));
        assert_eq!((draft.pacing_unit, draft.time_unit), (1.0, 1.0));
        assert_eq!(
            (said.vantage_point.as_str(), said.writer),
            ("server", Writer::Other)
        );
    }

    #[test]
    fn older_headers_tell_units_formats_and_columns() {
        let trace = r#"{"vantage_point":{"type":"client"},"configuration":{"time_units":"us"},
            "common_fields":{"ODCID":"ab","time_format":"delta"},
            "event_fields":["time","event_type"]}"#;
        let parsed =
            parse(br#"{"qlog_version":"draft-01"}"#, Some(trace.as_bytes())).expect("a header");
        assert_eq!(
            (parsed.header.vantage_point.as_str(), parsed.problem),
            ("client", None)
        );
        let dialect = parsed.dialect;
        assert!(dialect.is_delta && dialect.time_unit == 1e-3);
        assert_eq!(dialect.columns, ["time", "event_type"]);
    }

    #[test]
    fn a_header_may_tell_the_time_of_day() {
        let told = |reference: &str| {
            let trace = format!(r#"{{"common_fields":{{"reference_time":{reference}}}}}"#);
            let top = br#"{"qlog_version":"0.3"}"#;
            parse(top, Some(trace.as_bytes()))
                .expect("a header")
                .header
                .reference_time
        };
        let monotonic = r#"{"clock_type":"monotonic","epoch":"unknown",
            "wall_clock_time":"2026-11-23T05:00:00Z"}"#;
        assert_eq!(told(monotonic).as_deref(), Some("2026-11-23T05:00:00Z"));
        assert_eq!(told("1795410000000.5").as_deref(), Some("1795410000000.5"));
        assert_eq!(told(r#"{"epoch":"unknown"}"#), None);
        assert_eq!(told("null"), None);
    }

    #[test]
    fn an_event_is_no_header() {
        assert_eq!(
            parse(br#"{"time":1,"name":"quic:packet_sent"}"#, None),
            None
        );
        assert_eq!(parse(b"[1]", None), None);
    }
}
