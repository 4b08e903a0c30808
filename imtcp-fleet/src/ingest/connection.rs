//! A log becomes a row.

use super::truth::Truth;
use crate::labels::Label;
use crate::prefix::{UNKNOWN, prefix};
use crate::row::Row;
use crate::sketch::Sketch;
use chrono::{DateTime, TimeDelta, Utc};
use imtcp_qlog::Log;
use imtcp_qlog::read::{Kind, Record};
use imtcp_qlog::replay::Told;
use imtcp_qlog::summary::Summary;
use serde::Deserialize;
use std::net::IpAddr;

/// Estimators, the better one first. Whatever else a log names is left out.
const ESTIMATORS: [&str; 2] = ["statistical", "classic"];

/// Errors and widths of less than a hundredth of a per cent count as that.
const LEAST_PPM: f64 = 100.0;

/// What is known of a log besides its content.
#[derive(Debug)]
pub struct Known {
    /// The row's name.
    pub id: String,
    /// What the labels say.
    pub label: Label,
    /// The available bandwidth as it really was.
    pub truth: Truth,
    /// When the object was written: a guess of when the connection ended.
    pub written: DateTime<Utc>,
}

/// Reads a log to its end.
///
/// # Errors
/// The input fails.
pub fn row(mut log: Log, known: Known) -> Result<Row, imtcp_qlog::Error> {
    let mut seen = Seen::default();
    log.for_each(|record| {
        seen.add(record, &known.truth)
            .map_err(|error| error.to_string())
    })?;
    let damaged = log.problems().count();
    let told = log.header().reference_time.as_deref().and_then(time);
    let origin = log.origin_ms().and_then(since_1970);
    let began = (known.label.began.or(told).or(origin))
        .unwrap_or_else(|| before(known.written, seen.summary.end_ms));
    let vantage = log.header().vantage_point.clone();
    Ok(Row {
        id: known.id,
        began,
        vantage,
        damaged: count(damaged),
        prefix: known
            .label
            .prefix
            .or(seen.prefix.take())
            .unwrap_or_else(|| UNKNOWN.to_owned()),
        controller: (known.label.controller)
            .or(seen.controller.take())
            .unwrap_or_else(|| UNKNOWN.to_owned()),
        ..seen.row()
    })
}

/// A time of RFC 3339, or milliseconds since 1970.
fn time(text: &str) -> Option<DateTime<Utc>> {
    let ms = match DateTime::parse_from_rfc3339(text) {
        Ok(time) => time.timestamp_millis() as f64,
        Err(_) => text.parse().ok()?,
    };
    since_1970(ms)
}

/// Milliseconds as a time, unless they count from when a machine or a simulation was started. Nor
/// is there a time after the year 9999: its hour would be a folder that no engine takes for a date.
fn since_1970(ms: f64) -> Option<DateTime<Utc>> {
    const YEAR_2001: f64 = 1e12;
    const YEAR_10000: f64 = 253_402_300_800_000.0;
    (ms > YEAR_2001 && ms < YEAR_10000)
        .then(|| DateTime::from_timestamp_millis(whole(ms)))
        .flatten()
}

/// When a log began that was written last at `written`, by its length. A length of centuries is
/// damage, and says nothing.
fn before(written: DateTime<Utc>, length_ms: f64) -> DateTime<Utc> {
    let began = TimeDelta::try_milliseconds(whole(length_ms))
        .and_then(|length| written.checked_sub_signed(length));
    began
        .filter(|began| *began >= DateTime::UNIX_EPOCH)
        .unwrap_or(written)
}

fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "it saturates, and no number is zero")]
fn whole(value: f64) -> i64 {
    value.round() as i64
}

/// What was read so far.
#[derive(Default)]
struct Seen {
    summary: Summary,
    /// By estimator.
    measured: [Measured; ESTIMATORS.len()],
    rtt: Sketch,
    last_rtt_ms: Option<f64>,
    prefix: Option<String>,
    controller: Option<String>,
}

/// What an estimator said.
#[derive(Default)]
struct Measured {
    estimate: Sketch,
    width: Sketch,
    error: Sketch,
    error_sum_ppm: i64,
    judged: i64,
    held: i64,
}

#[derive(Deserialize)]
struct Parameters {
    measurement: bool,
}

/// As in newer drafts, or in older ones.
#[derive(Deserialize)]
struct Started {
    remote: Option<Remote>,
    dst_ip: Option<IpAddr>,
}

#[derive(Deserialize)]
struct Remote {
    ip_v4: Option<IpAddr>,
    ip_v6: Option<IpAddr>,
}

impl Seen {
    fn add(&mut self, record: &Record<'_>, truth: &Truth) -> serde_json::Result<()> {
        self.summary.add(record)?;
        match record.kind {
            Kind::Metrics => {
                let latest = record.metrics()?.latest_rtt;
                if let Some(ms) = latest.filter(|_| latest != self.last_rtt_ms) {
                    self.last_rtt_ms = latest;
                    self.rtt.add(ms * 1e3);
                }
            }
            Kind::Imtcp => match record.event() {
                "estimate_updated" => self.add_estimate(&record.data()?, record.time_ms, truth),
                "parameters_set" => {
                    let measures = record.data::<Parameters>()?.measurement;
                    let name = if measures { "imtcp" } else { "imtcp-off" };
                    self.controller = Some(name.to_owned());
                }
                _ => {}
            },
            Kind::Other if self.prefix.is_none() && record.event() == "connection_started" => {
                let started: Started = record.data()?;
                let remote = started.remote.and_then(|end| end.ip_v4.or(end.ip_v6));
                self.prefix = remote.or(started.dst_ip).map(prefix);
            }
            _ => {}
        }
        Ok(())
    }

