//! One connection, from its first packet to its end.

use crate::cmsd::PathView;
use crate::csv::{Entry, slots_line};
use crate::exchange::Exchange;
use crate::required::{Key, RequiredRate};
use crate::site::Site;
use crate::undertaking::{Change, Undertaking};
use imtcp_cc::promise::{Promise, SlotReport, SlotReports, Status, StatusChanges};
use imtcp_cc::units::{Bandwidth, Bytes};
use imtcp_tokio_quiche::NoPromise;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::sync::{Notify, oneshot, watch};
use tokio_quiche::http3::driver::{
    H3Event, RequestSender, ServerH3Command, ServerH3Controller, ServerH3Event,
};
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::quic::{ConnectionShutdownBehaviour, QuicCommand, QuicConnectionStats};
use tokio_quiche::{InitialQuicConnection, QuicConnection, ServerH3Driver};

/// How often something that the path refused is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(250);

/// The most that a request's fields may take together. Beyond it quiche closes the connection.
const MOST_FIELDS: u64 = 32 * 1024;

/// H3_NO_ERROR (RFC 9114, section 8.1).
const NO_ERROR: u64 = 0x100;

/// How far the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It serves.
    Serving,
    /// It finishes what has begun.
    Draining,
    /// It closes whatever is left.
    Closing,
}

