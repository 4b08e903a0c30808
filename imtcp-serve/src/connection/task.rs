//! The task that hears a connection's events, from its handshake to its end.

use super::{Connection, Ended, Phase};
use crate::exchange::Exchange;
use crate::required::{Key, RequiredRate};
use imtcp_cc::promise::{Promise, SlotReport, SlotReports, Status, StatusChanges};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use tokio_quiche::http3::driver::{H3Event, ServerH3Controller, ServerH3Event};

/// The task that hears a connection's events.
pub(super) struct Task {
    connection: Arc<Connection>,
    controller: ServerH3Controller,
    phase: watch::Receiver<Phase>,
    /// Requests that are not answered in full, and who waits for that.
    open: BTreeMap<u64, oneshot::Sender<()>>,
    busy_since: Option<Instant>,
    ended: Ended,
}

impl Task {
    pub(super) fn new(
        connection: Arc<Connection>,
        controller: ServerH3Controller,
        phase: watch::Receiver<Phase>,
    ) -> Self {
        Self {
            connection,
            controller,
            phase,
            open: BTreeMap::new(),
            busy_since: None,
            ended: Ended {
                requests: 0,
                busy: Duration::ZERO,
                lasted: Duration::ZERO,
            },
        }
    }

    pub(super) async fn run(mut self) -> Ended {
        let connection = Arc::clone(&self.connection);
        if let Some(requirement) = connection.site.promise {
            let key = Key::Server;
            connection.begin(RequiredRate::new(requirement, key));
        }
        let promise = connection.promise.as_ref();
        let mut slots = promise.map(Promise::reports);
        let mut changes = promise.map(Promise::status_changes);
        self.look_at_the_phase();
        loop {
            let look = connection.bring();
            tokio::select! {
                event = self.controller.event_receiver_mut().recv() => match event {
                    Some(event) => self.on_event(event),
                    None => break,
                },
                slot = next_slot(&mut slots) => connection.on_slot(&slot),
                status = next_status(&mut changes) => connection.tell_status(status),
                Ok(()) = self.phase.changed() => self.look_at_the_phase(),
                () = connection.changed.notified() => {}
                () = sleep_until(look) => {}
            }
        }
        self.open.clear();
        self.count_busy();
        self.ended.lasted = connection.began.elapsed();
        self.ended
    }

    fn on_event(&mut self, event: ServerH3Event) {
        match event {
            ServerH3Event::Headers {
                incoming_headers,
                priority,
                ..
            } => {
                let (close, closed) = oneshot::channel();
                self.open.insert(incoming_headers.stream_id, close);
                self.ended.requests += 1;
                self.count_busy();
                let exchange = Exchange {
                    connection: Arc::clone(&self.connection),
                    priority_update: priority.map(|value| value.to_vec()),
                    closed,
                    is_late: *self.phase.borrow() != Phase::Serving,
                    commands: self.controller.h3_cmd_sender(),
                };
                tokio::spawn(exchange.run(incoming_headers));
            }
            ServerH3Event::Core(H3Event::StreamClosed { stream_id }) => {
                if self.open.remove(&stream_id).is_some() {
                    self.count_busy();
                    self.close_if_drained();
                }
            }
            ServerH3Event::Core(_) => {}
        }
    }

    /// Counts requests that are open, and the time in which there were any.
    fn count_busy(&mut self) {
        let open = self.open.len() as u64;
        self.connection.open.store(open, Ordering::Relaxed);
        match (self.open.is_empty(), self.busy_since) {
            (false, None) => self.busy_since = Some(Instant::now()),
            (true, Some(since)) => {
                self.ended.busy += since.elapsed();
                self.busy_since = None;
            }
            _ => {}
        }
    }

    fn look_at_the_phase(&mut self) {
        let phase = *self.phase.borrow_and_update();
        match phase {
            Phase::Serving => {}
            // No GOAWAY: tokio-quiche 0.20.1 ends a connection that has no room for the frame now,
            // because its window is full. What comes late is answered with 503.
            Phase::Draining => self.close_if_drained(),
            Phase::Closing => self.connection.close(),
        }
    }

    fn close_if_drained(&mut self) {
        if *self.phase.borrow() == Phase::Draining && self.open.is_empty() {
            let connection = Arc::clone(&self.connection);
            tokio::spawn(async move { connection.close_when_delivered().await });
        }
    }
}

/// Never, after the last.
async fn next_slot(slots: &mut Option<SlotReports>) -> SlotReport {
    if let Some(reader) = slots
        && let Some(slot) = reader.next().await
    {
        return slot;
    }
    *slots = None;
    std::future::pending().await
}

/// Never, after the last.
async fn next_status(changes: &mut Option<StatusChanges>) -> Status {
    if let Some(reader) = changes
        && let Some(status) = reader.next().await
    {
        return status;
    }
    *changes = None;
    std::future::pending().await
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
