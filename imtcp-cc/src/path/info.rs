//! The identity of a controller's path, as its transport tells it.

use std::net::SocketAddr;
use std::sync::Arc;

/// A path of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathInfo {
    /// The name of the connection in qlog and in logs. With quiche it is
    /// `Connection::trace_id()`.
    pub connection: Arc<str>,
    /// The end of the connection that the controller works for.
    pub role: Role,
    /// The address of this end.
    pub local: SocketAddr,
    /// The address of the other end.
    pub peer: SocketAddr,
}

impl PathInfo {
    /// The identity of a path between two addresses.
    pub fn new(connection: Arc<str>, role: Role, local: SocketAddr, peer: SocketAddr) -> Self {
        Self {
            connection,
            role,
            local,
            peer,
        }
    }
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The end that opened the connection.
    Client,
    /// The end that accepted the connection.
    Server,
}
