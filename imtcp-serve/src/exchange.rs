//! One request and its answer.

use crate::answer::{Answer, CMCD_PATH, Content, answer};
use crate::cmsd;
use crate::connection::{Connection, ms};
use crate::handover::{Handover, Progress};
use crate::request::Request;
use crate::required::{Cmcd, Heard, LONGEST_MANIFEST, Ladder, Said, may_be_manifest};
use bytes::BytesMut;
use http::{HeaderValue, Method, StatusCode};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio_quiche::http3::driver::{
    H3Command, InboundFrame, InboundFrameStream, IncomingH3Headers, RequestSender, ServerH3Command,
};

/// The longest posting of CMCD. Batches of players are some kilobytes.
const LONGEST_POSTING: usize = 64 * 1024;

/// What it takes to answer.
pub struct Exchange {
    /// Its connection.
    pub connection: Arc<Connection>,
    /// What a PRIORITY_UPDATE frame said of it.
    pub priority_update: Option<Vec<u8>>,
    /// Done, one way or the other, when the stream is closed.
    pub closed: oneshot::Receiver<()>,
    /// Whether the server ends, and only finishes what has begun.
    pub is_late: bool,
    /// To end the stream.
    pub commands: RequestSender<ServerH3Command, H3Command>,
}

impl Exchange {
    /// Answers, waits until the stream is closed, and writes a line of the log.
    pub async fn run(self, incoming: IncomingH3Headers) {
        let began = Instant::now();
        let stream = incoming.stream_id;
        let IncomingH3Headers {
            headers,
            send,
            mut recv,
            read_fin,
            h3_audit_stats: stats,
            ..
        } = incoming;
        let request = Request::read(&headers);
        let mut heard = match &request {
            Ok(request) => self.hear(stream, request),
            Err(_) => Heard::default(),
        };
        let mut answer = match &request {
            _ if self.is_late => Answer::saying(StatusCode::SERVICE_UNAVAILABLE, "the server ends"),
            Err(bad) => Answer::saying(StatusCode::BAD_REQUEST, bad.to_string()),
            Ok(request) if request.path == CMCD_PATH && request.method == Method::POST => {
                self.posting(&mut recv, read_fin, &mut heard).await
            }
            Ok(request) => answer(&self.connection.site.folder, request).await,
        };
        if request
            .as_ref()
            .is_ok_and(|request| may_be_manifest(&request.path))
        {
            self.note_manifest(&answer).await;
        }
        self.connection.begin_request(heard.is_background);
        let key = heard.rate.map(|rate| rate.key);
        if let Some(rate) = heard.rate {
            self.connection.begin(rate);
        }
        self.add_cmsd(&mut answer).await;
        let status = answer.status;
        let handover = Handover {
            connection: Arc::clone(&self.connection),
            stream,
            has_ended: read_fin,
            order: heard.order,
            stats,
            closed: self.closed,
            commands: self.commands,
        };
        let (progress, bytes) = handover.run(send, answer).await;
        self.connection.end_request(heard.is_background);
        if let Some(key) = key {
            self.connection.end(key);
        }
        let line = Line {
            stream,
            status,
            progress,
            bytes,
            took: began.elapsed(),
        };
        line.tell(&self.connection, request.as_ref().ok(), &heard);
    }

    fn hear(&self, stream: u64, request: &Request) -> Heard {
        let site = &self.connection.site;
        let heard = site.policy.hear(&Said {
            stream,
            path: &request.path,
            query: request.query.as_deref(),
            fields: &request.fields,
            priority_update: self.priority_update.as_deref(),
            ladder: &self.connection.ladder(),
        });
        site.counts.heard(&heard);
        if let Some(cmcd) = &heard.cmcd {
            self.connection.ladder().hear(cmcd);
        }
        heard
    }

    /// The bit rates of the title, for what its player will ask next.
    async fn note_manifest(&self, answer: &Answer) {
        let Content::File(file, range) = &answer.content else {
            return;
        };
        if range.start > 0 || range.end > LONGEST_MANIFEST {
            return;
        }
        let (Ok(file), length) = (file.try_clone(), range.end) else {
            return;
        };
        let connection = Arc::clone(&self.connection);
        let read = tokio::task::spawn_blocking(move || {
            let mut content = vec![0; usize::try_from(length).unwrap_or(0)];
            // The answer reads the same file from where it stands.
            if file.read_exact_at(&mut content, 0).is_ok() {
                // Other requests of the connection wait for the ladder, and not for the parser.
                let told = Ladder::of_manifest(&content);
                connection.ladder().add(told);
            }
        });
        // Without it the ladder is what the player asks for.
        let _ = read.await;
    }

    /// A player reports its state without asking for anything.
    async fn posting(
        &self,
        recv: &mut InboundFrameStream,
        read_fin: bool,
        heard: &mut Heard,
    ) -> Answer {
        let Some(body) = read_body(recv, read_fin).await else {
            let text = format!("more than {LONGEST_POSTING} bytes");
            return Answer::saying(StatusCode::PAYLOAD_TOO_LARGE, text);
        };
        let site = &self.connection.site;
        match Cmcd::from_json(&body) {
            Ok(cmcd) => {
                heard.rate = site.policy.of_player(&cmcd, &self.connection.ladder());
                heard.cmcd = Some(cmcd);
                site.counts.heard(heard);
                Answer::empty(StatusCode::NO_CONTENT)
            }
            Err(malformed) => {
                heard.complaints.push(malformed.to_string());
                site.counts.heard(heard);
                Answer::saying(StatusCode::BAD_REQUEST, malformed.to_string())
            }
        }
    }

    async fn add_cmsd(&self, answer: &mut Answer) {
        let view = self.connection.view().await.unwrap_or_default();
        let field = view.field();
        if let Some(value) = field.and_then(|field| HeaderValue::from_str(&field).ok()) {
            answer.fields.insert(cmsd::FIELD, value);
        }
    }
}

/// `None` if it is too long. What a client never finishes ends with its connection.
async fn read_body(recv: &mut InboundFrameStream, mut read_fin: bool) -> Option<BytesMut> {
    let mut body = BytesMut::new();
    while !read_fin {
        match recv.recv().await {
            Some(InboundFrame::Body(part, fin)) => {
                if body.len() + part.len() > LONGEST_POSTING {
                    return None;
                }
                body.extend_from_slice(&part);
                read_fin = fin;
            }
            Some(InboundFrame::Datagram(_)) => {}
            None => break,
        }
    }
    Some(body)
}

/// A line of the log.
struct Line {
    stream: u64,
    status: StatusCode,
    progress: Progress,
    bytes: u64,
    took: Duration,
}

impl Line {
    fn tell(&self, connection: &Connection, request: Option<&Request>, heard: &Heard) {
        let counts = &connection.site.counts;
        let method = request.map_or("", |request| request.method.as_str());
        counts.request(method, self.status.as_u16());
        let progress = self.progress.name();
        counts.progress(progress);
        let rate = heard.rate.map(|rate| rate.requirement.rate().to_string());
        let cmcd = heard.cmcd.as_ref();
        tracing::info!(
            connection = &*connection.id,
            stream = self.stream,
            method,
            path = request.map_or("", |request| &request.path),
            status = self.status.as_u16(),
            bytes = self.bytes,
            ms = ms(self.took),
            progress,
            required = rate,
            buffer_ms = cmcd.and_then(|cmcd| cmcd.buffer).map(ms),
            measured_kbps = cmcd.and_then(|cmcd| cmcd.measured_kbps),
            complaints = (!heard.complaints.is_empty()).then(|| heard.complaints.join("; ")),
            "request"
        );
    }
}
