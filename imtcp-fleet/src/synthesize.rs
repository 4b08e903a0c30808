//! Rows that nobody measured, as many as one likes, like those of a table.
//!
//! Each row is one that was measured, drawn by chance, with its rates and round trips scaled by a
//! factor of its network, one of the hour, and one of its own. Scaling moves a sketch by whole
//! buckets. The counts of its buckets vary by chance, as from one connection to the next; so no two
//! rows are alike, and files are no smaller than those of a real fleet. This is a smoothed
//! bootstrap: the shapes, and what goes with what, stay those that were measured. The same seed
//! gives the same rows.

use crate::engine::Engine;
use crate::prefix::prefix;
use crate::row::Row;
use crate::sketch::{GAMMA, LAST, Sketch};
use crate::write::encoded;
use crate::{place::Place, questions::TABLE};
use anyhow::{Context, Result, bail};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use chrono::{DateTime, TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// What to make.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Rows.
    pub rows: u64,
    /// What chance begins with.
    pub seed: u64,
    /// The first hour.
    pub from: DateTime<Utc>,
    /// Hours over which the rows are spread.
    pub hours: u32,
    /// Networks.
    pub networks: u32,
    /// Hours that are made at a time.
    pub jobs: usize,
}

/// A measured row whose sketches can be varied.
struct Original {
    row: Row,
    rate: Sketch,
    estimate: Sketch,
    width: Sketch,
    error: Sketch,
    rtt: Sketch,
}

/// Writes a table like another one.
///
/// # Errors
/// The other table is empty or cannot be read, or the new one cannot be written.
pub async fn run(like: &Engine, table: &Place, options: Options) -> Result<()> {
    let originals = Arc::new(originals(like).await?);
    let made = stream::iter(counts(&options)).map(|(hour, count)| {
        let originals = Arc::clone(&originals);
        async move {
            let made = spawn_blocking(move || made(&originals, &options, hour, count));
            let (path, bytes) = made.await.context("making rows failed")??;
            let put = table.store.put(&path, PutPayload::from(bytes)).await;
            put.with_context(|| format!("writing {}", table.address(&path)))?;
            anyhow::Ok(())
        }
    });
    made.buffer_unordered(options.jobs.max(1))
        .try_collect()
        .await
}

/// The hours with their rows.
fn counts(options: &Options) -> Vec<(u32, u64)> {
    let mut remaining = options.rows;
    let hours = (0..options.hours).zip(shares(options.hours));
    let counts = hours.map(|(hour, share)| {
        let is_last = hour + 1 == options.hours;
        let count = if is_last {
            remaining
        } else {
            portion(options.rows, share).min(remaining)
        };
        remaining -= count;
        (hour, count)
    });
    counts.filter(|(_, count)| *count > 0).collect()
}

/// The file of an hour. Each hour has a chance of its own, so none depends on the others.
fn made(
    originals: &[Original],
    options: &Options,
    hour: u32,
    count: u64,
) -> Result<(Path, Vec<u8>)> {
    let seed = options.seed ^ (u64::from(hour) << 32);
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut rows: Vec<Row> = (0..count)
        .map(|at| synthetic(originals, options, hour, at, &mut chance))
        .collect();
    let first = rows.first().context("an hour without rows")?;
    let path = Path::from(format!("{}/synthetic.parquet", first.partition().folder()));
    Ok((path, encoded(&mut rows)?))
}

