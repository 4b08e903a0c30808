//! Rows as CSV.

use super::{Row, Rows};
use crate::table::system_error;
use std::io::{self, Write};

/// Writes rows as CSV, with a header.
pub struct CsvRows<W: Write>(csv::Writer<W>);

impl<W: Write> CsvRows<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The output fails.
    pub fn new(output: W) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(output);
        csv.write_record(["time_ms", "event", "series", "value", "text"])
            .map_err(system_error)?;
        Ok(Self(csv))
    }
}

impl<W: Write> Rows for CsvRows<W> {
    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let time = row.time_ms.to_string();
        let value = row.value.map_or(String::new(), |value| value.to_string());
        let text = row.text.unwrap_or_default();
        let record = [&time, row.event, row.series, &value, text];
        self.0.write_record(record).map_err(system_error)
    }

    fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> std::fmt::Debug for CsvRows<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CsvRows")
    }
}
