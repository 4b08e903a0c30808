//! HTTP/3 requests and the files that answer them.

use super::files::{Content, Refusal, Root};
use super::frames::{Frames, Recording};
use quiche::Connection;
use quiche::h3::{self, Event, Header, NameValue};
use std::collections::BTreeMap;
use std::time::Instant;

/// The responses of one connection.
pub struct Responses {
    http: h3::Connection,
    frames: Option<Frames>,
    /// By stream. quiche's limit of streams bounds them.
    pending: BTreeMap<u64, Response>,
    completed: u64,
}

/// A response that is being sent.
struct Response {
    /// Taken once they are sent.
    headers: Option<Vec<Header>>,
    body: Content,
    /// If the body comes in frames, once it has begun.
    recording: Option<Recording>,
}

/// What became of a response.
enum Progress {
    Complete,
    /// The connection takes no more now, or there is no more yet.
    Blocked,
    Failed,
}

impl Responses {
    /// Opens HTTP/3 on a connection that takes application data.
    ///
    /// # Errors
    /// quiche's; they have closed the connection.
    pub fn begin(connection: &mut Connection, config: &h3::Config) -> Result<Self, h3::Error> {
        Ok(Self {
            http: h3::Connection::with_transport(connection, config)?,
            frames: None,
            pending: BTreeMap::new(),
            completed: 0,
        })
    }

    /// Lets bodies come in frames.
    #[must_use]
    pub fn in_frames(mut self, frames: Option<Frames>) -> Self {
        self.frames = frames;
        self
    }

    /// Requests answered in full.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Accepts the requests that have arrived.
    pub fn take_requests(&mut self, connection: &mut Connection, root: &Root) {
        // An error that ends the connection has closed it by itself.
        while let Ok((stream, event)) = self.http.poll(connection) {
            match event {
                Event::Headers { list, .. } => {
                    self.pending.insert(stream, respond(&list, root));
                }
                // A body means nothing to a server of files; it is read so that it does not wait.
                Event::Data => self.discard_body(connection, stream),
                Event::Reset(_) => {
                    self.pending.remove(&stream);
                }
                Event::Finished | Event::PriorityUpdate | Event::GoAway => {}
            }
        }
    }

    fn discard_body(&mut self, connection: &mut Connection, stream: u64) {
        let mut scratch = [0; 4096];
        while self
            .http
            .recv_body(connection, stream, &mut scratch)
            .is_ok()
        {}
    }

    /// Gives the connection as much as it takes, and as there is.
    pub fn fill(&mut self, connection: &mut Connection) {
        let Self {
            http,
            frames,
            pending,
            completed,
        } = self;
        pending.retain(|stream, response| {
            if let Some(frames) = frames {
                response.record(*frames, Instant::now());
            }
            match response.push(http, connection, *stream) {
                Progress::Blocked => true,
                Progress::Complete => {
                    *completed += 1;
                    false
                }
                Progress::Failed => {
                    // The client has gone, or the file has: either way the rest will not come.
                    let _ = connection.stream_shutdown(
                        *stream,
                        quiche::Shutdown::Write,
                        h3::WireErrorCode::InternalError as u64,
                    );
                    false
                }
            }
        });
    }

    /// When the next frame of a body comes.
    pub fn next_frame(&self) -> Option<Instant> {
        let recordings = self.pending.values().filter_map(|it| it.recording.as_ref());
        recordings.map(Recording::next).min()
    }
}

fn respond(request: &[Header], root: &Root) -> Response {
    let value = |name: &[u8]| {
        let header = request.iter().find(|header| header.name() == name);
        header.map(NameValue::value).unwrap_or_default()
    };
    let (status, body) = match value(b":method") {
        b"GET" => match root.find(value(b":path")) {
            Ok(file) => ("200", file),
            Err(refusal) => (refusal.status(), Content::from_text(refusal.reason())),
        },
        _ => {
            let refusal = Refusal::Method;
            (refusal.status(), Content::from_text(refusal.reason()))
        }
    };
    let length = body.remaining().to_string();
    Response {
        headers: Some(vec![
            Header::new(b":status", status.as_bytes()),
            Header::new(b"content-length", length.as_bytes()),
        ]),
        body,
        recording: None,
    }
}

impl Response {
    /// Takes the frames that there are by now.
    fn record(&mut self, frames: Frames, now: Instant) {
        let begin = || Recording::begin(frames, now);
        self.recording.get_or_insert_with(begin).advance(now);
    }

    fn push(
        &mut self,
        http: &mut h3::Connection,
        connection: &mut Connection,
        stream: u64,
    ) -> Progress {
        if let Some(headers) = &self.headers {
            let ends = self.body.remaining() == 0;
            match http.send_response(connection, stream, headers, ends) {
                Ok(()) => self.headers = None,
                Err(h3::Error::Done | h3::Error::StreamBlocked) => return Progress::Blocked,
                Err(_) => return Progress::Failed,
            }
        }
        while self.body.remaining() > 0 {
            let remaining = self.body.remaining();
            let Ok(chunk) = self.body.chunk() else {
                return Progress::Failed;
            };
            let chunk = match &self.recording {
                Some(recording) => recording.part(chunk),
                None => chunk,
            };
            if chunk.is_empty() {
                return Progress::Blocked;
            }
            let ends = chunk.len() as u64 == remaining;
            match http.send_body(connection, stream, chunk, ends) {
                Ok(written) => self.consume(written),
                Err(h3::Error::Done | h3::Error::StreamBlocked) => return Progress::Blocked,
                Err(_) => return Progress::Failed,
            }
        }
        Progress::Complete
    }

    fn consume(&mut self, count: usize) {
        self.body.consume(count);
        if let Some(recording) = &mut self.recording {
            recording.take(count);
        }
    }
}
