//! The controller's events one by one, as CSV.

use crate::Error;
use crate::read::{Kind, Log, Record};
use imtcp_cc::qlog::CORE_INPUT;
use serde::de::Error as _;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// The events of the namespace `imtcp`, with all their fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The fields' names, in the order in which they were first seen.
    columns: Vec<String>,
    rows: Vec<Row>,
    /// Whose rows follow, if they are of several files.
    files: Vec<String>,
}

/// The most fields. All events of the controller together have fewer than that.
const MOST_COLUMNS: usize = 256;

#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// The number of its file.
    file: usize,
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
        table.read(log)?;
        Ok(table)
    }

    /// Reads one more log to its end. With several logs a first column has their names.
    ///
    /// # Errors
    /// The input fails, or a record is damaged and the log is strict.
    pub fn read(&mut self, log: &mut Log) -> Result<(), Error> {
        self.files.push(log.name().display().to_string());
        log.for_each(|record| {
            if record.kind != Kind::Imtcp || record.name == CORE_INPUT {
                return Ok(());
            }
            self.add(record).map_err(|error| error.to_string())
        })
    }

    fn add(&mut self, record: &Record<'_>) -> Result<(), serde_json::Error> {
        let data: Map<String, Value> = record.data()?;
        let mut fields: Vec<&String> = data.keys().collect();
        // serde_json keeps the file's order only if another crate in the build asks for that.
        fields.sort();
        for field in fields {
            if !self.columns.contains(field) {
                if self.columns.len() >= MOST_COLUMNS {
                    let problem = format!("another field, `{field}`; {MOST_COLUMNS} are read");
                    return Err(serde_json::Error::custom(problem));
                }
                self.columns.push(field.clone());
            }
        }
        self.rows.push(Row {
            file: self.files.len().saturating_sub(1),
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
        let file = Some("file").filter(|_| self.files.len() > 1);
        let fixed = ["time_ms", "event"];
        csv.write_record(file.into_iter().chain(fixed).chain(fields))?;
        for row in &self.rows {
            let file = file.and_then(|_| self.files.get(row.file)).cloned();
            let fixed = [row.time_ms.to_string(), row.name.clone()];
            let fields = self.columns.iter().map(|column| cell(row.data.get(column)));
            csv.write_record(file.into_iter().chain(fixed).chain(fields))?;
        }
        Ok(csv.flush()?)
    }
}

/// The system's own error behind one of CSV's, so that a closed pipe is told from a full disk.
pub fn system_error(error: csv::Error) -> io::Error {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use std::path::Path;

    fn log(name: &str, fields: &[String]) -> Log {
        let mut text = "{\"qlog_version\":\"0.3\"}\n".to_owned();
        for field in fields {
            text += &format!("{{\"time\":1,\"name\":\"imtcp:a\",\"data\":{{\"{field}\":2}}}}\n");
        }
        Log::new(Cursor::new(text.into_bytes()), Path::new(name)).expect("a log")
    }

    fn written(table: &Table) -> String {
        let mut csv = Vec::new();
        table.write(&mut csv).expect("memory takes all");
        String::from_utf8(csv).expect("text")
    }

    #[test]
    fn several_files_are_one_table() {
        let mut table = Table::of(&mut log("one", &["x".to_owned()])).expect("a table");
        assert_eq!(written(&table), "time_ms,event,x\n1,a,2\n");
        table
            .read(&mut log("two", &["y".to_owned()]))
            .expect("a table");
        let expected = "file,time_ms,event,x,y\none,1,a,2,\ntwo,1,a,,2\n";
        assert_eq!(written(&table), expected);
    }

    #[test]
    fn fields_without_end_are_left_out() {
        let fields: Vec<String> = (0..300).map(|index| format!("f{index}")).collect();
        let mut log = log("many", &fields);
        let table = Table::of(&mut log).expect("a table");
        assert_eq!((table.columns.len(), table.rows.len()), (256, 256));
        assert_eq!(log.problems().count(), 44);
    }
}
