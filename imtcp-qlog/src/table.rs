//! The controller's events one by one, as CSV.

use crate::Error;
use crate::event::{Event, Log};
use serde_json::{Map, Value};
use std::io::{self, BufRead, Write};

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
    /// Reads a log to its end.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn of<R: BufRead>(log: &mut Log<R>) -> Result<Self, Error> {
        let mut table = Self::default();
        while let Some(logged) = log.next_event()? {
            if let Event::Imtcp(name, data) = logged.event {
                let mut fields: Vec<&String> = data.keys().collect();
                // serde_json keeps the file's order only if another crate in the build asks for
                // that.
                fields.sort();
                for field in fields {
                    if !table.columns.contains(field) {
                        table.columns.push(field.clone());
                    }
                }
                table.rows.push(Row {
                    time_ms: logged.time_ms,
                    name,
                    data,
                });
            }
        }
        Ok(table)
    }

    /// Writes a header and a row for each event.
    ///
    /// # Errors
    /// The output fails.
    pub fn write(&self, output: impl Write) -> io::Result<()> {
        self.write_rows(output)
            .map_err(|error| match error.into_kind() {
                csv::ErrorKind::Io(error) => error,
                other => io::Error::other(format!("{other:?}")),
            })
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
