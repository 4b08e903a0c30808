//! How much of a log is written.

use super::record::{self, Parts};
use clap::ValueEnum;
use imtcp_cc::qlog::CORE_INPUT;
use serde_json::{Map, Value};
use std::io;

/// How much of a log is written. What the controller logs for a replay is written at every level,
/// if it logs that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// The controller's events, losses, states, and metrics at most every 10 ms.
    Events,
    /// Also packets without their frames, and all metrics.
    Packets,
    /// Everything that quiche logs.
    #[default]
    All,
}

const METRICS: &str = "quic:recovery_metrics_updated";

/// The distance of metrics at [`Level::Events`].
const METRICS_EVERY_MS: f64 = 10.0;

/// The events of quiche's that are written at every level.
const ALWAYS: [&str; 5] = [
    "quic:parameters_set",
    "quic:recovery_parameters_set",
    "quic:congestion_state_updated",
    "quic:packet_lost",
    "quic:connection_closed",
];

/// Passes records, leaves them out, or changes them.
#[derive(Debug)]
pub(super) struct Filter {
    level: Level,
    pub(super) paces_in_bytes: bool,
    /// Metrics that are not written yet, and the time of the latest.
    metrics: Map<String, Value>,
    metrics_at: String,
    written_ms: f64,
}

impl Filter {
    pub(super) fn new(level: Level) -> Self {
        Self {
            level,
            paces_in_bytes: false,
            metrics: Map::new(),
            metrics_at: String::new(),
            written_ms: f64::NEG_INFINITY,
        }
    }

    /// Takes a record, and gives what becomes of it.
    pub(super) fn take(
        &mut self,
        record: &[u8],
        mut write: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(parts) = record::parts(record) else {
            return write(record);
        };
        if let Some(metrics) = self.overdue(&parts) {
            write(&metrics)?;
        }
        match parts.name {
            METRICS => {
                let metrics = record::metrics(parts.data, self.paces_in_bytes);
                match (metrics, record::time(parts.time)) {
                    (Some(metrics), Some(now)) => match self.metrics(parts.time, now, metrics) {
                        Some(metrics) => write(&metrics),
                        None => Ok(()),
                    },
                    // A damaged record stays as it is: readers tell of it.
                    _ => write(record),
                }
            }
            "quic:packet_sent" | "quic:packet_received" => match self.packet(&parts) {
                Some(packet) => write(&packet),
                None => Ok(()),
            },
            name if name == CORE_INPUT || name.starts_with("imtcp:") || ALWAYS.contains(&name) => {
                write(record)
            }
            _ if self.level == Level::All => write(record),
            _ => Ok(()),
        }
    }

    fn metrics(&mut self, time: &str, now: f64, metrics: Map<String, Value>) -> Option<Vec<u8>> {
        if metrics.is_empty() {
            return None;
        }
        if self.level > Level::Events {
            return Some(written(time, metrics));
        }
        self.metrics.extend(metrics);
        time.clone_into(&mut self.metrics_at);
        if now < self.written_ms + METRICS_EVERY_MS {
            return None;
        }
        self.written_ms = now;
        Some(written(time, std::mem::take(&mut self.metrics)))
    }

    /// The metrics that are left, if what comes next comes so late that they are not held back for
    /// it. They keep their time: a value that changed before a pause has not changed behind it.
    fn overdue(&mut self, next: &Parts<'_>) -> Option<Vec<u8>> {
        let now = record::time(next.time)?;
        if self.metrics.is_empty() || now < self.written_ms + 2.0 * METRICS_EVERY_MS {
            return None;
        }
        self.written_ms = record::time(&self.metrics_at)?;
        self.finish()
    }

    fn packet(&self, parts: &Parts<'_>) -> Option<Vec<u8>> {
        let data = match self.level {
            Level::Events => return None,
            Level::Packets => without_frames(record::packet(parts.data)),
            Level::All => record::packet(parts.data),
        };
        Some(record::record(parts.time, parts.name, &data))
    }

    /// The metrics that are left at the end.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        if self.metrics.is_empty() {
            return None;
        }
        Some(written(&self.metrics_at, std::mem::take(&mut self.metrics)))
    }
}

fn written(time: &str, metrics: Map<String, Value>) -> Vec<u8> {
    let data = Value::Object(metrics).to_string();
    record::record(time, METRICS, data.as_bytes())
}

/// A packet without its frames. Those of acknowledgements stay, because readers learn from them
/// what arrived. quiche writes the frames last.
fn without_frames(mut data: Vec<u8>) -> Vec<u8> {
    let start = b",\"frames\":[";
    let at = data.windows(start.len()).position(|window| window == start);
    if let Some(at) = at
        && !data[at..]
            .windows(16)
            .any(|window| window == b"\"acked_ranges\":[")
    {
        data.truncate(at);
        data.push(b'}');
    }
    data
}
