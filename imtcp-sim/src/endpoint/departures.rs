//! How old application data is when it leaves: from the instant at which the application had it to
//! the instant at which the packet that carries it for the first time is built.
//!
//! quiche tells which packet carries which data in its qlog alone, so this reads that log, as it is
//! written. It works for every controller and changes nothing of the connection.

use imtcp_cc::units::Timestamp;
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The departures of a connection's data. Clones share one record.
#[derive(Clone, Debug, Default)]
pub struct Departures {
    state: Arc<Mutex<State>>,
}

/// Bytes that one packet took along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When they left.
    pub at: Timestamp,
    /// How long the application had waited with them.
    pub age: Duration,
    /// How many they are.
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct State {
    now: Timestamp,
    /// The beginning of a qlog record that is not complete yet.
    record: Vec<u8>,
    /// For each number of bytes, when the application had so many to send, oldest first.
    waiting: VecDeque<(u64, Timestamp)>,
    made: u64,
    /// How many bytes have left for the first time.
    left: u64,
    departures: Vec<Departure>,
}

impl Departures {
    /// Tells what time it is.
    pub(super) fn set_now(&self, now: Timestamp) {
        self.lock().now = now;
    }

    /// The application has had `total` bytes to send so far.
    pub(super) fn made(&self, total: u64) {
        let mut state = self.lock();
        if total > state.made {
            state.made = total;
            let now = state.now;
            state.waiting.push_back((total, now));
        }
    }

    /// All departures so far, in order.
    pub fn list(&self) -> Vec<Departure> {
        self.lock().departures.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection's qlog comes here.
impl Write for Departures {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.lock();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            state.record.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let record = std::mem::take(&mut state.record);
                state.read(&record);
                state.record = record;
                state.record.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl State {
    /// One record of a JSON text sequence.
    fn read(&mut self, record: &[u8]) {
        let text = std::str::from_utf8(record).unwrap_or_default();
        if !text.contains("\"quic:packet_sent\"") {
            return;
        }
        let text = text.trim_start_matches('\u{1e}');
        let Ok(record) = serde_json::from_str::<Record<'_>>(text) else {
            return;
        };
        for frame in record.data.frames {
            let bytes = frame.raw.map_or(0, |raw| raw.payload_length);
            match frame.frame_type {
                "stream" => self.leave_up_to(frame.offset + bytes),
                "datagram" => self.leave_up_to(self.left + bytes),
                _ => {}
            }
        }
    }

    /// The bytes up to this number leave. Those among them that had left before are sent again.
    fn leave_up_to(&mut self, end: u64) {
        while self.left < end
            && let Some(&(until, since)) = self.waiting.front()
        {
            let bytes = until.min(end) - self.left;
            self.left += bytes;
            self.departures.push(Departure {
                at: self.now,
                age: self.now.saturating_since(since),
                bytes,
            });
            if self.left == until {
                self.waiting.pop_front();
            }
        }
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    data: Sent<'a>,
}

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow, default)]
    frames: Vec<Frame<'a>>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    frame_type: &'a str,
    #[serde(default)]
    offset: u64,
    raw: Option<Raw>,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    payload_length: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(ms))
    }

    fn sent(frames: &str) -> String {
        format!("\u{1e}{{\"name\":\"quic:packet_sent\",\"data\":{{\"frames\":[{frames}]}}}}\n")
    }

    fn stream(offset: u64, length: u64) -> String {
        sent(&format!(
            "{{\"frame_type\":\"stream\",\"offset\":{offset},\
             \"raw\":{{\"payload_length\":{length}}}}}"
        ))
    }

    /// The departure's time, the data's age, and the bytes.
    fn left(departures: &Departures) -> Vec<(Timestamp, Duration, u64)> {
        let list = departures.list().into_iter();
        list.map(|d| (d.at, d.age, d.bytes)).collect()
    }

    fn each(expected: &[(u64, u64, u64)]) -> Vec<(Timestamp, Duration, u64)> {
        let departure =
            |(at, age, bytes): &(u64, u64, u64)| (ms(*at), Duration::from_millis(*age), *bytes);
        expected.iter().map(departure).collect()
    }

    #[test]
    fn bytes_count_once_with_the_age_of_what_they_belong_to() {
        let mut departures = Departures::default();
        departures.set_now(ms(10));
        departures.made(1000);
        departures.set_now(ms(15));
        departures.made(3000);
        departures.set_now(ms(20));
        let text = stream(0, 1500);
        // Records come in pieces.
        let (first, rest) = text.split_at(30);
        departures
            .write_all(first.as_bytes())
            .expect("it takes all");
        assert!(departures.list().is_empty());
        departures.write_all(rest.as_bytes()).expect("it takes all");
        departures.set_now(ms(40));
        departures.made(4000);
        // The lost packet again, then new data.
        for text in [stream(0, 1500), stream(1500, 1500)] {
            departures.write_all(text.as_bytes()).expect("it takes all");
        }
        let expected = [(20, 10, 1000), (20, 5, 500), (40, 25, 1500)];
        assert_eq!(left(&departures), each(&expected));
    }

    #[test]
    fn datagrams_leave_in_order() {
        let mut departures = Departures::default();
        for at in [1, 2] {
            departures.set_now(ms(at));
            departures.made(at * 1000);
        }
        departures.set_now(ms(5));
        let frame = "{\"frame_type\":\"datagram\",\"raw\":{\"payload_length\":1000}}";
        for _ in 0..2 {
            let text = sent(frame);
            departures.write_all(text.as_bytes()).expect("it takes all");
        }
        assert_eq!(left(&departures), each(&[(5, 4, 1000), (5, 3, 1000)]));
    }
}