    /// A path that the connection moved to later leads to another network, and does not count.
    fn add_estimate(&mut self, told: &Told, time_ms: f64, truth: &Truth) {
        let estimator = ESTIMATORS.iter().position(|name| told.estimator == *name);
        if let Some(at) = estimator
            && told.path == 0
            && !told.is_lower_bound()
        {
            self.measured[at].add(told, truth.at(time_ms));
        }
    }

    /// The row, but for what names it.
    fn row(self) -> Row {
        let mut told = ESTIMATORS.into_iter().zip(&self.measured);
        let told = told.find(|(_, measured)| measured.estimate.count() > 0);
        let estimator = told.map(|(name, _)| name.to_owned());
        let measured = told.map_or(&self.measured[0], |(_, measured)| measured);
        let achieved = self.achieved();
        let rate = self.rate();
        let Summary {
            promises, capacity, ..
        } = &self.summary;
        Row {
            duration_ms: whole(self.summary.end_ms),
            packets_sent: count(self.summary.sent.count),
            packets_lost: count(self.summary.lost),
            bytes_sent: count(self.summary.sent.bytes),
            bytes_received: count(self.summary.received.bytes),
            rate: rate.text(),
            capacity_bps: capacity.map(|rates| count(rates.last_bps)),
            estimator,
            estimates: count(measured.estimate.count()),
            estimate: measured.estimate.text(),
            width: measured.width.coarse().text(),
            width_ppm: measured.width.quantile(0.5).map(whole),
            judged: measured.judged,
            held: measured.held,
            error: measured.error.coarse().text(),
            error_sum_ppm: measured.error_sum_ppm,
            rtt: self.rtt.text(),
            least_rtt_us: self.summary.round_trip.map(|range| whole(range.0 * 1e3)),
            slots_kept: count(promises.kept),
            slots_missed: count(promises.missed),
            slots_limited: count(promises.source_limited),
            achieved: achieved.text(),
            warned_missed: count(promises.warned_missed),
            warned_kept: count(promises.warned_kept),
            ..Row::default()
        }
    }

    fn achieved(&self) -> Sketch {
        let mut achieved = Sketch::default();
        for ratio in self.summary.promises.ratios() {
            achieved.add(ratio * 1e6);
        }
        achieved
    }

    /// What arrived per time. Of a sender's packets those arrived that were not lost.
    fn rate(&self) -> Sketch {
        let Summary {
            sent,
            received,
            lost,
            end_ms,
            ..
        } = self.summary;
        let kept = sent.count.saturating_sub(lost) as f64 / sent.count.max(1) as f64;
        let bytes = (sent.bytes as f64 * kept).max(received.bytes as f64);
        let mut rate = Sketch::default();
        if bytes > 0.0 && end_ms > 0.0 {
            rate.add(bytes * 8e3 / end_ms);
        }
        rate
    }
}

impl Measured {
    fn add(&mut self, said: &Told, truth: Option<f64>) {
        let estimate = said.available_bps as f64;
        self.estimate.add(estimate);
        if let Some(high) = said.high_bps
            && estimate > 0.0
        {
            let width = high.saturating_sub(said.low_bps) as f64 / 2.0;
            self.width.add((width / estimate * 1e6).max(LEAST_PPM));
        }
        // A share of nothing is no error.
        let Some(truth) = truth.filter(|truth| *truth > 0.0) else {
            return;
        };
        let error = (estimate / truth - 1.0) * 1e6;
        self.error.add(error.abs().max(LEAST_PPM));
        self.error_sum_ppm = self.error_sum_ppm.saturating_add(whole(error));
        let is_below = said.high_bps.is_none_or(|high| truth <= high as f64);
        self.judged += 1;
        self.held += i64::from(said.low_bps as f64 <= truth && is_below);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_qlog::Log;
    use std::path::Path;

    const WRITTEN: &str = "2026-11-23T05:00:00Z";

    /// When the row of a log began that has these events.
    fn began(header: &str, times: &[f64]) -> String {
        let mut text = format!("{{\"qlog_version\":\"0.3\",\"trace\":{{{header}}}}}\n");
        for time in times {
            text += &format!("{{\"time\":{time:e},\"name\":\"quic:a\",\"data\":{{}}}}\n");
        }
        let log = Log::new(std::io::Cursor::new(text), Path::new("log")).expect("a qlog");
        let known = Known {
            id: String::new(),
            label: Label::default(),
            truth: Truth::default(),
            written: WRITTEN.parse().expect("a time"),
        };
        row(log, known).expect("it can be read").began.to_rfc3339()
    }

    #[test]
    fn a_log_began_as_long_before_its_end_as_it_is_unless_that_is_absurd() {
        assert_eq!(began("", &[0.0, 1500.0]), "2026-11-23T04:59:58.500+00:00");
        for length in [1e16, 1e17, 1e300] {
            assert_eq!(began("", &[0.0, length]), "2026-11-23T05:00:00+00:00");
        }
    }

    #[test]
    fn a_log_tells_when_it_began_unless_that_is_absurd() {
        let told = |ms: &str| {
            let header = format!("\"common_fields\":{{\"reference_time\":{ms}}}");
            began(&header, &[0.0, 1000.0])
        };
        assert_eq!(told("1795410000000"), "2026-11-23T05:00:00+00:00");
        for ms in ["253402300800000", "1e17", "7"] {
            assert_eq!(told(ms), "2026-11-23T04:59:59+00:00", "{ms}");
        }
    }
}