/// The day has a busy evening: a share for each hour, which add up to one.
fn shares(hours: u32) -> Vec<f64> {
    let weight =
        |hour: u32| 1.0 + 0.6 * (f64::from(hour % 24) / 24.0 * std::f64::consts::TAU).sin();
    let total: f64 = (0..hours).map(weight).sum();
    (0..hours).map(|hour| weight(hour) / total).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
fn portion(count: u64, share: f64) -> u64 {
    (count as f64 * share) as u64
}

fn synthetic(
    originals: &[Original],
    options: &Options,
    hour: u32,
    at: u64,
    chance: &mut ChaCha8Rng,
) -> Row {
    let original = &originals[chance.random_range(0..originals.len())];
    let network = network(options.networks, chance);
    // Networks differ up to tenfold, always in the same way; in the evening there is a fifth less.
    let mut own = ChaCha8Rng::seed_from_u64(options.seed.wrapping_add(u64::from(network)));
    let (wide, far) = (own.random_range(-28..=28), own.random_range(-17..=17));
    let evening = if hour % 24 > 17 { -5 } else { 0 };
    let rates = wide + evening + chance.random_range(-6..=6);
    let distance = far + chance.random_range(-3..=3);
    let began = options.from + TimeDelta::hours(hour.into());
    let row = &original.row;
    let estimate = varied(&original.estimate, rates, chance);
    let error = varied(&original.error, 0, chance);
    let judged = whole(error.count());
    Row {
        id: format!("{hour:04x}{at:012x}"),
        began: began + TimeDelta::milliseconds(chance.random_range(0..3_600_000)),
        prefix: prefix(address(network)),
        rate: moved(&original.rate, rates).text(),
        estimates: whole(estimate.count()),
        estimate: estimate.text(),
        width: varied(&original.width, 0, chance).text(),
        judged,
        held: portion_of(row.held, judged, row.judged),
        error: error.text(),
        error_sum_ppm: portion_of(row.error_sum_ppm, judged, row.judged),
        rtt: varied(&original.rtt, distance, chance).text(),
        capacity_bps: row.capacity_bps.map(|bps| scaled(bps, rates)),
        bytes_sent: scaled(row.bytes_sent, rates),
        bytes_received: scaled(row.bytes_received, rates),
        packets_sent: scaled(row.packets_sent, rates),
        packets_lost: scaled(row.packets_lost, rates),
        least_rtt_us: row.least_rtt_us.map(|us| scaled(us, distance)),
        ..row.clone()
    }
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// As much of a sum as of what it is a sum of.
fn portion_of(sum: i64, part: i64, all: i64) -> i64 {
    let scaled = i128::from(sum) * i128::from(part) / i128::from(all.max(1));
    i64::try_from(scaled).unwrap_or(0)
}

/// A few networks have most connections (Zipf's law, with exponent one).
fn network(networks: u32, chance: &mut ChaCha8Rng) -> u32 {
    let last = f64::from(networks.max(1));
    let drawn = (last + 1.0).powf(chance.random::<f64>()) - 1.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below last")]
    let drawn = drawn as u32;
    drawn.min(networks.max(1) - 1)
}

/// Addresses for benchmarks (RFC 2544), and more where these do not suffice.
fn address(network: u32) -> IpAddr {
    let first = u32::from(Ipv4Addr::new(198, 18, 0, 0));
    IpAddr::V4(Ipv4Addr::from(first.wrapping_add(network << 8)))
}

fn moved(sketch: &Sketch, buckets: i32) -> Sketch {
    let mut result = Sketch::default();
    for (bucket, count) in sketch.buckets() {
        result.add_bucket((bucket + buckets).clamp(0, LAST), count);
    }
    result
}

/// The same with counts of another connection: each is about normal, with itself as the variance.
fn varied(sketch: &Sketch, buckets: i32, chance: &mut ChaCha8Rng) -> Sketch {
    // Eight bytes by chance, added up: mean and deviation of the sum.
    const MEAN: f64 = 8.0 * 127.5;
    const DEVIATION: f64 = 209.0;
    let mut result = Sketch::default();
    for (bucket, count) in sketch.buckets() {
        let bytes = chance.random::<[u8; 8]>();
        let sum: u32 = bytes.into_iter().map(u32::from).sum();
        let normal = (f64::from(sum) - MEAN) / DEVIATION;
        let count = count as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let count = (count + count.sqrt() * normal).round() as u64;
        result.add_bucket((bucket + buckets).clamp(0, LAST), count);
    }
    result
}

#[expect(clippy::cast_possible_truncation, reason = "it saturates")]
fn scaled(value: i64, buckets: i32) -> i64 {
    (value as f64 * GAMMA.powi(buckets)).round() as i64
}

/// All rows of the other table. Two thousand are enough; more are not read.
async fn originals(like: &Engine) -> Result<Vec<Original>> {
    let sql = format!("SELECT * FROM {TABLE} ORDER BY id LIMIT 2000");
    let mut originals = Vec::new();
    for batch in like.ask(&sql).await? {
        for row in 0..batch.num_rows() {
            originals.push(original(&batch, row)?);
        }
    }
    if originals.is_empty() {
        bail!("the table to be like has no rows; ingest logs into it first");
    }
    Ok(originals)
}

fn original(batch: &RecordBatch, at: usize) -> Result<Original> {
    let column = |name: &str| {
        let column = batch.column_by_name(name);
        column.with_context(|| format!("the table to be like has no column `{name}`"))
    };
    let some_text = |name: &str| -> Result<Option<String>> {
        let texts = arrow::compute::cast(column(name)?, &arrow::datatypes::DataType::Utf8)?;
        let texts = texts.as_string::<i32>();
        Ok(texts.is_valid(at).then(|| texts.value(at).to_owned()))
    };
    let text = |name: &str| anyhow::Ok(some_text(name)?.unwrap_or_default());
    let some_whole = |name: &str| -> Result<Option<i64>> {
        let values = column(name)?.as_primitive::<Int64Type>();
        Ok(values.is_valid(at).then(|| values.value(at)))
    };
    let whole = |name: &str| anyhow::Ok(some_whole(name)?.unwrap_or_default());
    let sketch = |name: &str| anyhow::Ok(Sketch::parse(&text(name)?)?);
    Ok(Original {
        rate: sketch("rate")?,
        estimate: sketch("estimate")?,
        width: sketch("width")?,
        error: sketch("error")?,
        rtt: sketch("rtt")?,
        row: Row {
            controller: text("controller")?,
            vantage: text("vantage")?,
            duration_ms: whole("duration_ms")?,
            packets_sent: whole("packets_sent")?,
            packets_lost: whole("packets_lost")?,
            bytes_sent: whole("bytes_sent")?,
            bytes_received: whole("bytes_received")?,
            capacity_bps: some_whole("capacity_bps")?,
            estimator: some_text("estimator")?,
            width_ppm: some_whole("width_ppm")?,
            judged: whole("judged")?,
            held: whole("held")?,
            error_sum_ppm: whole("error_sum_ppm")?,
            least_rtt_us: some_whole("least_rtt_us")?,
            slots_kept: whole("slots_kept")?,
            slots_missed: whole("slots_missed")?,
            slots_limited: whole("slots_limited")?,
            achieved: some_text("achieved")?,
            warned_missed: whole("warned_missed")?,
            warned_kept: whole("warned_kept")?,
            damaged: whole("damaged")?,
            ..Row::default()
        },
    })
}
