//! A log in a few lines.

use crate::Error;
use crate::event::{Event, Log, Packet};
use crate::promises::Promises;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Count, mean and extremes of a series of rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// How many.
    pub count: u64,
    /// Their sum, in bit/s.
    pub sum_bps: f64,
    /// The least, in bit/s.
    pub least_bps: u64,
    /// The greatest, in bit/s.
    pub greatest_bps: u64,
    /// The last, in bit/s.
    pub last_bps: u64,
    /// When the first was reported, in ms.
    pub first_ms: f64,
    /// When the last was reported, in ms.
    pub last_ms: f64,
}

impl Rates {
    fn first(time_ms: f64, bps: u64) -> Self {
        Self {
            count: 1,
            sum_bps: bps as f64,
            least_bps: bps,
            greatest_bps: bps,
            last_bps: bps,
            first_ms: time_ms,
            last_ms: time_ms,
        }
    }

    fn add(&mut self, time_ms: f64, bps: u64) {
        self.count += 1;
        self.sum_bps += bps as f64;
        self.least_bps = self.least_bps.min(bps);
        self.greatest_bps = self.greatest_bps.max(bps);
        self.last_bps = bps;
        self.last_ms = time_ms;
    }

    /// The mean over the values, not over time, in bit/s.
    pub fn mean_bps(&self) -> f64 {
        self.sum_bps / self.count as f64
    }
}

/// Packets in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// How many.
    pub count: u64,
    /// Their UDP payload.
    pub bytes: u64,
}

impl Packets {
    fn add(&mut self, packet: Packet) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(packet.raw.length);
    }
}

/// What a log says, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The time of the last event, in ms.
    pub end_ms: f64,
    /// Records behind the header.
    pub events: u64,
    /// By estimator, in the order of their names.
    pub estimates: BTreeMap<String, Rates>,
    /// Measurements that began.
    pub started: u64,
    /// Measurements with a result of the paper's algorithm.
    pub completed: u64,
    /// Measurements without one.
    pub abandoned: u64,
    /// The values of the capacity, as it was learnt and revised.
    pub capacity: Option<Rates>,
    /// Packets that left.
    pub sent: Packets,
    /// Packets that came.
    pub received: Packets,
    /// Least and greatest congestion window, in bytes.
    pub window: Option<(u64, u64)>,
    /// What was required, and what came of it.
    pub promises: Promises,
}

#[derive(Deserialize)]
struct EstimateUpdated {
    estimator: String,
    available_bps: u64,
    #[serde(default)]
    flags: Vec<String>,
}

#[derive(Deserialize)]
struct CapacityUpdated {
    capacity_bps: u64,
}

impl Summary {
    /// Reads a log to its end.
    ///
    /// # Errors
    /// A record cannot be read, or an event of the controller lacks what it is about.
    pub fn of<R: BufRead>(log: &mut Log<R>) -> Result<Self, Error> {
        let mut summary = Self::default();
        while let Some(logged) = log.next_event()? {
            summary
                .add(logged.time_ms, logged.event)
                .map_err(|problem| log.wrong(logged.line, problem))?;
        }
        Ok(summary)
    }

    fn add(&mut self, time_ms: f64, event: Event) -> Result<(), String> {
        self.events += 1;
        self.end_ms = self.end_ms.max(time_ms);
        match event {
            Event::PacketSent(packet) => self.sent.add(packet),
            Event::PacketReceived(packet) => self.received.add(packet),
            Event::Metrics(metrics) => {
                if let Some(window) = metrics.congestion_window {
                    let (least, greatest) = self.window.unwrap_or((window, window));
                    self.window = Some((least.min(window), greatest.max(window)));
                }
            }
            Event::Imtcp(name, data) => self
                .add_own(time_ms, &name, data)
                .map_err(|error| format!("imtcp:{name}: its data: {error}"))?,
            Event::Other => {}
        }
        Ok(())
    }

    fn add_own(
        &mut self,
        time_ms: f64,
        name: &str,
        data: Map<String, Value>,
    ) -> Result<(), serde_json::Error> {
        match name {
            "estimate_updated" => {
                let update: EstimateUpdated = serde_json::from_value(Value::Object(data))?;
                // A lower bound is no estimate.
                if update.flags.iter().any(|flag| flag == "lower_bound") {
                    return Ok(());
                }
                let rate = update.available_bps;
                self.estimates
                    .entry(update.estimator)
                    .and_modify(|rates| rates.add(time_ms, rate))
                    .or_insert_with(|| Rates::first(time_ms, rate));
            }
            "capacity_updated" => {
                let update: CapacityUpdated = serde_json::from_value(Value::Object(data))?;
                let rate = update.capacity_bps;
                match &mut self.capacity {
                    Some(rates) => rates.add(time_ms, rate),
                    None => self.capacity = Some(Rates::first(time_ms, rate)),
                }
            }
            "measurement_started" => self.started += 1,
            "measurement_completed" => self.completed += 1,
            "measurement_abandoned" => self.abandoned += 1,
            _ => self.promises.add(name, data)?,
        }
        Ok(())
    }
}
