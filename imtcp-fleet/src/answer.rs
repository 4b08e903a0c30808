//! Answers, as tables and as CSV.

use anyhow::{Context, Result};
use arrow::array::RecordBatch;
use arrow::csv::WriterBuilder;
use arrow::util::pretty::pretty_format_batches;
use clap::ValueEnum;
use std::io::Write;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns in line.
    Table,
    /// Values with commas between them, and a line with the names.
    Csv,
}

/// Writes an answer.
///
/// # Errors
/// The output fails.
pub fn write(batches: &[RecordBatch], format: Format, output: &mut impl Write) -> Result<()> {
    match format {
        Format::Table => {
            let table = pretty_format_batches(batches).context("the answer")?;
            writeln!(output, "{table}")?;
        }
        Format::Csv => {
            let mut writer = WriterBuilder::new().with_header(true).build(output);
            for batch in batches {
                writer.write(batch).context("writing the answer")?;
            }
        }
    }
    Ok(())
}

/// An answer's names and values as texts.
///
/// # Errors
/// A value has no text.
pub fn texts(batches: &[RecordBatch]) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let mut bytes = Vec::new();
    write(batches, Format::Csv, &mut bytes)?;
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let names = reader.headers()?.iter().map(str::to_owned).collect();
    let rows = reader
        .records()
        .map(|record| Ok(record?.iter().map(str::to_owned).collect()));
    Ok((names, rows.collect::<Result<_>>()?))
}
