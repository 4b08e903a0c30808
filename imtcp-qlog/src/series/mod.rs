//! What a log says over time, in bounded memory: for figures and comparisons.

mod column;
mod delivery;
mod events;
mod figures;
mod gaps;

pub use column::Column;
pub use events::{Slot, State, Stream};
pub(crate) use figures::rank;
pub use figures::{Figures, Histogram, TimeMean};
pub use gaps::Gaps;

use crate::bounds;
use crate::error::Error;
use crate::read::{Kind, Log, Metrics, Record};
use crate::streams;
use crate::told::{Told, Withdrawn};
use delivery::Delivery;
use serde::Deserialize;

/// The series and the events of a connection. Times are in milliseconds, rates in bits per second.
#[derive(Clone, Debug)]
pub struct Series {
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
    /// Packets that left.
    pub sent: u64,
    /// Probe streams.
    pub streams: Vec<Stream>,
    /// Evaluation slots of a promise.
    pub slots: Vec<Slot>,
    /// States of the congestion controller, and statuses of a promise.
    pub states: Vec<State>,
    /// Probe streams, slots and states for which there was no room.
    pub left_out: u64,
    /// What does not depend on how many points are kept.
    pub figures: Figures,
}

/// Estimates, with their intervals. If a connection changes its path, those of the new path follow
/// those of the old one.
#[derive(Clone, Debug)]
pub struct Estimates {
    /// The number of the path of the latest one.
    path: u32,
    /// When there was none, after the first one.
    pub gaps: Gaps,
    /// The values.
    pub value: Column,
    /// The lower ends of the intervals.
    pub low: Column,
    /// The upper ends.
    pub high: Column,
}

/// What the paper's estimator is called in logs. All others are the default one.
const CLASSIC: &str = "classic";

/// The most probe streams, slots and states that are kept; later ones are counted alone.
const MOST_EVENTS: usize = 200_000;

impl Series {
    /// Reads a log to its end. No series gets more than `most` points.
    ///
    /// # Errors
    /// The input fails, or a record is damaged and the log is strict.
    pub fn of(log: &mut Log, most: usize) -> Result<Self, Error> {
        let mut series = Self::new(most);
        let mut delivery = Delivery::new(most);
        log.for_each(|record| {
            series
                .add(record, &mut delivery)
                .map_err(|error| error.to_string())
        })?;
        if delivery.is_receiver() {
            series.delivered = delivery.into_received();
        }
        series.finish();
        Ok(series)
    }

    fn new(most: usize) -> Self {
        let column = || Column::new(most);
        let estimates = || Estimates {
            path: 0,
            gaps: Gaps::default(),
            value: column(),
            low: column(),
            high: column(),
        };
        Self {
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
            left_out: 0,
            figures: Figures::default(),
        }
    }

