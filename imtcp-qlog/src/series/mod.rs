//! What a log says over time, in bounded memory: for figures, comparisons and exports.

mod column;
mod delivery;

pub use column::Column;

use crate::error::Error;
use crate::read::{Kind, Log, Metrics, Record};
use delivery::Delivery;
use serde::Deserialize;

/// The series and the events of a connection. Times are in milliseconds, rates in bits per second.
#[derive(Clone, Debug)]
pub struct Series {
    /// What the file calls the connection.
    pub title: String,
    /// `client`, `server`, or whatever the header says.
    pub vantage_point: String,
    /// The time of the last event.
    pub end_ms: f64,
    /// The default estimator's estimates: value, and the ends of the interval.
    pub statistical: Estimates,
    /// The paper's estimator's.
    pub classic: Estimates,
    /// Lower bounds that took the place of estimates.
    pub bounds: Column,
    /// The capacity of the tight link.
    pub capacity: Column,
    /// The pacing rate.
    pub pacing: Column,
    /// The congestion window, in bytes.
    pub window: Column,
    /// The bytes in flight.
    pub in_flight: Column,
    /// The slow-start threshold, in bytes.
    pub threshold: Column,
    /// Samples of the round trip, in milliseconds.
    pub latest_rtt: Column,
    /// The smoothed round trip.
    pub smoothed_rtt: Column,
    /// The least round trip.
    pub min_rtt: Column,
    /// Bytes of UDP payload that reached the other side, summed up: what was acknowledged, or what
    /// a receiver got.
    pub delivered: Column,
    /// The number of each packet that was declared lost.
    pub losses: Column,
    /// How many packets were declared lost.
    pub lost: u64,
    /// Packets with application data that left.
    pub sent: u64,
    /// Probe streams.
    pub streams: Vec<Stream>,
    /// Evaluation slots of a promise.
    pub slots: Vec<Slot>,
    /// States of the congestion controller, and statuses of a promise.
    pub states: Vec<State>,
}

/// Estimates, with their intervals.
#[derive(Clone, Debug)]
pub struct Estimates {
    /// The values.
    pub value: Column,
    /// The lower ends of the intervals.
    pub low: Column,
    /// The upper ends.
    pub high: Column,
}

/// A probe stream.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Stream {
    /// When its first packet left.
    #[serde(skip)]
    pub start_ms: f64,
    /// When its last packet left, as far as that is known.
    #[serde(skip)]
    pub end_ms: f64,
    /// When it was judged.
    #[serde(skip)]
    pub judged_ms: f64,
    /// Its measurement.
    pub measurement: u64,
    /// Its number; 1 is the fastest.
    pub stream: u64,
    /// The lower end of its rates.
    pub low_bps: u64,
    /// The upper end.
    pub high_bps: u64,
    /// The numbers of its packets.
    pub packet_numbers: Vec<u64>,
    /// Their sizes on the wire.
    pub sizes: Vec<u64>,
    /// The planned distances of their departures, in nanoseconds.
    pub planned_gaps_ns: Vec<Option<i64>>,
    /// The distances of their departures.
    pub sent_gaps_ns: Vec<Option<i64>>,
    /// The distances of their echoes.
    pub echo_gaps_ns: Vec<Option<i64>>,
    /// The delay from departure to echo of the first packet.
    pub first_delay_ns: Option<u64>,
    /// How far the times of the echoes can be trusted.
    pub qualities: Vec<String>,
    /// The share of pairs whose delay rises.
    pub pct: Option<f64>,
    /// The share of the movement that is a net rise.
    pub pdt: Option<f64>,
    /// +1, 0 or -1.
    pub trend: i8,
    /// The trend in a word, with the reason if it is none.
    pub verdict: String,
}

/// An evaluation slot.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Slot {
    /// When it ended.
    #[serde(skip)]
    pub end_ms: f64,
    /// How long it was.
    #[serde(rename = "length")]
    pub length_ms: f64,
    /// What was required.
    pub required_bps: u64,
    /// What was achieved.
    pub achieved_bps: u64,
    /// `kept`, `missed` or `source_limited`.
    pub outcome: String,
}

/// A state that was entered.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// When.
    pub time_ms: f64,
    /// Whether it is the status of a promise, and not a state of the congestion controller.
    pub is_promise: bool,
    /// Its name.
    pub name: String,
}

/// The most probe streams, slots and states of each kind that are kept; later ones are left out.
const MOST_EVENTS: usize = 200_000;

impl Series {
    /// Reads a log to its end. No series gets more than `most` points.
    ///
    /// # Errors
    /// The input fails, or a record is damaged and the log is strict.
    pub fn of(log: &mut Log, most: usize) -> Result<Self, Error> {
        let mut series = Self::new(most);
        let mut delivery = Delivery::default();
        log.for_each(|record| {
            series
                .add(record, &mut delivery)
                .map_err(|error| error.to_string())
        })?;
        series.title.clone_from(&log.header().title);
        series.vantage_point.clone_from(&log.header().vantage_point);
        if delivery.is_receiver() {
            series.delivered = delivery.into_received();
        }
        Ok(series)
    }

    fn new(most: usize) -> Self {
        let column = || Column::new(most);
        let estimates = || Estimates {
            value: column(),
            low: column(),
            high: column(),
        };
        Self {
            title: String::new(),
            vantage_point: String::new(),
            end_ms: 0.0,
            statistical: estimates(),
            classic: estimates(),
            bounds: column(),
            capacity: column(),
            pacing: column(),
            window: column(),
            in_flight: column(),
            threshold: column(),
            latest_rtt: column(),
            smoothed_rtt: column(),
            min_rtt: column(),
            delivered: column(),
            losses: column(),
            lost: 0,
            sent: 0,
            streams: Vec::new(),
            slots: Vec::new(),
            states: Vec::new(),
        }
    }

