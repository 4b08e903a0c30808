//! What all connections of a server share.

use crate::connection::{Connection, Farewell};
use crate::csv::CsvFile;
use crate::folder::Folder;
use crate::metrics::Counts;
use crate::release::Release;
use crate::required::Policy;
use imtcp_cc::promise::Requirement;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What all connections of a server share.
#[derive(Debug)]
pub struct Site {
    /// What is served.
    pub folder: Folder,
    /// What clients may require.
    pub policy: Policy,
    /// How the release time of a packet is waited for.
    pub release: Release,
    /// The controller of every connection, by its name on the command line.
    pub controller: &'static str,
    /// What is required on every connection.
    pub promise: Option<Requirement>,
    /// How long a client may take nothing of an answer before it is given up.
    pub patience: Duration,
    /// What has happened so far.
    pub counts: Counts,
    /// The connections that there are.
    pub live: Arc<Live>,
    /// Where the fate of promises is written.
    pub slots: Option<CsvFile>,
}

/// Connections that have ended, and are remembered.
const REMEMBERED: usize = 50;

/// The connections that there are, in the order in which they came, and the last that were.
#[derive(Debug, Default)]
pub struct Live(Mutex<Register>);

#[derive(Debug, Default)]
struct Register {
    count: u64,
    connections: BTreeMap<u64, Arc<Connection>>,
    /// The latest first.
    ended: VecDeque<Arc<Farewell>>,
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, Register> {
        // Whole after every call, so a poisoned lock holds nothing half-made.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one. Returns its number, to remove it by.
    pub fn add(&self, connection: Arc<Connection>) -> u64 {
        let mut register = self.lock();
        register.count += 1;
        let number = register.count;
        register.connections.insert(number, connection);
        number
    }

    /// Removes one.
    pub fn remove(&self, number: u64) {
        self.lock().connections.remove(&number);
    }

    /// Remembers one that has ended, for a while.
    pub fn bid_farewell(&self, farewell: Farewell) {
        let mut register = self.lock();
        register.ended.truncate(REMEMBERED - 1);
        register.ended.push_front(Arc::new(farewell));
    }

    /// Those that have ended, the latest first.
    pub fn farewells(&self) -> Vec<Arc<Farewell>> {
        self.lock().ended.iter().cloned().collect()
    }

    /// All of them, as of now.
    pub fn all(&self) -> Vec<Arc<Connection>> {
        self.lock().connections.values().cloned().collect()
    }
}