/// What the tasks of a connection share.
pub struct Connection {
    /// Its name in qlogs, logs, CSV files and metrics: quiche's trace ID.
    pub id: Arc<str>,
    /// The client's address at the beginning.
    pub peer: SocketAddr,
    /// The handle of its promise, unless the controller is quiche's.
    pub promise: Option<Promise>,
    /// What all connections share.
    pub site: Arc<Site>,
    /// Bytes of content given to the driver.
    pub bytes: AtomicU64,
    commands: Commands,
    undertaking: Mutex<Undertaking>,
    /// Wakes the connection's own task: what is required has changed.
    changed: Notify,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("id", &self.id)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

type Commands = RequestSender<ServerH3Command, QuicCommand>;

/// Serves a connection until it ends.
pub async fn run(
    accepted: InitialQuicConnection<UdpSocket, DefaultMetrics>,
    site: Arc<Site>,
    phase: watch::Receiver<Phase>,
) {
    let peer = accepted.peer_addr();
    let mut settings = Http3Settings::default();
    settings.max_header_list_size = Some(MOST_FIELDS);
    settings.post_accept_timeout = Some(Duration::from_secs(30));
    let (driver, controller) = ServerH3Driver::new(settings);
    let quic = accepted.start(driver);
    let id: Arc<str> = hex(quic.scid()).into();
    let commands = controller.cmd_sender();
    // Answered when the handshake is done.
    let promise = match imtcp_tokio_quiche::promise(&commands).await {
        Ok(promise) => Some(promise),
        Err(NoPromise::OtherController) => None,
        Err(_) => {
            site.counts.handshakes_failed.inc();
            tracing::info!(connection = %id, %peer, "no handshake");
            return;
        }
    };
    site.counts.connections.inc();
    tracing::info!(connection = %id, %peer, "connected");
    let connection = Arc::new(Connection {
        id,
        peer,
        promise,
        site,
        bytes: AtomicU64::new(0),
        commands,
        undertaking: Mutex::default(),
        changed: Notify::new(),
    });
    let number = connection.site.live.add(Arc::clone(&connection));
    let task = Task::new(Arc::clone(&connection), controller, phase);
    let ended = task.run().await;
    connection.site.live.remove(number);
    connection.tell_the_end(&quic, &ended);
}

/// quiche's trace ID.
fn hex(id: &[u8]) -> String {
    let mut text = String::new();
    for byte in id {
        // A String takes whatever is written.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

impl Connection {
    fn undertaking(&self) -> MutexGuard<'_, Undertaking> {
        // Whole after every call, so a poisoned lock holds nothing half-made.
        self.undertaking
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A request that needs this rate begins.
    pub fn begin(&self, rate: RequiredRate) {
        self.undertaking().begin(rate, Instant::now());
        self.follow();
    }

    /// It ends.
    pub fn end(&self, key: Key) {
        self.undertaking().end(key, Instant::now());
        self.follow();
    }

    fn follow(&self) {
        self.bring();
        self.changed.notify_one();
    }

    /// Brings the controller what is required. Returns when to look again.
    fn bring(&self) -> Option<Instant> {
        let promise = self.promise.as_ref()?;
        let now = Instant::now();
        let mut undertaking = self.undertaking();
        let (change, next) = undertaking.follow(promise, now);
        let soon = undertaking.is_waiting().then(|| now + TRY_AGAIN);
        drop(undertaking);
        if let Some(change) = change {
            self.tell(&change);
        }
        [next, soon].into_iter().flatten().min()
    }

    /// The rate that is required, and the one that the path refused.
    pub fn required(&self) -> (Option<Bandwidth>, Option<Bandwidth>) {
        let undertaking = self.undertaking();
        let rate = |requirement: imtcp_cc::promise::Requirement| requirement.rate();
        (
            undertaking.required().map(rate),
            undertaking.refused().map(rate),
        )
    }

    /// What is known of the path now. `None` if the connection is gone.
    pub async fn view(&self) -> Option<PathView> {
        let path = self.stats().await?.path_stats;
        Some(PathView {
            round_trip: path.as_ref().map(|path| path.rtt),
            window: path.map_or(0, |path| path.cwnd as u64),
            outlook: self.promise.as_ref().and_then(Promise::outlook),
        })
    }

    async fn stats(&self) -> Option<QuicConnectionStats> {
        let (give, given) = oneshot::channel();
        let answer = move |stats| {
            // Whoever asked may have stopped waiting.
            let _ = give.send(stats);
        };
        let command = QuicCommand::ConnectionStats(Box::new(answer));
        self.commands.send(command).ok()?;
        given.await.ok()
    }

    fn close(&self) {
        // It may be gone already.
        let _ = self
            .commands
            .send(QuicCommand::ConnectionClose(ConnectionShutdownBehaviour {
                send_application_close: true,
                error_code: NO_ERROR,
                reason: Vec::new(),
            }));
    }

    /// Closes once everything that was sent is acknowledged. quiche does not tell that, but for how
    /// long something was in flight: if a probe timeout passes and that stays the same, nothing is.
    async fn close_when_delivered(&self) {
        let mut before = None;
        while let Some(stats) = self.stats().await {
            let in_flight = stats.stats.bytes_in_flight_duration;
            if before == Some(in_flight) {
                break;
            }
            before = Some(in_flight);
            let path = stats.path_stats;
            let timeout = path.map_or(TRY_AGAIN, |path| path.rtt + path.rttvar * 4);
            tokio::time::sleep(timeout + Duration::from_millis(50)).await;
        }
        self.close();
    }

    fn line(&self, entry: &Entry<'_>) {
        if let Some(file) = &self.site.slots {
            file.line(slots_line(&self.id, entry));
        }
    }

    fn tell(&self, change: &Change) {
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

    fn tell_status(&self, status: Status) {
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

    fn tell_slot(&self, report: &SlotReport) {
        self.site.counts.slot(report.outcome.name());
        let promise = self.promise.as_ref();
        let required = promise.and_then(Promise::required);
        let next =
            required.and_then(|required| promise?.can_promise(required.rate(), required.per()));
        self.line(&Entry::Slot(report, next));
    }

    fn tell_the_end(&self, quic: &QuicConnection, ended: &Ended) {
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

/// What a connection's own task counted.
#[derive(Debug)]
struct Ended {
    requests: u64,
    /// The time in which a request was being answered.
    busy: Duration,
    lasted: Duration,
}

/// The task that hears a connection's events.
struct Task {
    connection: Arc<Connection>,
    controller: ServerH3Controller,
    phase: watch::Receiver<Phase>,
    /// Requests that are not answered in full, and who waits for that.
    open: BTreeMap<u64, oneshot::Sender<()>>,
    began: Instant,
    busy_since: Option<Instant>,
    ended: Ended,
}

impl Task {
    fn new(
        connection: Arc<Connection>,
        controller: ServerH3Controller,
        phase: watch::Receiver<Phase>,
    ) -> Self {
        Self {
            connection,
            controller,
            phase,
            open: BTreeMap::new(),
            began: Instant::now(),
            busy_since: None,
            ended: Ended {
                requests: 0,
                busy: Duration::ZERO,
                lasted: Duration::ZERO,
            },
        }
    }

    async fn run(mut self) -> Ended {
        let connection = Arc::clone(&self.connection);
        if let Some(requirement) = connection.site.promise {
            let key = Key::Server;
            connection.begin(RequiredRate { requirement, key });
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
                slot = next_slot(&mut slots) => connection.tell_slot(&slot),
                status = next_status(&mut changes) => connection.tell_status(status),
                Ok(()) = self.phase.changed() => self.look_at_the_phase(),
                () = connection.changed.notified() => {}
                () = sleep_until(look) => {}
            }
        }
        self.open.clear();
        self.count_busy();
        self.ended.lasted = self.began.elapsed();
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

    /// Adds up the time in which requests were open.
    fn count_busy(&mut self) {
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
