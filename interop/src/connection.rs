//! A connection of the server, and the protocol that was agreed on.

use crate::hq;
use crate::session::{self, Flushed};
use crate::socket::{Datagram, Socket};
use anyhow::Result;
use imtcp_examples::serve::files::Root;
use imtcp_examples::serve::responses::Responses;
use quiche::h3::WireErrorCode;

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

    /// Tells the client, as far as there is one to tell, that the server ends. In HTTP/3 that is a
    /// code of its own (RFC 9114, section 8.1).
    pub fn say_farewell(&mut self) {
        let code = match self.connection.application_proto() {
            b"h3" => WireErrorCode::NoError as u64,
            _ => 0,
        };
        // Errors mean that it is closing already.
        let _ = self.connection.close(true, code, b"the server ends");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::pair::{Pair, exchange};

    /// The code with which the server closes a connection of this case, if the client first sends
    /// these bytes on a stream of its own.
    fn closed_with(case: Case, control: &[u8], end: fn(&mut Client)) -> u64 {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::open(folder.path()).expect("it is one");
        let http = quiche::h3::Config::new().expect("a configuration");
        let Pair { mut client, server } = Pair::of(case);
        let mut served = Client::new(server, 0);
        if !control.is_empty() {
            client.stream_send(2, control, false).expect("it is taken");
        }
        exchange(&mut client, &mut served.connection);
        served.answer(&http, &root);
        end(&mut served);
        exchange(&mut client, &mut served.connection);
        let error = client.peer_error().expect("the server has closed it");
        assert!(error.is_app);
        error.error_code
    }

    #[test]
    fn an_error_of_http_3_closes_the_connection_with_its_own_code() {
        // A control stream that does not begin with SETTINGS (RFC 9114, section 6.2.1).
        let data = [0, 0, 0];
        let code = closed_with(Case::Http3, &data, |_| {});
        assert_eq!(code, WireErrorCode::MissingSettings as u64);
    }

    #[test]
    fn the_end_of_the_server_is_no_error() {
        let end = Client::say_farewell;
        let http = closed_with(Case::Http3, &[], end);
        assert_eq!(http, WireErrorCode::NoError as u64);
        assert_eq!(closed_with(Case::Transfer, &[], end), 0);
    }
}
