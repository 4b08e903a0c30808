//! What the controller logs, as qlog has it: the events of the namespace `imtcp`, their names and
//! their data. `docs/qlog-imtcp.cddl` documents them.
//!
//! The same functions serve whoever writes a log and whoever reads it, so that the two agree.

mod config;
mod event;
mod input;
mod stream;

pub use config::{Parameters, parameters, parse_mode, parse_parameters};
pub use input::{BadRecord, input, parse_input};

use crate::log::Logged;
use serde_json::Value;
use std::time::Duration;

/// The schema of the namespace, for `event_schemas` in the header of a log
/// (draft-ietf-quic-qlog-main-schema-15, section 8.1). It names no page. The domain is one that
/// nobody can own (RFC 2606), so it never changes hands.
pub const SCHEMA_URI: &str = "https://imtcp-cc.example/112026/imtcp";

/// The name of the event that [`parameters`] makes.
pub const PARAMETERS_SET: &str = "imtcp:parameters_set";

/// The name of the event that [`input`] makes.
pub const CORE_INPUT: &str = "imtcp:core_input";

/// The name and the data of an entry of the log. Rates are in bits per second and spans in
/// milliseconds, as in qlog's main schema.
pub fn record(entry: &Logged) -> (&'static str, Value) {
    match entry {
        Logged::Event(event) => event::record(event),
        Logged::Stream(report) => stream::record(report),
    }
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
