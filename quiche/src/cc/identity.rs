//! Whose path a controller is for.

use std::any::Any;
use std::fmt;
use std::net::Ipv6Addr;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::OnceLock;

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
    /// What the controllers of the connection's paths have in common.
    pub common: Common,
}

/// A place for what the controllers of one connection have in common. It is empty until one of them
/// puts something there, and lasts as long as the connection or whoever has a clone.
#[derive(Clone, Default)]
pub struct Common(Arc<OnceLock<Box<dyn Any + Send + Sync>>>);

impl Common {
    /// What is there; `make` puts something there if the place is empty. `None` if a controller of
    /// another kind has put something else there.
    pub fn get_or_init<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        let held = self.0.get_or_init(|| Box::new(make()));
        held.downcast_ref()
    }
}

/// Two are equal when they are the same place.
impl PartialEq for Common {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Common {}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Common")
    }
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
            common: Common::default(),
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
