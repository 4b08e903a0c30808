//! One connection of the server and what is asked on it.

use super::files::Root;
use super::responses::Responses;
use super::undertaking::Undertaking;
use crate::session::{Flushed, Session};
use crate::socket::Socket;

/// A connection.
pub(super) struct Client {
    pub(super) session: Session,
    /// Something has happened that it has not acted on yet.
    pub(super) has_work: bool,
    responses: Option<Responses>,
    undertaking: Option<Undertaking>,
    /// Datagrams that the kernel refused.
    pub(super) refused_sends: u64,
}

impl Client {
    /// With what is required on it, if anything.
    pub(super) fn new(session: Session, undertaking: Option<Undertaking>) -> Self {
        Self {
            session,
            has_work: true,
            responses: None,
            undertaking,
            refused_sends: 0,
        }
    }

    /// Sends what may leave, then answers requests, then sends what came of that. What is due
    /// leaves first: reading files would make it late.
    pub(super) async fn work(
        &mut self,
        socket: &Socket,
        http: &quiche::h3::Config,
        root: &Root,
    ) -> Flushed {
        if self.flush(socket).await == Flushed::ABatch {
            return Flushed::ABatch;
        }
        self.answer(http, root);
        self.flush(socket).await
    }

    /// A datagram that cannot be sent is a lost datagram; if none can, the connection times out.
    async fn flush(&mut self, socket: &Socket) -> Flushed {
        match self.session.flush(socket).await {
            Ok(flushed) => flushed,
            Err(error) => {
                if self.refused_sends == 0 {
                    eprintln!(
                        "{}: cannot send: {error}",
                        self.session.connection.trace_id()
                    );
                }
                self.refused_sends += 1;
                Flushed::ABatch
            }
        }
    }

    fn answer(&mut self, http: &quiche::h3::Config, root: &Root) {
        let connection = &mut self.session.connection;
        if !connection.is_established() || connection.is_closed() || connection.is_draining() {
            return;
        }
        if self.responses.is_none() {
            // What fails has closed the connection with the error to send.
            self.responses = Responses::begin(connection, http).ok();
        }
        if let Some(responses) = &mut self.responses {
            responses.take_requests(connection, root);
            responses.fill(connection);
        }
        if let Some(undertaking) = &mut self.undertaking {
            undertaking.follow(connection);
        }
    }

    /// Requests answered in full.
    pub(super) fn completed_responses(&self) -> u64 {
        self.responses.as_ref().map_or(0, Responses::completed)
    }
}
