//! Whose path a controller is for.

use std::net::Ipv6Addr;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::recovery::RecoveryConfig;

/// Whose path it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathIdentity {
    /// [`Connection::trace_id()`](crate::Connection::trace_id), which names qlogs too.
    pub connection: Arc<str>,
    /// Whether this end is the server.
    pub is_server: bool,
    /// The address of this end.
    pub local: SocketAddr,
    /// The address of the other end.
    pub peer: SocketAddr,
}

impl Default for PathIdentity {
    /// An identity without a connection and without addresses.
    fn default() -> Self {
        let nowhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        Self {
            connection: Arc::from(""),
            is_server: false,
            local: nowhere,
            peer: nowhere,
        }
    }
}

impl RecoveryConfig {
    /// The same identity, for the paths of this connection.
    pub(crate) fn in_connection(mut self, is_server: bool, trace_id: String) -> Self {
        self.path.connection = Arc::from(trace_id);
        self.path.is_server = is_server;
        self
    }

    /// The same identity, for the path between these addresses.
    pub(crate) fn on_path(&self, local: SocketAddr, peer: SocketAddr) -> Self {
        let mut config = self.clone();
        config.path.local = local;
        config.path.peer = peer;
        config
    }
}
