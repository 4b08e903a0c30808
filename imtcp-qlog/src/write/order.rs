//! Puts records into the order of their times. A controller hears of some things after quiche has
//! logged what came next, and the draft asks for ascending times
//! (draft-ietf-quic-qlog-main-schema-15, section 6.1).

use super::record;
use std::collections::VecDeque;

/// By how many records another one may be late.
const MOST_LATE: usize = 64;

/// Records that may still be overtaken.
#[derive(Debug, Default)]
pub(super) struct Order {
    waiting: VecDeque<(f64, Vec<u8>)>,
}

impl Order {
    /// Takes a record. Gives back the one that nothing can overtake any more.
    pub(super) fn take(&mut self, record: Vec<u8>) -> Option<Vec<u8>> {
        let last = self.waiting.back().map_or(0.0, |(time, _)| *time);
        let time = record::parts(&record)
            .and_then(|parts| record::time(parts.time))
            .unwrap_or(last);
        let later = self
            .waiting
            .iter()
            .rev()
            .take_while(|(other, _)| *other > time)
            .count();
        self.waiting
            .insert(self.waiting.len() - later, (time, record));
        let is_full = self.waiting.len() > MOST_LATE;
        is_full
            .then(|| self.waiting.pop_front())
            .flatten()
            .map(|(_, record)| record)
    }

    /// Gives back what is left.
    pub(super) fn finish(&mut self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.waiting.drain(..).map(|(_, record)| record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(times: &[f64]) -> Vec<(f64, usize)> {
        let mut order = Order::default();
        let mut records = Vec::new();
        for (index, time) in times.iter().enumerate() {
            let data = format!("{{\"index\":{index}}}");
            let record = record::record(&time.to_string(), "a:b", data.as_bytes());
            records.extend(order.take(record));
        }
        records.extend(order.finish());
        let entry = |record: &Vec<u8>| {
            let parts = record::parts(record).expect("a record");
            let data: serde_json::Value = serde_json::from_slice(parts.data).expect("JSON");
            let index = data["index"]
                .as_u64()
                .and_then(|index| usize::try_from(index).ok());
            (
                parts.time.parse().expect("a time"),
                index.expect("an index"),
            )
        };
        records.iter().map(entry).collect()
    }

    #[test]
    fn what_is_late_takes_its_place_and_equals_stay_as_they_came() {
        let expected = [(0.0, 0), (1.0, 1), (1.0, 3), (2.0, 2), (2.5, 4)];
        assert_eq!(ordered(&[0.0, 1.0, 2.0, 1.0, 2.5]), expected);
    }

    #[test]
    fn what_has_no_time_stays_where_it_is() {
        let expected = |index| move |entry: &(f64, usize)| entry.1 == index;
        for time in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let found = ordered(&[0.0, time, 2.0, 1.0, 3.0]);
            let place = |index| found.iter().position(expected(index));
            assert_eq!(place(1), Some(1), "{found:?}");
            assert!(place(3) < place(2), "{found:?}");
        }
    }

    #[test]
    fn only_so_many_records_wait() {
        let times: Vec<f64> = (0..1000).map(f64::from).chain([0.5]).collect();
        let records = ordered(&times);
        assert_eq!(records.len(), 1001);
        assert_eq!(records[1000 - MOST_LATE], (0.5, 1000));
    }
}
