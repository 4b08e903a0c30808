//! The header, to the letter of draft-ietf-quic-qlog-main-schema-15.

use imtcp_cc::qlog::SCHEMA_URI;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The media type of a text sequence (section 11.2). quiche writes another name.
pub(crate) const FORMAT: &str = "application/qlog+json-seq";

/// The schema that quiche names, and the newest draft of the same events. Nothing of what quiche
/// writes has changed in between.
const QUIC: (&str, &str) = (
    "urn:ietf:params:qlog:events:quic-12",
    "urn:ietf:params:qlog:events:quic-14",
);

/// In this order: schema and format belong into the first 256 bytes (section 3).
#[derive(Deserialize, Serialize)]
struct Header {
    file_schema: String,
    serialization_format: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    trace: Trace,
}

#[derive(Deserialize, Serialize)]
struct Trace {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    common_fields: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vantage_point: Option<Value>,
    event_schemas: Vec<String>,
}

/// The record of quiche's header, made conformant. What is no header of quiche's stays as it is.
pub(super) fn conformant(record: &[u8]) -> Vec<u8> {
    rewritten(record).unwrap_or_else(|| record.to_vec())
}

fn rewritten(record: &[u8]) -> Option<Vec<u8>> {
    let text = record.strip_prefix(b"\x1e").unwrap_or(record);
    let mut header: Header = serde_json::from_slice(text).ok()?;
    FORMAT.clone_into(&mut header.serialization_format);
    // Titles say the same twice, and long ones would push the schema out of its place.
    let (title, description) = (header.title.take(), header.description.take());
    header.trace.title = header.trace.title.or(title).filter(|text| !text.is_empty());
    header.trace.description = header
        .trace
        .description
        .or(description)
        .filter(|text| !text.is_empty());
    let schemas = &mut header.trace.event_schemas;
    for schema in &mut *schemas {
        if schema == QUIC.0 {
            QUIC.1.clone_into(schema);
        }
    }
    if !schemas.iter().any(|schema| schema == SCHEMA_URI) {
        schemas.push(SCHEMA_URI.to_owned());
    }
    let mut rewritten = vec![0x1e];
    serde_json::to_writer(&mut rewritten, &header).ok()?;
    rewritten.push(b'\n');
    Some(rewritten)
}
