//! A row of the table: what is kept of a connection.

use anyhow::Result;
use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use chrono::{DateTime, Datelike, Timelike, Utc};
use std::sync::Arc;

/// A connection. Sketches are texts (see [`crate::sketch`]) and `None` where nothing was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// 16 hexadecimal digits of the SHA-256 of the log's source and path: names the row.
    pub id: String,
    /// When the connection began.
    pub began: DateTime<Utc>,
    /// The network of the peer, or `unknown`.
    pub prefix: String,
    /// The congestion controller, or `unknown`.
    pub controller: String,
    /// `client`, `server`, `network`, or empty.
    pub vantage: String,
    /// From the beginning to the last event, in ms.
    pub duration_ms: i64,
    /// Packets that left.
    pub packets_sent: i64,
    /// Packets that were declared lost.
    pub packets_lost: i64,
    /// UDP payload that left, in bytes.
    pub bytes_sent: i64,
    /// UDP payload that came, in bytes.
    pub bytes_received: i64,
    /// The rate of UDP payload that arrived in the busier direction, in bit/s: a sketch of one
    /// value.
    pub rate: Option<String>,
    /// The capacity that was learnt last, in bit/s.
    pub capacity_bps: Option<i64>,
    /// `statistical`, `classic`, or `None` without estimates.
    pub estimator: Option<String>,
    /// How many estimates there were.
    pub estimates: i64,
    /// Estimates of the available bandwidth, in bit/s.
    pub estimate: Option<String>,
    /// Half of the 95 % intervals, in millionths of their estimates.
    pub width: Option<String>,
    /// The median of these.
    pub width_ppm: Option<i64>,
    /// Intervals of a time at which the truth is known.
    pub judged: i64,
    /// Those of them that held the truth.
    pub held: i64,
    /// The distances of estimates from the truth, in millionths of it.
    pub error: Option<String>,
    /// The sum of these with their signs: over the truth is positive.
    pub error_sum_ppm: i64,
    /// Samples of the round trip, in µs.
    pub rtt: Option<String>,
    /// The least of them.
    pub least_rtt_us: Option<i64>,
    /// Slots of promises with the required rate.
    pub slots_kept: i64,
    /// Slots with less.
    pub slots_missed: i64,
    /// Slots whose source offered less.
    pub slots_limited: i64,
    /// Achieved by required rate, in millionths, of slots that were kept or missed.
    pub achieved: Option<String>,
    /// Missed slots that had been called at risk half a slot before their end.
    pub warned_missed: i64,
    /// Other slots that had been.
    pub warned_kept: i64,
    /// Damaged records of the log, which were left out.
    pub damaged: i64,
}

impl Row {
    /// The partition that the row belongs to.
    pub fn partition(&self) -> Partition {
        Partition {
            date: self.began.date_naive().num_days_from_ce(),
            hour: self.began.hour(),
        }
    }
}

/// An hour of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    date: i32,
    hour: u32,
}

impl Partition {
    /// The folder below the table.
    pub fn folder(self) -> String {
        let date = chrono::NaiveDate::from_num_days_from_ce_opt(self.date).unwrap_or_default();
        format!("date={date}/hour={}", self.hour)
    }
}

/// The columns of the files. `date` and `hour` are in the names of the folders.
pub fn schema() -> SchemaRef {
    use DataType::{Int64, Utf8};
    let began = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let columns = [
        ("id", Utf8, false),
        ("began", began, false),
        ("prefix", Utf8, false),
        ("controller", Utf8, false),
        ("vantage", Utf8, false),
        ("duration_ms", Int64, false),
        ("packets_sent", Int64, false),
        ("packets_lost", Int64, false),
        ("bytes_sent", Int64, false),
        ("bytes_received", Int64, false),
        ("rate", Utf8, true),
        ("capacity_bps", Int64, true),
        ("estimator", Utf8, true),
        ("estimates", Int64, false),
        ("estimate", Utf8, true),
        ("width", Utf8, true),
        ("width_ppm", Int64, true),
        ("judged", Int64, false),
        ("held", Int64, false),
        ("error", Utf8, true),
        ("error_sum_ppm", Int64, false),
        ("rtt", Utf8, true),
        ("least_rtt_us", Int64, true),
        ("slots_kept", Int64, false),
        ("slots_missed", Int64, false),
        ("slots_limited", Int64, false),
        ("achieved", Utf8, true),
        ("warned_missed", Int64, false),
        ("warned_kept", Int64, false),
        ("damaged", Int64, false),
    ];
    let fields = columns.map(|(name, kind, nullable)| Field::new(name, kind, nullable));
    Arc::new(Schema::new(fields.to_vec()))
}

/// Rows as columns.
///
/// # Errors
/// None, as long as this function and [`schema`] agree.
pub fn batch(rows: &[Row]) -> Result<RecordBatch> {
    let text = |of: fn(&Row) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let some_text = |of: fn(&Row) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<StringArray>())
    };
    let whole = |of: fn(&Row) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(of)))
    };
    let some_whole = |of: fn(&Row) -> Option<i64>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<Int64Array>())
    };
    let began = rows.iter().map(|row| row.began.timestamp_millis());
    let columns = vec![
        text(|row| &row.id),
        Arc::new(TimestampMillisecondArray::from_iter_values(began).with_timezone("UTC")),
        text(|row| &row.prefix),
        text(|row| &row.controller),
        text(|row| &row.vantage),
        whole(|row| row.duration_ms),
        whole(|row| row.packets_sent),
        whole(|row| row.packets_lost),
        whole(|row| row.bytes_sent),
        whole(|row| row.bytes_received),
        some_text(|row| row.rate.as_deref()),
        some_whole(|row| row.capacity_bps),
        some_text(|row| row.estimator.as_deref()),
        whole(|row| row.estimates),
        some_text(|row| row.estimate.as_deref()),
        some_text(|row| row.width.as_deref()),
        some_whole(|row| row.width_ppm),
        whole(|row| row.judged),
        whole(|row| row.held),
        some_text(|row| row.error.as_deref()),
        whole(|row| row.error_sum_ppm),
        some_text(|row| row.rtt.as_deref()),
        some_whole(|row| row.least_rtt_us),
        whole(|row| row.slots_kept),
        whole(|row| row.slots_missed),
        whole(|row| row.slots_limited),
        some_text(|row| row.achieved.as_deref()),
        whole(|row| row.warned_missed),
        whole(|row| row.warned_kept),
        whole(|row| row.damaged),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}
