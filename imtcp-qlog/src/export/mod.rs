//! A log as a table for other programs: one row for each value that the log tells, in the order of
//! the log. `docs/export.md` documents the columns.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

pub use self::csv::CsvRows;
#[cfg(feature = "parquet")]
pub use self::parquet::ParquetRows;

use crate::error::Error;
use crate::read::{Kind, Log, Record};
use imtcp_cc::qlog::CORE_INPUT;
use serde_json::Value;
use std::io;
use std::ops::ControlFlow;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'r> {
    /// Milliseconds since the beginning of the log.
    pub time_ms: f64,
    /// The event, with its namespace, by the name that the newest draft gives it.
    pub event: &'r str,
    /// What the value is.
    pub series: &'r str,
    /// A number: bytes, bits per second, milliseconds, or a count.
    pub value: Option<f64>,
    /// What is no number.
    pub text: Option<&'r str>,
}

/// Takes rows.
pub trait Rows {
    /// Takes a row.
    ///
    /// # Errors
    /// The output fails.
    fn row(&mut self, row: &Row<'_>) -> io::Result<()>;

    /// There are no more rows.
    ///
    /// # Errors
    /// The output fails.
    fn finish(self) -> io::Result<()>;
}

/// Exports a log to its end. Returns the number of rows.
///
/// # Errors
/// The input fails. The inner result is the output's.
pub fn export(log: &mut Log, mut rows: impl Rows) -> Result<io::Result<u64>, Error> {
    let mut outcome = Ok(0);
    log.for_each_until(|record| {
        let Ok(count) = &mut outcome else {
            return Ok(ControlFlow::Break(()));
        };
        let mut emit = |row: &Row<'_>| {
            *count += 1;
            rows.row(row)
        };
        if let Err(error) = visit(record, &mut emit).map_err(|error| error.to_string())? {
            outcome = Err(error);
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(outcome.and_then(|count| rows.finish().map(|()| count)))
}

type Emit<'e> = &'e mut dyn FnMut(&Row<'_>) -> io::Result<()>;

fn visit(record: &Record<'_>, emit: Emit<'_>) -> Result<io::Result<()>, serde_json::Error> {
    let (time_ms, name) = (record.time_ms, canonical(record));
    let numbers = |values: &[(&str, Option<f64>)], emit: Emit<'_>| -> io::Result<()> {
        for (series, value) in values {
            if value.is_some() {
                emit(&Row {
                    time_ms,
                    event: name,
                    series,
                    value: *value,
                    text: None,
                })?;
            }
        }
        Ok(())
    };
    Ok(match record.kind {
        Kind::PacketSent | Kind::PacketReceived | Kind::PacketLost => {
            let packet = record.packet()?;
            let number = packet.number.map(|number| number as f64);
            let length = (packet.length > 0).then_some(packet.length as f64);
            numbers(&[("packet_number", number), ("length", length)], emit)
        }
        Kind::Metrics => {
            let metrics = record.metrics()?;
            let values: Vec<_> = metrics
                .values()
                .map(|(name, value)| (name, Some(value)))
                .collect();
            numbers(&values, emit)
        }
        Kind::Imtcp if record.name == CORE_INPUT => Ok(()),
        Kind::State | Kind::Imtcp => members(record, name, emit)?,
        Kind::Other => Ok(()),
    })
}

/// The members of an event's data, a row each. A list is one text.
fn members(
    record: &Record<'_>,
    event: &str,
    emit: Emit<'_>,
) -> Result<io::Result<()>, serde_json::Error> {
    let data: serde_json::Map<String, Value> = record.data()?;
    let mut names: Vec<&String> = data.keys().collect();
    names.sort();
    for name in names {
        let (value, text) = match &data[name] {
            Value::Null => continue,
            Value::Number(number) => (number.as_f64(), None),
            Value::Bool(is_set) => (Some(f64::from(u8::from(*is_set))), None),
            Value::String(text) => (None, Some(text.clone())),
            other => (None, Some(other.to_string())),
        };
        let outcome = emit(&Row {
            time_ms: record.time_ms,
            event,
            series: name,
            value,
            text: text.as_deref(),
        });
        if outcome.is_err() {
            return Ok(outcome);
        }
    }
    Ok(Ok(()))
}

/// The name that the newest draft gives to an event.
fn canonical<'r>(record: &'r Record<'_>) -> &'r str {
    match record.kind {
        Kind::PacketSent => "quic:packet_sent",
        Kind::PacketReceived => "quic:packet_received",
        Kind::PacketLost => "quic:packet_lost",
        Kind::Metrics => "quic:recovery_metrics_updated",
        Kind::State => "quic:congestion_state_updated",
        Kind::Imtcp | Kind::Other => &record.name,
    }
}