    /// Nothing follows.
    fn finish(&mut self) {
        for estimates in [&mut self.statistical, &mut self.classic] {
            estimates.gaps.end(self.end_ms);
            for column in [
                &mut estimates.value,
                &mut estimates.low,
                &mut estimates.high,
            ] {
                column.finish();
            }
        }
        for column in [
            &mut self.bounds,
            &mut self.capacity,
            &mut self.pacing,
            &mut self.window,
            &mut self.in_flight,
            &mut self.threshold,
            &mut self.latest_rtt,
            &mut self.smoothed_rtt,
            &mut self.min_rtt,
            &mut self.delivered,
            &mut self.losses,
        ] {
            column.finish();
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
                let packet = record.packet()?;
                self.lost += 1;
                let number = packet.number.unwrap_or(self.lost);
                self.losses.push(now, number as f64);
            }
            Kind::Metrics => self.add_metrics(now, &record.metrics()?),
            Kind::State => self.add_state(now, false, record.data::<New>()?.new)?,
            Kind::Imtcp => self.add_own(record)?,
            Kind::Other => {}
        }
        self.end_ms = self.end_ms.max(now);
        Ok(())
    }

    fn add_metrics(&mut self, now: f64, metrics: &Metrics) {
        let figures = &mut self.figures;
        if let Some(window) = metrics.congestion_window {
            figures.window.set(now, window);
        }
        if let Some(sample) = metrics.latest_rtt {
            figures.round_trips.add(sample);
        }
        // Before the first sample there is only what the transport assumes.
        let is_measured = figures.round_trips.count() > 0;
        let measured = |span: Option<f64>| span.filter(|_| is_measured);
        if let Some(least) = measured(metrics.min_rtt) {
            let so_far = figures.least_rtt.unwrap_or(f64::INFINITY);
            figures.least_rtt = Some(so_far.min(least));
        }
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

    fn add_state(
        &mut self,
        time_ms: f64,
        is_promise: bool,
        name: String,
    ) -> Result<(), serde_json::Error> {
        let state = State {
            time_ms,
            is_promise,
            name: bounds::name(name)?,
        };
        keep(&mut self.states, state, &mut self.left_out);
        Ok(())
    }

    fn add_own(&mut self, record: &Record<'_>) -> Result<(), serde_json::Error> {
        let now = record.time_ms;
        match record.event() {
            "estimate_updated" => self.add_estimate(now, &record.data()?),
            "estimate_withdrawn" => {
                let Withdrawn { estimator, path } = record.data()?;
                // A path that data has left may say so late.
                if self.of_estimator(&estimator).path == path {
                    self.withdraw(now, &estimator);
                }
            }
            "capacity_updated" => {
                let data: Capacity = record.data()?;
                self.capacity.push_change(now, data.capacity_bps as f64);
            }
            "slot_ended" => self.add_slot(now, record.data()?)?,
            "promise_status_changed" => {
                self.add_state(now, true, record.data::<Status>()?.status)?;
            }
            _ => {
                if let Some(stream) = streams::Stream::of(record)? {
                    keep(&mut self.streams, stream.into(), &mut self.left_out);
                }
            }
        }
        Ok(())
    }

    fn add_slot(&mut self, now: f64, mut slot: Slot) -> Result<(), serde_json::Error> {
        slot.end_ms = now;
        slot.outcome = bounds::name(slot.outcome)?;
        self.figures.slots += u64::from(slot.outcome != "source_limited");
        self.figures.slots_kept += u64::from(slot.outcome == "kept");
        keep(&mut self.slots, slot, &mut self.left_out);
        Ok(())
    }

    fn of_estimator(&mut self, name: &str) -> &mut Estimates {
        match name {
            CLASSIC => &mut self.classic,
            _ => &mut self.statistical,
        }
    }

    fn add_estimate(&mut self, now: f64, estimate: &Told) {
        let value = estimate.available_bps as f64;
        self.of_estimator(&estimate.estimator).path = estimate.path;
        if estimate.is_lower_bound() {
            // It takes the place of the estimate before it.
            self.withdraw(now, &estimate.estimator);
            self.bounds.push(now, value);
            return;
        }
        let low = estimate.low_bps as f64;
        let high = estimate.high_bps.map_or(value, |high| high as f64);
        let estimates = self.of_estimator(&estimate.estimator);
        estimates.gaps.end(now);
        estimates.value.push(now, value);
        estimates.low.push(now, low);
        estimates.high.push(now, high);
        if estimate.estimator != CLASSIC {
            self.figures.estimates += 1;
            self.figures.value.set(now, value);
            self.figures.low.set(now, low);
            self.figures.high.set(now, high);
        }
    }

    /// There is no estimate any more.
    fn withdraw(&mut self, now: f64, estimator: &str) {
        let estimates = self.of_estimator(estimator);
        if estimates.value.is_empty() {
            return;
        }
        estimates.gaps.begin(now);
        if estimator != CLASSIC {
            for mean in [
                &mut self.figures.value,
                &mut self.figures.low,
                &mut self.figures.high,
            ] {
                mean.end(now);
            }
        }
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

/// Keeps an event if there is room for it.
fn keep<T>(kept: &mut Vec<T>, event: T, left_out: &mut u64) {
    if kept.len() < MOST_EVENTS {
        kept.push(event);
    } else {
        *left_out += 1;
    }
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
