//! From an answer to the driver of HTTP/3, piece by piece, and on to the end of its stream.

use crate::answer::{Answer, Content};
use crate::connection::Connection;
use bytes::{Bytes, BytesMut};
use futures::SinkExt;
use std::fs::File;
use std::io::SeekFrom;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::oneshot;
use tokio_quiche::http3::H3AuditStats;
use tokio_quiche::http3::driver::{
    H3Command, OutboundFrame, OutboundFrameSender, RequestSender, ServerH3Command, StreamShutdown,
};
use tokio_quiche::quiche::h3::{Header, Priority};

/// The most that is read of a file and given to the driver at once.
const CHUNK: u64 = 64 * 1024;

/// What the driver holds of a stream, in chunks (`STREAM_CAPACITY` in tokio-quiche 0.20.1).
const HELD: u64 = 16;

/// What it may hold of all answers of a connection. A client can ask for a hundred files and take
/// nothing of any; with chunks of full size that would be 100 MB.
const MOST_HELD: u64 = 8 * 1024 * 1024;

/// H3_NO_ERROR: the rest of the request is not needed (RFC 9114, section 4.1).
const NO_ERROR: u64 = 0x100;

/// H3_REQUEST_CANCELLED: the rest of the answer will not come (RFC 9114, section 8.1).
const CANCELLED: u64 = 0x10c;

/// How often it is looked whether an answer has left the driver. Few requests need it.
const LOOK: Duration = Duration::from_millis(20);

/// How far an answer got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All of it is given to the connection.
    Sent,
    /// The client went, or wants no more of it.
    Cancelled,
    /// The client takes nothing for as long as the server is patient.
    Stalled,
    /// The file has become shorter, or cannot be read.
    Broken,
}

impl Progress {
    /// Its name in the log and in the metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Cancelled => "cancelled",
            Self::Stalled => "stalled",
            Self::Broken => "broken",
        }
    }
}

/// The stream of an answer.
pub struct Handover {
    /// Its connection.
    pub connection: Arc<Connection>,
    /// Its number.
    pub stream: u64,
    /// Whether the request has ended.
    pub has_ended: bool,
    /// In which order it goes, beside others of its connection. As the driver has it, unless named.
    pub order: Option<Priority>,
    /// What the driver has written of it.
    pub stats: Arc<H3AuditStats>,
    /// Done, one way or the other, when the stream is closed.
    pub closed: oneshot::Receiver<()>,
    /// To end it.
    pub commands: RequestSender<ServerH3Command, H3Command>,
}

impl Handover {
    /// Gives the driver an answer, and waits until the stream is closed. Returns the bytes of
    /// content that were given.
    pub async fn run(mut self, mut send: OutboundFrameSender, answer: Answer) -> (Progress, u64) {
        let (progress, bytes) = self.send(&mut send, answer).await;
        drop(send);
        (self.see_off(progress).await, bytes)
    }

    async fn send(&self, send: &mut OutboundFrameSender, answer: Answer) -> (Progress, u64) {
        let fields = beginning(&answer, self.order);
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
            let wanted = chunk(self.connection.open.load(Ordering::Relaxed)).min(end - at);
            let mut chunk = BytesMut::with_capacity(usize::try_from(wanted).unwrap_or(0));
            let read = (&mut file).take(wanted).read_buf(&mut chunk).await;
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

    /// Waits until the stream is closed, one way or the other. The driver still holds a part of the
    /// answer when it begins.
    ///
    /// - A client is told to stop a request that has not ended. The driver then forgets the stream,
    ///   with all that it holds, so the answer has to leave the driver first.
    /// - An answer of which the client takes nothing is given up. Left alone it would keep what the
    ///   driver holds, and the rate that it needs, for as long as the connection lasts.
    async fn see_off(&mut self, mut progress: Progress) -> Progress {
        let patience = self.connection.site.patience;
        let look = if self.has_ended { patience } else { LOOK };
        let (mut taken, mut since) = (self.stats.downstream_bytes_sent(), Instant::now());
        while progress != Progress::Stalled {
            if tokio::time::timeout(look, &mut self.closed).await.is_ok() {
                return progress;
            }
            if !self.has_ended && self.has_left() {
                self.shut(StreamShutdown::Read {
                    error_code: NO_ERROR,
                });
                break;
            }
            let now = self.stats.downstream_bytes_sent();
            if taken != now {
                (taken, since) = (now, Instant::now());
            } else if since.elapsed() >= patience {
                progress = Progress::Stalled;
            }
        }
        if progress == Progress::Stalled {
            self.shut(StreamShutdown::Both {
                read_error_code: NO_ERROR,
                write_error_code: CANCELLED,
            });
        }
        // Either is the end.
        let _ = (&mut self.closed).await;
        progress
    }

    /// Whether the driver has written the answer to its end, or has cut it off.
    fn has_left(&self) -> bool {
        let nothing = H3AuditStats::new(self.stream).sent_stream_fin();
        let was_cut_off = self.stats.sent_reset_stream_error_code() >= 0;
        was_cut_off || self.stats.sent_stream_fin() != nothing
    }

    fn shut(&self, shutdown: StreamShutdown) {
        // If the stream is closed already, all the better.
        let _ = self.commands.send(H3Command::ShutdownStream {
            stream_id: self.stream,
            shutdown,
        });
    }
}

/// What is given to the driver at once while so many requests are open.
fn chunk(open: u64) -> u64 {
    (MOST_HELD / HELD / open.max(1)).clamp(1024, CHUNK)
}

/// The fields of an answer, and its order.
fn beginning(answer: &Answer, order: Option<Priority>) -> OutboundFrame {
    let status = Header::new(b":status", answer.status.as_str().as_bytes());
    let fields = answer.fields.iter();
    let fields = fields.map(|(name, value)| Header::new(name.as_ref(), value.as_bytes()));
    OutboundFrame::Headers([status].into_iter().chain(fields).collect(), order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;
    use tokio_quiche::quiche::h3::NameValue;

    #[test]
    fn many_answers_together_hold_no_more_than_a_few() {
        for open in [0, 1, 8] {
            assert_eq!(chunk(open), CHUNK, "{open}");
        }
        // tokio-quiche lets a client have a hundred.
        for open in 1..=100 {
            let held = chunk(open) * HELD * open;
            assert!(held <= MOST_HELD, "{open}: {held}");
        }
        assert_eq!(chunk(u64::MAX), 1024);
    }

    #[test]
    fn an_answer_begins_with_its_status_and_goes_in_the_order_that_was_asked_for() {
        let answer = Answer::saying(StatusCode::NOT_FOUND, "nothing");
        for order in [None, Some(Priority::new(7, true))] {
            let OutboundFrame::Headers(list, given) = beginning(&answer, order) else {
                panic!("no fields");
            };
            assert_eq!(given, order);
            assert_eq!(
                (list[0].name(), list[0].value()),
                (&b":status"[..], &b"404"[..])
            );
            assert_eq!(list.len(), answer.fields.len() + 1);
        }
    }
}
