//! A log in a few lines.

use crate::Error;
use crate::bounds;
use crate::promises::Promises;
use crate::read::{Kind, Log, Metrics, Packet, Record};
use crate::told::Told;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Count, mean and extremes of a series of rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
    fn add(&mut self, time_ms: f64, bps: u64) {
        if self.count == 0 {
            self.least_bps = bps;
            self.first_ms = time_ms;
        }
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
        self.bytes = self.bytes.saturating_add(packet.length);
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
    /// Packets that were declared lost.
    pub lost: u64,
    /// Least and greatest congestion window, in bytes.
    pub window: Option<(f64, f64)>,
    /// Least and greatest sample of the round trip, in milliseconds.
    pub round_trip: Option<(f64, f64)>,
    /// What was required, and what came of it.
    pub promises: Promises,
}

#[derive(Deserialize)]
struct CapacityUpdated {
    capacity_bps: u64,
}

impl Summary {
    /// Reads a log to its end.
    ///
    /// # Errors
    /// The input fails, or a record is damaged and the log is strict.
    pub fn of(log: &mut Log) -> Result<Self, Error> {
        let mut summary = Self::default();
        log.for_each(|record| summary.add(record).map_err(|error| error.to_string()))?;
        Ok(summary)
    }

    /// Counts an event.
    ///
    /// # Errors
    /// The event lacks what it is about.
    pub fn add(&mut self, record: &Record<'_>) -> Result<(), serde_json::Error> {
        match record.kind {
            Kind::PacketSent => self.sent.add(record.packet()?),
            Kind::PacketReceived => self.received.add(record.packet()?),
            Kind::PacketLost => {
                // What is no packet is damage here as it is for figures.
                record.packet()?;
                self.lost += 1;
            }
            Kind::Metrics => self.add_metrics(&record.metrics()?),
            Kind::Imtcp => self.add_own(record)?,
            Kind::State | Kind::Other => {}
        }
        self.events += 1;
        self.end_ms = self.end_ms.max(record.time_ms);
        Ok(())
    }

    fn add_metrics(&mut self, metrics: &Metrics) {
        let widened = |range: Option<(f64, f64)>, value: Option<f64>| match (range, value) {
            (Some((least, greatest)), Some(value)) => Some((least.min(value), greatest.max(value))),
            (None, Some(value)) => Some((value, value)),
            (range, None) => range,
        };
        self.window = widened(self.window, metrics.congestion_window);
        self.round_trip = widened(self.round_trip, metrics.latest_rtt);
    }

    fn add_own(&mut self, record: &Record<'_>) -> Result<(), serde_json::Error> {
        let time_ms = record.time_ms;
        match record.event() {
            "estimate_updated" => {
                let update: Told = record.data()?;
                if !update.is_lower_bound() {
                    let rates = bounds::entry(&mut self.estimates, update.estimator)?;
                    rates.add(time_ms, update.available_bps);
                }
            }
            "capacity_updated" => {
                let rate = record.data::<CapacityUpdated>()?.capacity_bps;
                let rates = self.capacity.get_or_insert_default();
                rates.add(time_ms, rate);
            }
            "measurement_started" => self.started += 1,
            "measurement_completed" => self.completed += 1,
            "measurement_abandoned" => self.abandoned += 1,
            _ => self.promises.add(record)?,
        }
        Ok(())
    }
}
