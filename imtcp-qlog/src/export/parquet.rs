//! Rows as Parquet, a group of them at a time.

use super::{Row, Rows};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::io::{self, Write};
use std::sync::Arc;

/// The most rows of a group. This and the next bound the memory that an export takes.
const GROUP: usize = 1 << 18;

/// A group is written when its texts have so many bytes. A text may be as long as a record.
const TEXT_BYTES: usize = 64 << 20;

/// Writes rows as Parquet.
pub struct ParquetRows<W: Write + Send> {
    file: SerializedFileWriter<W>,
    times: Vec<f64>,
    events: Vec<ByteArray>,
    series: Vec<ByteArray>,
    values: Vec<f64>,
    has_value: Vec<i16>,
    texts: Vec<ByteArray>,
    has_text: Vec<i16>,
    text_bytes: usize,
}

impl<W: Write + Send> ParquetRows<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// The output fails.
    pub fn new(output: W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by("imtcp-qlog".to_owned())
            .build();
        let schema = schema().map_err(io::Error::other)?;
        let file = SerializedFileWriter::new(output, schema, Arc::new(properties));
        Ok(Self {
            file: file.map_err(io::Error::other)?,
            times: Vec::new(),
            events: Vec::new(),
            series: Vec::new(),
            values: Vec::new(),
            has_value: Vec::new(),
            texts: Vec::new(),
            has_text: Vec::new(),
            text_bytes: 0,
        })
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        let mut index = 0;
        while let Some(mut column) = group.next_column()? {
            match index {
                0 => column
                    .typed::<DoubleType>()
                    .write_batch(&self.times, None, None)?,
                1 => column
                    .typed::<ByteArrayType>()
                    .write_batch(&self.events, None, None)?,
                2 => column
                    .typed::<ByteArrayType>()
                    .write_batch(&self.series, None, None)?,
                3 => {
                    let levels = Some(self.has_value.as_slice());
                    column
                        .typed::<DoubleType>()
                        .write_batch(&self.values, levels, None)?
                }
                _ => {
                    let levels = Some(self.has_text.as_slice());
                    column
                        .typed::<ByteArrayType>()
                        .write_batch(&self.texts, levels, None)?
                }
            };
            column.close()?;
            index += 1;
        }
        group.close()?;
        self.times.clear();
        self.events.clear();
        self.series.clear();
        self.values.clear();
        self.has_value.clear();
        self.texts.clear();
        self.has_text.clear();
        self.text_bytes = 0;
        Ok(())
    }
}

fn schema() -> Result<TypePtr, ParquetError> {
    let column = |name: &str, physical: Physical, repetition: Repetition| {
        let converted = match physical {
            Physical::BYTE_ARRAY => ConvertedType::UTF8,
            _ => ConvertedType::NONE,
        };
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_converted_type(converted);
        column.build().map(Arc::new)
    };
    let fields = vec![
        column("time_ms", Physical::DOUBLE, Repetition::REQUIRED)?,
        column("event", Physical::BYTE_ARRAY, Repetition::REQUIRED)?,
        column("series", Physical::BYTE_ARRAY, Repetition::REQUIRED)?,
        column("value", Physical::DOUBLE, Repetition::OPTIONAL)?,
        column("text", Physical::BYTE_ARRAY, Repetition::OPTIONAL)?,
    ];
    Type::group_type_builder("qlog")
        .with_fields(fields)
        .build()
        .map(Arc::new)
}

impl<W: Write + Send> Rows for ParquetRows<W> {
    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.times.push(row.time_ms);
        self.events.push(row.event.into());
        self.series.push(row.series.into());
        self.values.extend(row.value);
        self.has_value.push(i16::from(row.value.is_some()));
        self.texts.extend(row.text.map(ByteArray::from));
        self.has_text.push(i16::from(row.text.is_some()));
        let texts = [Some(row.event), Some(row.series), row.text];
        self.text_bytes += texts.into_iter().flatten().map(str::len).sum::<usize>();
        if self.times.len() == GROUP || self.text_bytes >= TEXT_BYTES {
            self.write_group().map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.times.is_empty() {
            self.write_group().map_err(io::Error::other)?;
        }
        self.file.close().map(|_| ()).map_err(io::Error::other)
    }
}

impl<W: Write + Send> std::fmt::Debug for ParquetRows<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ParquetRows")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_do_not_gather() {
        let text = "x".repeat(TEXT_BYTES / 4);
        let mut rows = ParquetRows::new(Vec::new()).expect("memory takes all");
        for index in 0..12_u32 {
            let row = Row {
                time_ms: f64::from(index),
                event: "imtcp:a",
                series: "b",
                value: None,
                text: Some(&text),
            };
            rows.row(&row).expect("memory takes all");
            assert!(rows.texts.len() < 4, "{}", rows.texts.len());
        }
    }
}
