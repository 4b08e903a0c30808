//! Which connection a datagram is for.

use super::client::Client;
use quiche::ConnectionId;
use std::collections::{BTreeMap, HashMap};

/// The connections by their ids: the one that the server chose, and the one that the client made up
/// for its first datagrams.
#[derive(Default)]
pub(super) struct Routes {
    clients: BTreeMap<u64, Entry>,
    by_id: HashMap<ConnectionId<'static>, u64>,
    /// Connections so far.
    count: u64,
}

struct Entry {
    client: Client,
    ids: [ConnectionId<'static>; 2],
}

impl Routes {
    pub(super) fn insert(&mut self, client: Client, ids: [ConnectionId<'static>; 2]) {
        self.count += 1;
        for id in &ids {
            self.by_id.insert(id.clone(), self.count);
        }
        self.clients.insert(self.count, Entry { client, ids });
    }

    pub(super) fn find(&mut self, id: &ConnectionId<'_>) -> Option<&mut Client> {
        let number = self.by_id.get(id)?;
        self.clients.get_mut(number).map(|entry| &mut entry.client)
    }

    pub(super) fn len(&self) -> usize {
        self.clients.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Client> {
        self.clients.values_mut().map(|entry| &mut entry.client)
    }

    /// Forgets connections that have ended, after a last look at each.
    pub(super) fn remove_closed(&mut self, mut look: impl FnMut(&Client)) {
        let Self { clients, by_id, .. } = self;
        clients.retain(|_, entry| {
            let open = !entry.client.session.connection.is_closed();
            if !open {
                look(&entry.client);
                for id in &entry.ids {
                    by_id.remove(id);
                }
            }
            open
        });
    }
}
