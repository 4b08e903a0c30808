//! One connection of the server and what is asked on it.

use super::files::Root;
use super::frames::Frames;
use super::responses::Responses;
use super::undertaking::Undertaking;
use crate::output::say;
use crate::session::{Flushed, Session};
use crate::socket::Socket;
use std::time::Instant;

/// A connection.
pub(super) struct Client {
    pub(super) session: Session,
    /// Something has happened that it has not acted on yet.
    pub(super) has_work: bool,
    responses: Option<Responses>,
    frames: Option<Frames>,
    undertaking: Option<Undertaking>,
    /// Datagrams that the kernel refused.
    pub(super) refused_sends: u64,
}

impl Client {
    /// With the frames in which bodies come, and what is required on it, if anything.
    pub(super) fn new(
        session: Session,
        frames: Option<Frames>,
        undertaking: Option<Undertaking>,
    ) -> Self {
        Self {
            session,
            has_work: true,
            responses: None,
            frames,
            undertaking,
            refused_sends: 0,
        }
    }

    /// When it wants to be woken.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.session
            .wake_at()
            .into_iter()
            .chain(self.next_frame())
            .min()
    }

    /// None once nothing is answered any more: the next frame would be due for ever.
    fn next_frame(&self) -> Option<Instant> {
        let responses = self.responses.as_ref();
        responses.filter(|_| self.may_answer())?.next_frame()
    }

    fn may_answer(&self) -> bool {
        let connection = &self.session.connection;
        connection.is_established() && !connection.is_closed() && !connection.is_draining()
    }

    /// Lets timers fire that are due. True if it may have something to send now.
    pub(super) fn wake(&mut self, now: Instant) -> bool {
        let has_frame = self.next_frame().is_some_and(|due| due <= now);
        self.session.wake(now) || has_frame
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
                    let name = self.session.connection.trace_id();
                    say(format_args!("{name}: cannot send: {error}"));
                }
                self.refused_sends += 1;
                Flushed::ABatch
            }
        }
    }

    fn answer(&mut self, http: &quiche::h3::Config, root: &Root) {
        if !self.may_answer() {
            return;
        }
        let connection = &mut self.session.connection;
        if self.responses.is_none() {
            // What fails has closed the connection with the error to send.
            let begun = Responses::begin(connection, http).ok();
            self.responses = begun.map(|responses| responses.in_frames(self.frames));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::{Pair, carry};
    use quiche::h3::{self, Header};
    use std::fs;

    #[test]
    fn nobody_waits_for_a_frame_that_nobody_takes() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("file"), "a live source").expect("a file");
        let root = Root::open(folder.path()).expect("it is there");
        let config = h3::Config::new().expect("a configuration");
        let Pair {
            client: mut peer,
            server,
        } = Pair::new();
        let frames = Frames::parse("1 B per 1 ms").expect("possible");
        let mut client = Client::new(Session::new(server, false), Some(frames), None);

        let mut http = h3::Connection::with_transport(&mut peer, &config).expect("HTTP/3");
        let request = [
            Header::new(b":method", b"GET"),
            Header::new(b":scheme", b"https"),
            Header::new(b":authority", b"localhost"),
            Header::new(b":path", b"/file"),
        ];
        let asked = http.send_request(&mut peer, &request, true);
        asked.expect("a stream is free");
        carry(&mut peer, &mut client.session.connection);
        client.answer(&config, &root);
        assert!(client.next_frame().is_some(), "there is more to come");

        peer.close(true, 0x100, b"enough").expect("it is open");
        carry(&mut peer, &mut client.session.connection);
        assert!(client.session.connection.is_draining());
        assert_eq!(client.next_frame(), None);
    }
}
