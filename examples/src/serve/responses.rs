//! HTTP/3 requests and the files that answer them.

use super::files::{Content, Refusal, Root};
use super::frames::{Frames, Recording};
use quiche::Connection;
use quiche::h3::{self, Event, Header, NameValue};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// The responses of one connection.
pub struct Responses {
    http: h3::Connection,
    frames: Option<Frames>,
    /// By stream. quiche's limit of streams bounds them.
    pending: BTreeMap<u64, Response>,
    /// The streams whose request has come, and has not ended.
    asked: BTreeSet<u64>,
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
            asked: BTreeSet::new(),
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
                    // Those behind a body are trailers, and ask for nothing.
                    if self.asked.insert(stream) {
                        self.pending.insert(stream, respond(&list, root));
                    }
                }
                // A body means nothing to a server of files; it is read so that it does not wait.
                Event::Data => self.discard_body(connection, stream),
                Event::Reset(_) => self.cancel(connection, stream),
                Event::Finished => {
                    self.asked.remove(&stream);
                }
                Event::PriorityUpdate | Event::GoAway => {}
            }
        }
    }

    /// The client has taken its request back. A stream counts among those that it may open until
    /// both directions have ended, so this one ends here as well. One that was answered in full
    /// has.
    fn cancel(&mut self, connection: &mut Connection, stream: u64) {
        let is_pending = self.pending.remove(&stream).is_some();
        let is_answered = self.asked.remove(&stream) && !is_pending;
        if !is_answered {
            let code = h3::WireErrorCode::RequestCancelled as u64;
            // An error means that it has ended already.
            let _ = connection.stream_shutdown(stream, quiche::Shutdown::Write, code);
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
            ..
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
    let method = value(b":method");
    let found = match method {
        b"GET" => root.find(value(b":path")),
        _ => Err(Refusal::Method),
    };
    let (status, body) = match found {
        Ok(file) => ("200", file),
        Err(refusal) => (refusal.status(), Content::from_text(refusal.reason())),
    };
    let length = body.remaining().to_string();
    let mut headers = vec![
        Header::new(b":status", status.as_bytes()),
        Header::new(b"content-length", length.as_bytes()),
    ];
    if status == Refusal::Method.status() {
        // RFC 9110, section 15.5.6.
        headers.push(Header::new(b"allow", b"GET"));
    }
    Response {
        headers: Some(headers),
        // An answer to HEAD has no content, whatever its headers say (RFC 9110, section 9.3.2).
        body: if method == b"HEAD" {
            Content::from_text("")
        } else {
            body
        },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::Pair;
    use std::fs::File;

    const SMALL: u64 = 3_000;
    const LARGE: u64 = 1_000_000;

    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Got {
        headers: Vec<(String, String)>,
        bytes: u64,
        is_finished: bool,
        is_reset: bool,
    }

    /// A server with a small file and a large one, and a client.
    struct Exchange {
        pair: Pair,
        responses: Responses,
        root: Root,
        client: h3::Connection,
        got: BTreeMap<u64, Got>,
        _folder: tempfile::TempDir,
    }

    impl Exchange {
        fn new(frames: Option<Frames>) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            for (name, length) in [("small", SMALL), ("large", LARGE)] {
                let file = File::create(folder.path().join(name)).expect("a file");
                file.set_len(length).expect("it takes no blocks");
            }
            let mut pair = Pair::new();
            let config = h3::Config::new().expect("a configuration");
            let client = h3::Connection::with_transport(&mut pair.client, &config);
            let responses = Responses::begin(&mut pair.server, &config);
            Self {
                pair,
                responses: responses.expect("HTTP/3").in_frames(frames),
                root: Root::open(folder.path()).expect("it is there"),
                client: client.expect("HTTP/3"),
                got: BTreeMap::new(),
                _folder: folder,
            }
        }

        fn ask(&mut self, path: &str, is_all: bool) -> Result<u64, h3::Error> {
            self.ask_to("GET", path, is_all)
        }

        fn ask_to(&mut self, method: &str, path: &str, is_all: bool) -> Result<u64, h3::Error> {
            let request = [
                Header::new(b":method", method.as_bytes()),
                Header::new(b":scheme", b"https"),
                Header::new(b":authority", b"localhost"),
                Header::new(b":path", path.as_bytes()),
            ];
            let client = &mut self.pair.client;
            let stream = self.client.send_request(client, &request, is_all)?;
            self.go_on();
            Ok(stream)
        }

        /// Each side does what it can.
        fn go_on(&mut self) {
            self.pair.exchange();
            self.responses
                .take_requests(&mut self.pair.server, &self.root);
            self.responses.fill(&mut self.pair.server);
            self.pair.exchange();
            let connection = &mut self.pair.client;
            let mut buffer = [0; 4096];
            while let Ok((stream, event)) = self.client.poll(connection) {
                let got = self.got.entry(stream).or_default();
                match event {
                    Event::Headers { list, .. } => got.headers = list.iter().map(text).collect(),
                    Event::Data => {
                        let mut take = || self.client.recv_body(connection, stream, &mut buffer);
                        while let Ok(count) = take() {
                            got.bytes += count as u64;
                        }
                    }
                    Event::Finished => got.is_finished = true,
                    Event::Reset(_) => got.is_reset = true,
                    _ => {}
                }
            }
        }

        fn assert_comes_whole(&mut self, stream: u64, bytes: u64) {
            for _ in 0..1000 {
                if self.got.get(&stream).is_some_and(|got| got.is_finished) {
                    break;
                }
                self.go_on();
            }
            let got = self.got.get(&stream).expect("it has begun");
            assert!(got.is_finished && !got.is_reset, "{got:?}");
            assert_eq!(got.bytes, bytes);
        }
    }

    fn text(header: &Header) -> (String, String) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(header.name()), text(header.value()))
    }

    #[test]
    fn other_methods_are_told_which_one_is_allowed_and_head_gets_no_content() {
        for (method, bytes) in [("POST", 29), ("HEAD", 0)] {
            let mut exchange = Exchange::new(None);
            let stream = exchange.ask_to(method, "/small", true).expect("asked");
            exchange.assert_comes_whole(stream, bytes);
            let headers = &exchange.got[&stream].headers;
            for (name, value) in [
                (":status", "405"),
                ("allow", "GET"),
                ("content-length", "29"),
            ] {
                let header = (name.to_owned(), value.to_owned());
                assert!(headers.contains(&header), "{method}: {headers:?}");
            }
        }
    }

    #[test]
    fn trailers_ask_for_nothing() {
        // The one response has been given when they come, and the other has begun.
        for (path, bytes) in [("/small", SMALL), ("/large", LARGE)] {
            let mut exchange = Exchange::new(None);
            let stream = exchange.ask(path, false).expect("asked");
            let (http, client) = (&mut exchange.client, &mut exchange.pair.client);
            http.send_body(client, stream, b"body", false)
                .expect("sent");
            let trailers = [Header::new(b"checksum", b"1")];
            http.send_additional_headers(client, stream, &trailers, true, true)
                .expect("sent");
            exchange.go_on();
            exchange.assert_comes_whole(stream, bytes);
            assert_eq!(exchange.responses.completed(), 1, "{path}");
            assert!(exchange.responses.asked.is_empty(), "{path}");
        }
    }

    #[test]
    fn requests_that_are_taken_back_make_room_for_others() {
        // The small file is one frame, and the large one takes hours.
        let frames = Frames::parse("3 kB per 60 s").expect("possible");
        let mut exchange = Exchange::new(Some(frames));
        // One more than may be open at a time.
        for number in 0..101 {
            let stream = exchange.ask("/large", false);
            let stream = stream.unwrap_or_else(|error| panic!("request {number}: {error}"));
            let cancelled = h3::WireErrorCode::RequestCancelled as u64;
            let client = &mut exchange.pair.client;
            client
                .stream_shutdown(stream, quiche::Shutdown::Write, cancelled)
                .expect("it is open");
            exchange.go_on();
            assert!(exchange.got[&stream].is_reset, "request {number}");
        }
        let stream = exchange.ask("/small", true).expect("asked");
        exchange.assert_comes_whole(stream, SMALL);
        assert_eq!(exchange.responses.completed(), 1);
    }
}
