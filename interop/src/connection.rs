//! A connection of the server, and the protocol that was agreed on.

use crate::hq;
use crate::session::{self, Flushed};
use crate::socket::{Datagram, Socket};
use anyhow::Result;
use imtcp_examples::serve::files::Root;
use imtcp_examples::serve::responses::Responses;

/// Whom the server serves.
pub struct Client {
    pub connection: quiche::Connection,
    /// The number of the socket to which its first datagram came.
    pub socket: usize,
    protocol: Option<Protocol>,
    /// Something has happened that it has not acted on yet.
    pub has_work: bool,
}

enum Protocol {
    Hq(hq::Responses),
    Http3(Box<Responses>),
}

impl Client {
    /// One that has just been accepted.
    pub fn new(connection: quiche::Connection, socket: usize) -> Self {
        Self {
            connection,
            socket,
            protocol: None,
            has_work: true,
        }
    }

    /// Takes a datagram.
    pub fn receive(&mut self, datagram: Datagram<'_>) {
        session::receive(&mut self.connection, datagram);
        self.has_work = true;
    }

    /// Sends what may leave, then answers requests, then sends what came of that. True if there is
    /// more to send at once.
    ///
    /// # Errors
    /// The runtime is shutting down.
    pub async fn work(
        &mut self,
        socket: &Socket,
        http: &quiche::h3::Config,
        root: &Root,
    ) -> Result<bool> {
        if session::flush(&mut self.connection, socket).await? == Flushed::ABatch {
            return Ok(true);
        }
        self.answer(http, root);
        let flushed = session::flush(&mut self.connection, socket).await?;
        Ok(flushed == Flushed::ABatch)
    }

    fn answer(&mut self, http: &quiche::h3::Config, root: &Root) {
        let connection = &mut self.connection;
        let takes_data = connection.is_established() || connection.is_in_early_data();
        if !takes_data || connection.is_closed() || connection.is_draining() {
            return;
        }
        if self.protocol.is_none() {
            self.protocol = match connection.application_proto() {
                // What fails has closed the connection with the error to send.
                b"h3" => Responses::begin(connection, http)
                    .ok()
                    .map(|responses| Protocol::Http3(Box::new(responses))),
                _ => Some(Protocol::Hq(hq::Responses::default())),
            };
        }
        match &mut self.protocol {
            Some(Protocol::Hq(responses)) => responses.advance(connection, root),
            Some(Protocol::Http3(responses)) => {
                responses.take_requests(connection, root);
                responses.fill(connection);
            }
            None => {}
        }
    }
}
