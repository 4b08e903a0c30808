//! The controller's events one by one, as CSV.

use crate::Error;
use crate::read::{Kind, Log, Record};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// The event that feeds a replay.
const INPUT: &str = "core_input";

/// The events of the namespace `imtcp`, with all their fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The fields' names, in the order in which they were first seen.
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    time_ms: f64,
    name: String,
    data: Map<String, Value>,
}

impl Table {
    /// Reads a log to its end. Events that only a replay needs are left out.
    ///
    /// # Errors
    /// The input fails, or a record is damaged and the log is strict.
    pub fn of(log: &mut Log) -> Result<Self, Error> {
        let mut table = Self::default();
        log.for_each(|record| match (record.kind, record.event()) {
            (Kind::Imtcp, event) if event != INPUT => {
                table.add(record).map_err(|error| error.to_string())
            }
            _ => Ok(()),
        })?;
        Ok(table)
    }

    fn add(&mut self, record: &Record<'_>) -> Result<(), serde_json::Error> {
        let data: Map<String, Value> = record.data()?;
        let mut fields: Vec<&String> = data.keys().collect();
        // serde_json keeps the file's order only if another crate in the build asks for that.
        fields.sort();
        for field in fields {
            if !self.columns.contains(field) {
                self.columns.push(field.clone());
            }
        }
        self.rows.push(Row {
            time_ms: record.time_ms,
            name: record.event().to_owned(),
            data,
        });
        Ok(())
    }

    /// Writes a header and a row for each event.
    ///
    /// # Errors
    /// The output fails.
    pub fn write(&self, output: impl Write) -> io::Result<()> {
        self.write_rows(output).map_err(system_error)
    }

    fn write_rows(&self, output: impl Write) -> csv::Result<()> {
        let mut csv = csv::Writer::from_writer(output);
        let fields = self.columns.iter().map(String::as_str);
        csv.write_record(["time_ms", "event"].into_iter().chain(fields))?;
        for row in &self.rows {
            let fixed = [row.time_ms.to_string(), row.name.clone()];
            let fields = self.columns.iter().map(|column| cell(row.data.get(column)));
            csv.write_record(fixed.into_iter().chain(fields))?;
        }
        Ok(csv.flush()?)
    }
}

/// The system's own error behind one of CSV's, so that a closed pipe is told from a full disk.
pub(crate) fn system_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(elements)) => {
            let elements: Vec<_> = elements.iter().map(|e| cell(Some(e))).collect();
            elements.join(" ")
        }
        Some(other) => other.to_string(),
    }
}
