//! What is told of a connection: lines of the log and of the file of slots, and counts.

use super::{Connection, Ended};
use crate::csv::{Entry, slots_line};
use crate::undertaking::Change;
use imtcp_cc::promise::{Promise, SlotReport, Status};
use imtcp_cc::units::{Bandwidth, Bytes};
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tokio_quiche::QuicConnection;

/// What is remembered of a connection that has ended.
#[derive(Debug, Serialize)]
pub struct Farewell {
    /// When it ended.
    #[serde(skip)]
    pub at: Instant,
    /// Its name.
    pub id: Arc<str>,
    /// The client's address at the beginning.
    pub peer: SocketAddr,
    /// Who ended it.
    pub by: &'static str,
    /// Requests that came.
    pub requests: u64,
    /// Bytes of content given to the driver.
    pub bytes: u64,
    /// These bytes over the time in which a request was open.
    pub goodput_bps: Option<u64>,
    /// From the handshake to the end.
    pub lasted_ms: f64,
    /// The smoothed round trip at the end.
    pub rtt_ms: Option<f64>,
    /// Packets sent.
    pub sent: usize,
    /// Packets of them that were lost.
    pub lost: usize,
    /// The last estimate.
    pub available_bps: Option<u64>,
    /// Slots that were kept.
    pub slots_kept: u64,
    /// Slots in which the source offered less.
    pub slots_source_limited: u64,
    /// Slots that were missed.
    pub slots_missed: u64,
}

impl Connection {
    fn line(&self, entry: &Entry<'_>) {
        if let Some(file) = &self.site.slots {
            file.line(slots_line(&self.id, self.began.elapsed(), entry));
        }
    }

    pub(super) fn tell(&self, change: &Change) {
        let connection = &*self.id;
        match change {
            Change::Required(what, known) => {
                let (rate, per) = (what.rate(), what.per());
                let demand = what.wanted().name();
                tracing::info!(connection, %rate, ?per, demand, can_promise = known, "required");
                self.line(&Entry::Required(what, *known));
            }
            Change::Foreseen(what, known) => {
                tracing::info!(connection, rate = %what.rate(), can_promise = known, "foreseen");
                self.line(&Entry::Foreseen(what, *known));
            }
            Change::Withdrawn => {
                tracing::info!(connection, "nothing is required any more");
                self.line(&Entry::Withdrawn);
            }
            Change::Refused(what, why) => {
                self.site.counts.refused.inc();
                tracing::warn!(connection, rate = %what.rate(), why, "refused");
                self.line(&Entry::Refused(what, why));
            }
        }
    }

    pub(super) fn tell_status(&self, status: Status) {
        let connection = &*self.id;
        match status {
            Status::AtRisk { cause, shortfall } | Status::Broken { cause, shortfall } => {
                self.site.counts.warning(cause.name());
                // What the path carries says more than a cause alone.
                let outlook = self.promise.as_ref().and_then(Promise::outlook);
                let possible = outlook.map(|outlook| outlook.reach().to_string());
                let status = status.name();
                tracing::warn!(connection, status, %cause, %shortfall, possible, "promise");
            }
            _ => tracing::info!(connection, status = status.name(), "promise"),
        }
        self.line(&Entry::Status(status));
    }

    pub(super) fn tell_slot(&self, report: &SlotReport, is_try: bool) {
        self.site.counts.slot(report.outcome.name());
        self.slots.add(report.outcome);
        let promise = self.promise.as_ref();
        let required = promise.and_then(Promise::required);
        let next =
            required.and_then(|required| promise?.can_promise(required.rate(), required.per()));
        self.line(&Entry::Slot(report, next, is_try));
    }

    pub(super) fn tell_the_end(&self, quic: &QuicConnection, ended: &Ended) {
        let stats = quic.stats().lock().unwrap_or_else(PoisonError::into_inner);
        let path = stats.path_stats.as_ref();
        let bytes = self.bytes.load(Ordering::Relaxed);
        let goodput = Bandwidth::from_bytes_over(Bytes::new(bytes), ended.busy);
        let estimate = self.promise.as_ref().and_then(Promise::estimate);
        let slots = self.slots.counts();
        let audit = quic.audit_log_stats();
        let peer_closed = audit.recvd_conn_close_application_error_code() >= 0
            || audit.recvd_conn_close_transport_error_code() >= 0;
        let we_closed = audit.sent_conn_close_application_error_code() >= 0
            || audit.sent_conn_close_transport_error_code() >= 0;
        let by = match (peer_closed, we_closed) {
            (true, _) => "client",
            (_, true) => "server",
            _ => "timeout",
        };
        self.site.live.bid_farewell(Farewell {
            at: Instant::now(),
            id: Arc::clone(&self.id),
            peer: self.peer,
            by,
            requests: ended.requests,
            bytes,
            goodput_bps: goodput.map(Bandwidth::as_bps),
            lasted_ms: ms(ended.lasted),
            rtt_ms: path.map(|path| ms(path.rtt)),
            sent: stats.stats.sent,
            lost: stats.stats.lost,
            available_bps: estimate.map(|estimate| estimate.available.as_bps()),
            slots_kept: slots.kept,
            slots_source_limited: slots.source_limited,
            slots_missed: slots.missed,
        });
        tracing::info!(
            connection = &*self.id,
            peer = %self.peer,
            by,
            requests = ended.requests,
            bytes,
            goodput = goodput.map(|rate| rate.to_string()),
            busy_ms = ms(ended.busy),
            ms = ms(ended.lasted),
            rtt_ms = path.map(|path| ms(path.rtt)),
            sent_packets = stats.stats.sent,
            lost_packets = stats.stats.lost,
            estimate = estimate.map(|estimate| estimate.available.to_string()),
            moves = self.promise.as_ref().map(Promise::moves),
            "ended"
        );
    }
}

/// Milliseconds for the log.
pub(crate) fn ms(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}