    fn add(
        &mut self,
        record: &Record<'_>,
        delivery: &mut Delivery,
    ) -> Result<(), serde_json::Error> {
        let now = record.time_ms;
        match record.kind {
            Kind::PacketSent => {
                delivery.on_sent(record.packet()?);
                self.sent += 1;
            }
            Kind::PacketReceived => {
                if let Some(bytes) = delivery.on_received(now, record)? {
                    self.delivered.push(now, bytes as f64);
                }
            }
            Kind::PacketLost => {
                self.lost += 1;
                let number = record.packet()?.number.unwrap_or(self.lost);
                self.losses.push(now, number as f64);
            }
            Kind::Metrics => self.add_metrics(now, &record.metrics()?),
            Kind::State => self.add_state(now, false, &record.data::<New>()?.new),
            Kind::Imtcp => self.add_own(record)?,
            Kind::Other => {}
        }
        self.end_ms = self.end_ms.max(now);
        Ok(())
    }

    fn add_metrics(&mut self, now: f64, metrics: &Metrics) {
        // Before the first sample there is only what the transport assumes.
        let is_measured = metrics.latest_rtt.is_some() || !self.latest_rtt.is_empty();
        let measured = |span: Option<f64>| span.filter(|_| is_measured);
        for (column, value) in [
            (&mut self.window, metrics.congestion_window),
            (&mut self.in_flight, metrics.bytes_in_flight),
            (&mut self.threshold, metrics.ssthresh),
            (&mut self.pacing, metrics.pacing_bps),
            (&mut self.latest_rtt, metrics.latest_rtt),
            (&mut self.smoothed_rtt, measured(metrics.smoothed_rtt)),
            (&mut self.min_rtt, measured(metrics.min_rtt)),
        ] {
            if let Some(value) = value {
                column.push_change(now, value);
            }
        }
    }

    fn add_state(&mut self, time_ms: f64, is_promise: bool, name: &str) {
        if self.states.len() < MOST_EVENTS {
            self.states.push(State {
                time_ms,
                is_promise,
                name: name.to_owned(),
            });
        }
    }

    fn add_own(&mut self, record: &Record<'_>) -> Result<(), serde_json::Error> {
        let now = record.time_ms;
        match record.event() {
            "estimate_updated" => self.add_estimate(now, &record.data()?),
            "capacity_updated" => {
                let data: Capacity = record.data()?;
                self.capacity.push_change(now, data.capacity_bps as f64);
            }
            "stream_completed" if self.streams.len() < MOST_EVENTS => {
                self.streams.push(stream(record)?);
            }
            "slot_ended" if self.slots.len() < MOST_EVENTS => {
                let mut slot: Slot = record.data()?;
                slot.end_ms = now;
                self.slots.push(slot);
            }
            "promise_status_changed" => {
                self.add_state(now, true, &record.data::<Status>()?.status);
            }
            _ => {}
        }
        Ok(())
    }

    fn add_estimate(&mut self, now: f64, estimate: &Estimate) {
        let value = estimate.available_bps as f64;
        if estimate.flags.iter().any(|flag| flag == "lower_bound") {
            self.bounds.push(now, value);
            return;
        }
        let estimates = match estimate.estimator.as_str() {
            "classic" => &mut self.classic,
            _ => &mut self.statistical,
        };
        estimates.value.push(now, value);
        estimates.low.push(now, estimate.low_bps as f64);
        let high = estimate.high_bps.map_or(value, |high| high as f64);
        estimates.high.push(now, high);
    }

    /// The mean rate of what was delivered between two times, in bits per second.
    pub fn goodput(&self, from_ms: f64, to_ms: f64) -> Option<f64> {
        let points = self.delivered.points();
        let until = |time: f64| {
            let count = points.partition_point(|point| point.0 <= time);
            count.checked_sub(1).map_or(0.0, |at| points[at].1)
        };
        let is_known = !points.is_empty() && to_ms > from_ms;
        is_known.then(|| (until(to_ms) - until(from_ms)) * 8e3 / (to_ms - from_ms))
    }
}

fn stream(record: &Record<'_>) -> Result<Stream, serde_json::Error> {
    let mut stream: Stream = record.data()?;
    let total = |gaps: &[Option<i64>]| {
        let sum: i64 = gaps
            .iter()
            .flatten()
            .fold(0, |sum, gap| sum.saturating_add(*gap));
        sum as f64 / 1e6
    };
    // The event stands where the last echo came in.
    let delay = stream.first_delay_ns.unwrap_or(0) as f64 / 1e6;
    stream.judged_ms = record.time_ms;
    stream.start_ms = record.time_ms - total(&stream.echo_gaps_ns) - delay;
    stream.end_ms = stream.start_ms + total(&stream.sent_gaps_ns);
    Ok(stream)
}

#[derive(Deserialize)]
struct Estimate {
    estimator: String,
    available_bps: u64,
    low_bps: u64,
    high_bps: Option<u64>,
    #[serde(default)]
    flags: Vec<String>,
}

#[derive(Deserialize)]
struct Capacity {
    capacity_bps: u64,
}

#[derive(Deserialize)]
struct New {
    new: String,
}

#[derive(Deserialize)]
struct Status {
    status: String,
}
