//! A download from a server that a test writes the answers of.

use super::download::Download;
use super::options::Options;
use crate::pair::Pair;
use clap::Parser;
use quiche::h3::{self, Event, Header};

pub(super) const BODY: &[u8] = b"all of it";

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

pub(super) struct Scripted {
    pub(super) pair: Pair,
    /// The server's.
    pub(super) http: h3::Connection,
    /// Of the request.
    pub(super) stream: u64,
    pub(super) download: Download,
}

impl Scripted {
    /// The request has arrived.
    pub(super) fn asked() -> Self {
        let options = Line::parse_from(["fetch", "https://localhost/file"]).options;
        let target = options.target().expect("complete");
        let mut download = Download::new(&target, &options).expect("nothing to open");
        let mut pair = Pair::new();
        download.advance(&mut pair.client).expect("it can ask");
        pair.exchange();
        let config = h3::Config::new().expect("a configuration");
        let http = h3::Connection::with_transport(&mut pair.server, &config);
        let mut http = http.expect("HTTP/3");
        let stream = match http.poll(&mut pair.server) {
            Ok((stream, Event::Headers { .. })) => stream,
            other => panic!("{other:?}"),
        };
        Self {
            pair,
            http,
            stream,
            download,
        }
    }

    /// Answers with the body and the end of the stream.
    pub(super) fn answer(&mut self) {
        let Self { pair, http, .. } = self;
        let headers = [Header::new(b":status", b"200")];
        http.send_response(&mut pair.server, self.stream, &headers, false)
            .expect("sent");
        let sent = http.send_body(&mut pair.server, self.stream, BODY, true);
        assert_eq!(sent, Ok(BODY.len()));
    }
}
