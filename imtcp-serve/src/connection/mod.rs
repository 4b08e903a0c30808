//! One connection, from its first packet to its end.

mod report;
mod task;

pub use report::Farewell;
pub(crate) use report::ms;

use crate::background::Running;
use crate::cmsd::PathView;
use crate::delivery::Delivery;
use crate::release::OnTime;
use crate::required::{Key, Ladder, RequiredRate};
use crate::site::Site;
use crate::undertaking::Undertaking;
use imtcp_cc::Mode;
use imtcp_cc::promise::{Demand, Outcome, Promise, Requirement, SlotReport};
use imtcp_cc::units::Bandwidth;
use imtcp_tokio_quiche::NoPromise;
use std::fmt::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use task::Task;
use tokio::net::UdpSocket;
use tokio::sync::{Notify, oneshot, watch};
use tokio_quiche::http3::driver::{RequestSender, ServerH3Command};
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::quic::{ConnectionShutdownBehaviour, QuicCommand, QuicConnectionStats};
use tokio_quiche::{InitialQuicConnection, ServerH3Driver};

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
    /// When its handshake was done.
    pub began: Instant,
    /// Bytes of content given to the driver.
    pub bytes: AtomicU64,
    /// Requests that are not answered in full.
    pub open: AtomicU64,
    /// How the slots of its promise ended.
    pub slots: Slots,
    commands: Commands,
    undertaking: Mutex<Undertaking>,
    running: Mutex<Running>,
    ladder: Mutex<Ladder>,
    delivery: Mutex<Delivery>,
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
    let quic = accepted.start(OnTime::new(driver, site.release));
    let id: Arc<str> = hex(quic.scid()).into();
    let commands = controller.cmd_sender();
    // Answered when the handshake is done.
    let promise = match imtcp_tokio_quiche::promise(&commands).await {
        Ok(promise) => Some(promise),
        Err(NoPromise::OtherController) => None,
        Err(_) => {
            site.counts.handshakes_failed.inc();
            tracing::info!(connection = &*id, %peer, "no handshake");
            return;
        }
    };
    site.counts.connections.inc();
    tracing::info!(connection = &*id, %peer, "connected");
    let connection = Arc::new(Connection {
        id,
        peer,
        promise,
        site,
        began: Instant::now(),
        bytes: AtomicU64::new(0),
        open: AtomicU64::new(0),
        slots: Slots::default(),
        commands,
        undertaking: Mutex::default(),
        running: Mutex::default(),
        ladder: Mutex::default(),
        delivery: Mutex::default(),
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

    /// The bit rates of the title that is played over it, as far as they are known.
    pub fn ladder(&self) -> MutexGuard<'_, Ladder> {
        self.ladder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot has ended.
    fn on_slot(&self, report: &SlotReport) {
        let is_try = self.undertaking().on_slot(report);
        self.tell_slot(report, is_try);
    }

    /// A request begins that is a background task, or is not.
    pub fn begin_request(&self, is_background: bool) {
        let mode = self.running().begin(is_background);
        self.enter(mode);
    }

    /// It ends.
    pub fn end_request(&self, is_background: bool) {
        let mode = self.running().end(is_background);
        if let Some(mode) = mode {
            self.enter(mode);
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, mode: Mode) {
        if let Some(promise) = &self.promise
            && promise.mode() != mode
            && promise.set_mode(mode).is_ok()
        {
            tracing::info!(connection = &*self.id, %mode, "mode");
        }
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
        let rate = |requirement: Requirement| requirement.rate();
        (
            undertaking.required().map(rate),
            undertaking.refused().map(rate),
        )
    }

    /// What is known of the path now. `None` if the connection is gone.
    pub async fn view(&self) -> Option<PathView> {
        let stats = self.stats().await?;
        let promise = self.promise.as_ref();
        let moves = promise.map_or(0, Promise::moves);
        let delivery = self.delivery.lock();
        let delivered = delivery
            .unwrap_or_else(PoisonError::into_inner)
            .look(&stats, moves);
        // A source that gives exactly what is needed says nothing of what the path could carry.
        let required = promise.and_then(Promise::required);
        let is_held = required.is_some_and(|required| required.wanted() == Demand::Exactly);
        let path = stats.path_stats;
        let window = path.as_ref().map(|path| path.cwnd as u64);
        Some(PathView {
            round_trip: path.map(|path| path.rtt),
            window: window.filter(|_| promise.is_none()),
            estimate: promise.and_then(Promise::estimate),
            delivered: delivered.filter(|_| !is_held),
        })
    }

    /// What quiche counts. `None` if the connection is gone.
    pub(crate) async fn stats(&self) -> Option<QuicConnectionStats> {
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
}

/// How the slots of a promise ended, counted.
#[derive(Debug, Default)]
pub struct Slots(Mutex<SlotCounts>);

/// The numbers of slots.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotCounts {
    /// The rate was achieved.
    pub kept: u64,
    /// The source offered less, and the path carried it.
    pub source_limited: u64,
    /// Data waited.
    pub missed: u64,
}

impl Slots {
    /// The numbers now.
    pub fn counts(&self) -> SlotCounts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, outcome: Outcome) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Outcome::Kept => counts.kept += 1,
            Outcome::SourceLimited => counts.source_limited += 1,
            _ => counts.missed += 1,
        }
    }
}

/// What a connection's own task counted.
#[derive(Debug)]
struct Ended {
    requests: u64,
    /// The time in which a request was being answered.
    busy: Duration,
    lasted: Duration,
}
