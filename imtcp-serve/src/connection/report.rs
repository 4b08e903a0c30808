//! What is told of a connection: lines of the log and of the file of slots, and counts.

use super::{Connection, Ended};
use crate::csv::{Entry, slots_line};
use crate::undertaking::Change;
use imtcp_cc::promise::{Promise, SlotReport, Status};
use imtcp_cc::units::{Bandwidth, Bytes};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_quiche::QuicConnection;

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
