//! Whose path a controller works for, as far as its transport tells.

use std::net::SocketAddr;
use std::sync::Arc;

/// A path of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathInfo {
    /// The connection, by the name that its qlog and its logs have; with quiche
    /// `Connection::trace_id()`.
    pub connection: Arc<str>,
    /// Which end of it this is.
    pub role: Role,
    /// The address of this end.
    pub local: SocketAddr,
    /// The address of the other end.
    pub peer: SocketAddr,
}

impl PathInfo {
    /// A path between two addresses.
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
    /// The end that opened it.
    Client,
    /// The end that answered.
    Server,
}
