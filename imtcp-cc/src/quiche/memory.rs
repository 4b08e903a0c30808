//! What the connections of a factory remember of paths.
//!
//! A lock guards it. It is taken when a connection begins and when it ends, and never for a packet.

use super::peer::network;
use crate::saved::SavedPath;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest time for which a path is remembered.
const LONGEST_AGE: Duration = Duration::from_secs(3600);

/// The largest number of paths.
const MOST_PATHS: usize = 4096;

/// A remembered path, for an application that stores it or hands it to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RememberedPath {
    /// The network of the peer: the first 24 bits of an IPv4 address, or the first 48 bits of an
    /// IPv6 address. All peers in it count as one.
    pub network: IpAddr,
    /// What is known of the path.
    pub path: SavedPath,
    /// How old this is. After an hour it is forgotten.
    pub age: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<BTreeMap<IpAddr, Entry>>);

#[derive(Clone, Copy, Debug)]
struct Entry {
    path: SavedPath,
    /// How old it was when it was saved, and when that was.
    age: Duration,
    saved: Instant,
}

impl Entry {
    fn age(&self, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.saved);
        self.age.saturating_add(since)
    }
}

impl Memory {
    /// What is remembered of the path to a peer. It is given away once. If many connections to one
    /// network began at the same time, each would jump to the whole of what is available.
    pub(super) fn take(&self, peer: IpAddr, now: Instant) -> Option<SavedPath> {
        let entry = self.lock().remove(&network(peer))?;
        (entry.age(now) <= LONGEST_AGE).then_some(entry.path)
    }

    pub(super) fn save(&self, peer: IpAddr, path: SavedPath, age: Duration, now: Instant) {
        let entry = Entry {
            path,
            age,
            saved: now,
        };
        let (mut entries, network) = (self.lock(), network(peer));
        if entries.len() >= MOST_PATHS && !entries.contains_key(&network) {
            let oldest = entries.iter().max_by_key(|(_, entry)| entry.age(now));
            if let Some(oldest) = oldest.map(|(network, _)| *network) {
                entries.remove(&oldest);
            }
        }
        entries.insert(network, entry);
    }

    pub(super) fn all(&self, now: Instant) -> Vec<RememberedPath> {
        let entries = self.lock();
        let all = entries.iter().map(|(network, entry)| RememberedPath {
            network: *network,
            path: entry.path,
            age: entry.age(now),
        });
        all.filter(|path| path.age <= LONGEST_AGE).collect()
    }

    /// A map is whole after every operation on it, so a poisoned lock holds no half-made state.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a path leaves to later connections.
#[derive(Debug)]
pub(super) struct Legacy {
    memory: Option<Arc<Memory>>,
    peer: IpAddr,
    /// Whether the path has told anything since it last left something.
    has_learned: bool,
}

impl Legacy {
    pub(super) fn new(memory: Option<Arc<Memory>>, peer: IpAddr) -> Self {
        Self {
            memory,
            peer,
            has_learned: false,
        }
    }

    /// The path has told something.
    pub(super) fn on_ack(&mut self) {
        self.has_learned = true;
    }

    /// Leaves what is known of the path, once. A connection that ends says so more than once, and
    /// on the paths that it has left as well. By then another connection may have taken what is
    /// known, or have left something newer.
    pub(super) fn leave(&mut self, path: Option<SavedPath>, now: Instant) {
        let has_learned = std::mem::take(&mut self.has_learned);
        if let (true, Some(memory), Some(path)) = (has_learned, &self.memory, path) {
            memory.save(self.peer, path, Duration::ZERO, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bandwidth;
    use std::net::Ipv4Addr;

    fn path(megabits: u64) -> SavedPath {
        SavedPath {
            available: Bandwidth::from_mbps(megabits),
            least_rtt: Duration::from_millis(40),
        }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[expect(clippy::disallowed_methods, reason = "only differences to it are used")]
    fn now() -> Instant {
        Instant::now()
    }

    #[test]
    fn peers_of_one_network_share_what_is_known_and_the_first_takes_it() {
        let (memory, now) = (Memory::default(), now());
        for (one, other, stranger) in [
            ("192.0.2.1", "192.0.2.254", "192.0.3.1"),
            ("2001:db8:1:2::3", "2001:db8:1:ffff::", "2001:db8:2::"),
            ("198.51.100.1", "::ffff:198.51.100.2", "::198.51.100.1"),
        ] {
            memory.save(address(one), path(50), Duration::ZERO, now);
            assert_eq!(memory.take(address(stranger), now), None, "{stranger}");
            assert_eq!(memory.take(address(other), now), Some(path(50)), "{other}");
            assert_eq!(memory.take(address(one), now), None, "{one}");
        }
    }

    #[test]
    fn an_hour_is_remembered_the_age_at_hand_over_included() {
        let (memory, now) = (Memory::default(), now());
        let (peer, half) = (address("192.0.2.1"), LONGEST_AGE / 2);
        memory.save(peer, path(50), half, now);
        let [remembered] = memory.all(now + half)[..] else {
            panic!("one path");
        };
        assert_eq!(remembered.network, address("192.0.2.0"));
        assert_eq!(remembered.age, LONGEST_AGE);
        let later = now + half + Duration::from_nanos(1);
        assert_eq!(memory.all(later), []);
        assert_eq!(memory.take(peer, later), None);
    }

    #[test]
    fn a_full_memory_forgets_the_oldest() {
        let (memory, now) = (Memory::default(), now());
        let peer = |index: usize| {
            let index = u32::try_from(index).expect("few");
            IpAddr::V4(Ipv4Addr::from_bits(index << 8))
        };
        for index in 0..=MOST_PATHS {
            let at = now + Duration::from_millis(u64::try_from(index).expect("few"));
            memory.save(peer(index), path(1), Duration::ZERO, at);
        }
        assert_eq!(memory.all(now).len(), MOST_PATHS);
        assert_eq!(memory.take(peer(0), now), None);
        assert_eq!(memory.take(peer(MOST_PATHS), now), Some(path(1)));
    }
}
