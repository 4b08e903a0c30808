//! What a connection with a plug-in writes to its qlog.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::controller::{factory, Policy, Script};
use crate::world::{base_config, server_config, World, DELAY};

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

/// A short transfer is over, and this is the server's log so far.
fn logged() -> (World, Memory) {
    let script = Script::new(Policy::Paced(Duration::from_millis(1)));
    let mut server = server_config(factory(script));
    server.set_active_connection_id_limit(8);
    let mut client = base_config();
    client.set_active_connection_id_limit(8);
    let mut world = World::of_both(server, client, 3);
    let memory = Memory::default();
    world
        .server
        .set_qlog(Box::new(memory.clone()), "seam".into(), "test".into());
    world.shake_hands();
    world.transfer(30_000);
    (world, memory)
}

/// The text of the log of a short transfer.
fn log() -> String {
    let (world, memory) = logged();
    drop(world);
    memory.text()
}

/// How many events of this name there are in a log.
fn count(log: &Memory, name: &str) -> usize {
    let events = events(&log.text());
    events.iter().filter(|event| event["name"] == *name).count()
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

#[test]
fn what_is_logged_at_an_idle_timeout_is_in_the_log() {
    let (mut world, log) = logged();
    world.client_is_mute = true;
    world.run_for(Duration::from_secs(31));
    assert!(world.server.is_timed_out());
    // Of the two sides' idle timers, the server's ends the server.
    assert_eq!(count(&log, "scripted:closed"), 1);
}

#[test]
fn what_is_logged_when_a_path_is_left_does_not_wait_for_a_packet_on_it() {
    let (mut world, log) = logged();
    for number in 0..3u8 {
        let id = [0x70 + number; 16];
        let id = quiche::ConnectionId::from_ref(&id);
        let told = world.client.new_scid(&id, number.into(), false);
        told.expect("the server takes more");
    }
    world.run_for(DELAY * 4);
    world.rebind(9);
    world.client.send_ack_eliciting().expect("it is connected");
    world.run_for(DELAY * 4);
    assert_eq!(count(&log, "scripted:path_left"), 1);
}
