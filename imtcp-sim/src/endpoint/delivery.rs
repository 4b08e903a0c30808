//! What reached the client's application, and how long round trips took.

use crate::statistics::quantile_of_sorted;
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// Counts of a flow's outcome.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// Application bytes read by the client, each once, in order on streams.
    pub bytes: u64,
    /// When the last of a transfer of known size was read.
    pub completed: Option<Timestamp>,
    /// Datagrams from the client that reached the server.
    pub acknowledgements: u64,
    /// `bytes` after each arrival that raised it, where it is wanted.
    course: Option<Vec<(Timestamp, u64)>>,
    /// Round trips in nanoseconds, without the time that the client held back.
    round_trips: Vec<u64>,
}

impl Delivery {
    /// With the course of [`Delivery::bytes`] over time.
    pub(super) fn with_course() -> Self {
        Self {
            course: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// The client's application read this much.
    pub(super) fn read(&mut self, now: Timestamp, bytes: u64) {
        self.bytes += bytes;
        if let Some(course) = self.course.as_mut().filter(|_| bytes > 0) {
            course.push((now, self.bytes));
        }
    }

    /// [`Delivery::bytes`] at an instant of the past; `None` where the course was not kept.
    pub fn bytes_at(&self, at: Timestamp) -> Option<u64> {
        let course = self.course.as_ref()?;
        let later = course.partition_point(|(when, _)| *when <= at);
        Some(later.checked_sub(1).map_or(0, |last| course[last].1))
    }

    /// The seconds from making each burst until all of it was read, ascending. Each burst comes
    /// with the bytes of all bursts up to it. What was not read is left out.
    pub(super) fn delays(&self, bursts: &[(Timestamp, u64)]) -> Vec<f64> {
        let delay = |(made, bytes): &(Timestamp, u64)| {
            let read = self.time_of(*bytes)?;
            Some(read.saturating_since(*made).as_secs_f64())
        };
        let mut delays: Vec<f64> = bursts.iter().filter_map(delay).collect();
        delays.sort_unstable_by(f64::total_cmp);
        delays
    }

    /// The seconds from making each burst that was not read whole until `end`.
    pub(super) fn unread(&self, bursts: &[(Timestamp, u64)], end: Timestamp) -> Vec<f64> {
        let unread = bursts
            .iter()
            .filter(|(made, bytes)| *made < end && self.time_of(*bytes).is_none());
        unread
            .map(|(made, _)| end.saturating_since(*made).as_secs_f64())
            .collect()
    }

    /// When this many bytes had been read; `None` if that has not come, or where the course was not
    /// kept.
    fn time_of(&self, bytes: u64) -> Option<Timestamp> {
        let course = self.course.as_ref()?;
        let before = course.partition_point(|(_, read)| *read < bytes);
        course.get(before).map(|(at, _)| *at)
    }

    pub(super) fn round_trip(&mut self, sample: Duration) {
        self.round_trips
            .push(u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The given quantiles (0 to 1) of the round trips, by nearest rank; none without a round trip.
    pub fn round_trip_quantiles<const N: usize>(&self, at: [f64; N]) -> Option<[Duration; N]> {
        let mut sorted = self.round_trips.clone();
        sorted.sort_unstable();
        let quantile = |at| quantile_of_sorted(&sorted, at).map(Duration::from_nanos);
        quantile(0.0)?;
        Some(at.map(|at| quantile(at).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_that_was_not_read_whole_has_lasted_until_the_end() {
        let at = |seconds: u64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let mut delivery = Delivery::with_course();
        delivery.read(at(3), 100);
        delivery.read(at(7), 50);
        let bursts = [(at(1), 100), (at(4), 200), (at(9), 300), (at(10), 400)];
        assert_eq!(delivery.delays(&bursts), [2.0]);
        assert_eq!(delivery.unread(&bursts, at(10)), [6.0, 1.0]);
    }
}
