//! One request and its answer.

use crate::answer::{Answer, CMCD_PATH, Content, answer};
use crate::cmsd;
use crate::connection::{Connection, ms};
use crate::request::Request;
use crate::required::{Cmcd, Heard, LONGEST_MANIFEST, Said, may_be_manifest};
use bytes::{Bytes, BytesMut};
use futures::SinkExt;
use http::{HeaderValue, Method, StatusCode};
use std::fs::File;
use std::io::SeekFrom;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::oneshot;
use tokio_quiche::http3::H3AuditStats;
use tokio_quiche::http3::driver::{
    H3Command, InboundFrame, InboundFrameStream, IncomingH3Headers, OutboundFrame,
    OutboundFrameSender, RequestSender, ServerH3Command, StreamShutdown,
};
use tokio_quiche::quiche::h3::Header;

/// What is read of a file and given to the driver at once. The driver keeps up to 16 of them for a
/// stream.
const CHUNK: usize = 64 * 1024;

/// The longest posting of CMCD. Batches of players are some kilobytes.
const LONGEST_POSTING: usize = 64 * 1024;

/// H3_NO_ERROR: the rest of the request is not needed (RFC 9114, section 4.1).
const NO_ERROR: u64 = 0x100;

/// H3_REQUEST_CANCELLED: the rest of the answer will not come (RFC 9114, section 8.1).
const CANCELLED: u64 = 0x10c;

/// How often it is looked whether an answer has left the driver. Few requests need it.
const LOOK: Duration = Duration::from_millis(20);

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
    /// To stop a request whose rest nobody reads.
    pub commands: RequestSender<ServerH3Command, H3Command>,
}

/// How far an answer got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Sent,
    /// The client went, or wants no more of it.
    Cancelled,
    /// The client takes nothing for as long as the server is patient.
    Stalled,
    /// The file has become shorter, or cannot be read.
    Broken,
}

impl Exchange {
    /// Answers, waits until the stream is closed, and writes a line of the log.
    pub async fn run(mut self, incoming: IncomingH3Headers) {
        let began = Instant::now();
        let stream = incoming.stream_id;
        let IncomingH3Headers {
            headers,
            mut send,
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
        let (progress, bytes) = self.send(&mut send, answer).await;
        drop(send);
        let progress = self.see_off(stream, progress, read_fin, &stats).await;
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

    /// Waits until the stream is closed, one way or the other. The driver still holds a part of the
    /// answer when it begins.
    ///
    /// - A client is told to stop a request that has not ended. The driver then forgets the stream,
    ///   with all that it holds, so the answer has to leave the driver first.
    /// - An answer of which the client takes nothing is given up. Left alone it would keep what the
    ///   driver holds, and the rate that it needs, for as long as the connection lasts.
    async fn see_off(
        &mut self,
        stream: u64,
        mut progress: Progress,
        has_ended: bool,
        stats: &H3AuditStats,
    ) -> Progress {
        let patience = self.connection.site.patience;
        let (mut taken, mut since) = (stats.downstream_bytes_sent(), Instant::now());
        while progress != Progress::Stalled {
            let look = if has_ended { patience } else { LOOK };
            if tokio::time::timeout(look, &mut self.closed).await.is_ok() {
                return progress;
            }
            if !has_ended && has_left(stream, stats) {
                let error_code = NO_ERROR;
                self.shut(stream, StreamShutdown::Read { error_code });
                break;
            }
            if taken != stats.downstream_bytes_sent() {
                (taken, since) = (stats.downstream_bytes_sent(), Instant::now());
            } else if since.elapsed() >= patience {
                progress = Progress::Stalled;
            }
        }
        if progress == Progress::Stalled {
            let (read_error_code, write_error_code) = (NO_ERROR, CANCELLED);
            let both = StreamShutdown::Both {
                read_error_code,
                write_error_code,
            };
            self.shut(stream, both);
        }
        // Either is the end.
        let _ = (&mut self.closed).await;
        progress
    }

    fn shut(&self, stream_id: u64, shutdown: StreamShutdown) {
        // If the stream is closed already, all the better.
        let _ = self.commands.send(H3Command::ShutdownStream {
            stream_id,
            shutdown,
        });
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
                connection.ladder().read_manifest(&content);
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

    async fn send(&self, send: &mut OutboundFrameSender, answer: Answer) -> (Progress, u64) {
        let status = Header::new(b":status", answer.status.as_str().as_bytes());
        let mut list = vec![status];
        for (name, value) in &answer.fields {
            list.push(Header::new(name.as_ref(), value.as_bytes()));
        }
        let fields = OutboundFrame::Headers(list, None);
        if let Err(progress) = self.give(send, fields).await {
            return (progress, 0);
        }
        match answer.content {
            Content::Nothing => (self.last(send, Bytes::new()).await, 0),
            Content::Text(text) => {
                let bytes = text.len() as u64;
                (self.last(send, text).await, bytes)
            }
            Content::File(file, range) => self.file(send, file, range).await,
        }
    }

    async fn last(&self, send: &mut OutboundFrameSender, content: Bytes) -> Progress {
        let given = self.give(send, OutboundFrame::Body(content, true)).await;
        given.err().unwrap_or(Progress::Sent)
    }

    async fn file(
        &self,
        send: &mut OutboundFrameSender,
        file: File,
        range: Range<u64>,
    ) -> (Progress, u64) {
        let mut file = tokio::fs::File::from_std(file);
        if file.seek(SeekFrom::Start(range.start)).await.is_err() {
            return (Progress::Broken, 0);
        }
        let (mut at, end) = (range.start, range.end);
        while at < end {
            let wanted = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
            let mut chunk = BytesMut::with_capacity(wanted);
            let read = (&mut file).take(wanted as u64).read_buf(&mut chunk).await;
            let Ok(count @ 1..) = read else {
                return (Progress::Broken, at - range.start);
            };
            let count = count as u64;
            let frame = OutboundFrame::Body(chunk.freeze(), at + count == end);
            if let Err(progress) = self.give(send, frame).await {
                return (progress, at - range.start);
            }
            at += count;
            self.connection.bytes.fetch_add(count, Ordering::Relaxed);
            self.connection.site.counts.bytes.inc_by(count);
        }
        match range.is_empty() {
            true => (self.last(send, Bytes::new()).await, 0),
            false => (Progress::Sent, at - range.start),
        }
    }

    /// Gives the driver a frame, as soon as there is room for it.
    async fn give(
        &self,
        send: &mut OutboundFrameSender,
        frame: OutboundFrame,
    ) -> Result<(), Progress> {
        let patience = self.connection.site.patience;
        match tokio::time::timeout(patience, send.send(frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Progress::Cancelled),
            Err(_) => Err(Progress::Stalled),
        }
    }
}

/// Whether the driver has written an answer to its end, or has cut it off.
fn has_left(stream: u64, stats: &H3AuditStats) -> bool {
    let nothing = H3AuditStats::new(stream).sent_stream_fin();
    stats.sent_stream_fin() != nothing || stats.sent_reset_stream_error_code() >= 0
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
        let progress = match self.progress {
            Progress::Sent => "sent",
            Progress::Cancelled => "cancelled",
            Progress::Stalled => "stalled",
            Progress::Broken => "broken",
        };
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
