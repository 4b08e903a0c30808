//! What a connection with a plug-in writes to its qlog.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::controller::{factory, Policy, Script};
use crate::world::{server_config, World};

/// A file in memory that can be read while quiche owns the writing end.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    /// What was written so far.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().expect("no writer panicked").clone();
        String::from_utf8(bytes).expect("a log is text")
    }
}

impl io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .expect("no writer panicked")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text of the log of a short transfer.
fn log() -> String {
    let config = server_config(factory(Script::new(Policy::Paced(Duration::from_millis(
        1,
    )))));
    let mut world = World::before_handshake(config, 3);
    let memory = Memory::default();
    world
        .server
        .set_qlog(Box::new(memory.clone()), "seam".into(), "test".into());
    world.shake_hands();
    world.transfer(30_000);
    drop(world);
    memory.text()
}

/// The events of a log.
pub fn events(log: &str) -> Vec<serde_json::Value> {
    let records = log
        .split('\u{1e}')
        .filter(|record| !record.trim().is_empty());
    records
        .map(|record| serde_json::from_str(record).expect("a record is JSON"))
        .collect()
}

#[test]
fn metrics_come_from_the_controller() {
    let events = events(&log());
    let has = |field: &str, value: u64| events.iter().any(|event| event["data"][field] == value);
    assert!(has("congestion_window", 60_000));
    assert!(has("ssthresh", 12_345));
    assert!(has("pacing_rate", 1_000_000));
    for field in ["bytes_in_flight", "smoothed_rtt", "min_rtt", "latest_rtt"] {
        assert!(
            events.iter().any(|event| event["data"][field].is_number()),
            "{field} is logged"
        );
    }
    let state = |event: &&serde_json::Value| event["data"]["new"] == "scripted";
    assert_eq!(
        events.iter().filter(state).count(),
        1,
        "the state is logged when it changes"
    );
}

#[test]
fn the_controllers_events_stand_at_their_own_times() {
    let events = events(&log());
    let named = |name: &str| {
        let of_name = move |event: &&serde_json::Value| event["name"] == *name;
        events.iter().filter(of_name).cloned().collect::<Vec<_>>()
    };
    let noted = named("scripted:packet_noted");
    let sent = named("quic:packet_sent");
    assert!(
        noted.len() > 20 && noted.len() == sent.len(),
        "{} notes of {} packets",
        noted.len(),
        sent.len()
    );
    for (note, packet) in noted.iter().zip(&sent) {
        assert_eq!(note["time"], packet["time"]);
        assert_eq!(
            note["data"]["packet_number"],
            packet["data"]["header"]["packet_number"]
        );
    }
}

#[test]
fn a_simulated_run_writes_the_same_log_again() {
    assert_eq!(log(), log());
}
