//! The log of a connection that changes its path: each path has a controller of its own, and all
//! of them write to one log.

use crate::world::{FIRST_PORT, World};
use imtcp_qlog::Log;
use imtcp_qlog::replay::Replay;
use serde_json::Value;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A log in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut content = self.0.lock().expect("one thread writes");
        content.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn log_of_a_client_that_migrates() -> String {
    let memory = Memory::default();
    let mut world = World::logged(imtcp_cc::Config::default(), Box::new(memory.clone()));
    world.run(Duration::from_secs(3));
    world.migrate(FIRST_PORT + 1);
    world.run(Duration::from_secs(3));
    drop(world);
    let content = memory.0.lock().expect("nobody else has it").clone();
    String::from_utf8(content).expect("it is text")
}

#[test]
fn a_replay_follows_the_first_path_alone() {
    let log = log_of_a_client_that_migrates();
    let numbers = |event: &str| -> Vec<Option<u64>> {
        log.split('\u{1e}')
            .filter(|record| record.contains(event))
            .map(|record| {
                let record: Value = serde_json::from_str(record).expect("each record is JSON");
                record["data"].get("path").and_then(Value::as_u64)
            })
            .collect()
    };
    assert_eq!(numbers("imtcp:parameters_set"), [None, Some(1)]);
    let estimates = numbers("imtcp:estimate_updated");
    let of_first = estimates.iter().filter(|path| path.is_none()).count();
    assert!(
        of_first > 20 && estimates.len() > of_first + 20,
        "{estimates:?}"
    );

    let mut log = Log::new(Cursor::new(log.into_bytes()), Path::new("moves")).expect("a qlog");
    let replay = Replay::of(&mut log, Ok).expect("it can be replayed");
    assert!(replay.is_exact(), "{} differ", replay.differences());
    assert_eq!(replay.told.len(), of_first);
    assert!(
        replay
            .doubts
            .iter()
            .any(|doubt| doubt.contains("another path"))
    );
}
