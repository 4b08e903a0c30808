//! Rows go into files, one for each hour that a batch has rows of.

use crate::row::{Partition, Row, batch, schema};
use anyhow::Result;
use chrono::{DateTime, Utc};
use object_store::path::Path;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::collections::BTreeMap;

/// Rows that are encoded at a time.
const CHUNK: usize = 8192;

/// Columns whose values hardly repeat.
const MANIFOLD: [&str; 6] = ["id", "estimate", "width", "error", "rtt", "achieved"];

/// The files of a batch, by path below the table, in order. The same rows give the same bytes.
///
/// # Errors
/// The encoder fails.
pub fn parts(name: &str, rows: Vec<Row>) -> Result<Vec<(Path, Vec<u8>)>> {
    let mut by_hour: BTreeMap<Partition, Vec<Row>> = BTreeMap::new();
    for row in rows {
        by_hour.entry(row.partition()).or_default().push(row);
    }
    let parts = by_hour.into_iter().map(|(partition, mut rows)| {
        let path = Path::from(format!("{}/{name}.parquet", partition.folder()));
        Ok((path, encoded(&mut rows)?))
    });
    parts.collect()
}

/// A Parquet file. Rows of a network come together, which makes its column small.
///
/// # Errors
/// The encoder fails.
pub fn encoded(rows: &mut [Row]) -> Result<Vec<u8>> {
    rows.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut writer = ArrowWriter::try_new(Vec::new(), schema(), Some(properties()?))?;
    for chunk in rows.chunks(CHUNK) {
        writer.write(&batch(chunk)?)?;
    }
    Ok(writer.into_inner()?)
}

fn key(row: &Row) -> (&str, &str, DateTime<Utc>, &str) {
    (&row.prefix, &row.controller, row.began, &row.id)
}

fn properties() -> Result<WriterProperties> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(131_072));
    for name in MANIFOLD {
        let column = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    Ok(properties.build())
}
