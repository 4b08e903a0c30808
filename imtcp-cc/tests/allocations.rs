//! After start-up the core allocates no memory, whatever it measures: neither for acknowledgements
//! and packets, nor for releases, losses or a change in how the peer acknowledges.

mod support;

use imtcp_cc::event::{Event, Subscriber};
use imtcp_cc::promise::{Bounds, Requirement};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_cc::{Config, EstimatorKind, ImTcp};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::{DATAGRAM, Path, Run};

thread_local! {
    /// The number of allocations of this thread. Each test runs in a thread of its own.
    static ALLOCATIONS: Cell<i64> = const { Cell::new(0) };
}

fn allocations() -> i64 {
    ALLOCATIONS.get()
}

/// The system's allocator with a counter of requests for each thread.
struct Counting;

fn count() {
    // A thread that is ending has no counter any more, and needs none.
    let _ = ALLOCATIONS.try_with(|counter| counter.set(counter.get() + 1));
}

#[expect(unsafe_code, reason = "the trait is unsafe; every call is handed on as it came")]
// SAFETY: the system's allocator keeps the contract. Counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the same contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the same contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts events, to make sure that something happened in a phase without allocations.
#[derive(Debug, Default)]
struct Listener {
    judged: AtomicU64,
    abandoned: AtomicU64,
    classic: AtomicU64,
    statistical: AtomicU64,
    slots: AtomicU64,
}

impl Listener {
    fn counters(&self) -> [(&'static str, &AtomicU64); 5] {
        [
            ("streams judged", &self.judged),
            ("measurements abandoned", &self.abandoned),
            ("classic estimates", &self.classic),
            ("statistical estimates", &self.statistical),
            ("slots ended", &self.slots),
        ]
    }
}

impl Subscriber for Listener {
    fn on_event(&self, _at: Timestamp, event: &Event) {
        let counter = match event {
            Event::StreamJudged { .. } => &self.judged,
            Event::MeasurementAbandoned { .. } => &self.abandoned,
            Event::SlotEnded { .. } => &self.slots,
            Event::EstimateUpdated { estimator, .. } => match estimator {
                EstimatorKind::Classic => &self.classic,
                EstimatorKind::Statistical => &self.statistical,
            },
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// The start-up. After it slow start is over, so the number of packets in flight has had its
/// maximum. The memory for packets in flight doubles when it is full, up to a bound.
const WARM_UP: Duration = Duration::from_secs(5);
const WATCHED: Duration = Duration::from_secs(10);
const SEED: u64 = 11;

/// What the application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// More than the link can carry.
    Bulk,
    /// 10 Mbit/s, in writes of a few packets each.
    Periodic,
}

/// A run after its start-up.
struct Watch {
    run: Run,
    listener: Arc<Listener>,
}

impl Watch {
    fn begin(estimator: EstimatorKind, source: Source, path: Path) -> Self {
        let listener = Arc::new(Listener::default());
        let promise = Requirement::new(Bandwidth::from_mbps(8), Duration::from_millis(500));
        let config = Config::builder()
            .estimator(estimator)
            .promise(promise.ok())
            .build();
        let config = config.expect("either estimator is allowed");
        let mut core = ImTcp::new(config, Bytes::new(DATAGRAM), Some(listener.clone()));
        core.keep_log();
        let core = core.bounded_by(&Bounds::default(), Ipv4Addr::LOCALHOST.into());
        let mut run = Run::new(core, path, SEED);
        match source {
            Source::Bulk => run.write_at(Duration::ZERO, 200_000_000),
            Source::Periodic => {
                for write in 0..750 {
                    run.write_at(Duration::from_millis(20 * write), 25_000);
                }
            }
        }
        run.until(WARM_UP);
        for (_, counter) in listener.counters() {
            counter.store(0, Ordering::Relaxed);
        }
        run.allocations = Some(allocations);
        Self { run, listener }
    }

    fn end(mut self, what: &str, expected: &[&str]) {
        assert!(!self.run.is_idle(), "{what}: the source runs dry");
        self.run.until(WARM_UP + WATCHED);
        let tally = &self.run.tally;
        assert!(tally.calls > 10_000, "{what}: only {} calls", tally.calls);
        for (name, counter) in self.listener.counters() {
            let count = counter.load(Ordering::Relaxed);
            assert!(
                count > 0 || !expected.contains(&name),
                "{what}: no {name}, so they are not proven thrifty"
            );
        }
        assert_eq!(tally.allocations, 0, "{what}, of {} calls", tally.calls);
    }
}

fn path(cross_mbps: u64, ack_every: u32) -> Path {
    Path {
        capacity: Bandwidth::from_mbps(50),
        delay: Duration::from_millis(20),
        queue: Duration::from_millis(20),
        cross: Bandwidth::from_mbps(cross_mbps),
        loss: 0.0,
        ack_loss: 0.0,
        ack_every,
    }
}

/// Watches a run on each path. Streams, trains, reports and conclusions go on meanwhile. A bulk
/// source also fills the queue and loses packets. The default estimator only watches a full window,
/// so no streams are expected of it then.
fn watch_all_paths(estimator: EstimatorKind, source: Source) {
    let mut expected = vec!["slots ended"];
    if source == Source::Periodic || estimator == EstimatorKind::Classic {
        expected.extend(["streams judged", "classic estimates"]);
    }
    if estimator == EstimatorKind::Statistical {
        // If the paper's estimator drives, no trains are sent, and the capacity may never be known.
        expected.push("statistical estimates");
    }
    if source == Source::Bulk && estimator == EstimatorKind::Classic {
        expected.push("measurements abandoned");
    }
    for cross_mbps in [0, 20] {
        for ack_every in [1, 2] {
            let watch = Watch::begin(estimator, source, path(cross_mbps, ack_every));
            let what = format!("{cross_mbps} Mbit/s of others, {ack_every} packets per ACK");
            watch.end(&what, &expected);
        }
    }
}

#[test]
fn a_bulk_source_costs_no_memory_under_the_statistical_estimator() {
    watch_all_paths(EstimatorKind::Statistical, Source::Bulk);
}

#[test]
fn a_bulk_source_costs_no_memory_under_the_classic_estimator() {
    watch_all_paths(EstimatorKind::Classic, Source::Bulk);
}

#[test]
fn a_limited_source_costs_no_memory_under_the_statistical_estimator() {
    watch_all_paths(EstimatorKind::Statistical, Source::Periodic);
}

#[test]
fn a_limited_source_costs_no_memory_under_the_classic_estimator() {
    watch_all_paths(EstimatorKind::Classic, Source::Periodic);
}

#[test]
fn lost_packets_and_acknowledgements_cost_no_memory() {
    for (source, cross_mbps, expected) in [
        (Source::Periodic, 20, "measurements abandoned"),
        (Source::Bulk, 20, "statistical estimates"),
    ] {
        let path = Path {
            loss: 0.002,
            ack_loss: 0.05,
            ..path(cross_mbps, 1)
        };
        let watch = Watch::begin(EstimatorKind::Statistical, source, path);
        watch.end("random loss", &[expected]);
    }
}

#[test]
fn a_peer_that_begins_to_delay_its_acknowledgements_costs_no_memory() {
    for (estimator, source, expected) in [
        (
            EstimatorKind::Statistical,
            Source::Periodic,
            "streams judged",
        ),
        (
            EstimatorKind::Statistical,
            Source::Bulk,
            "statistical estimates",
        ),
        (EstimatorKind::Classic, Source::Bulk, "streams judged"),
    ] {
        let mut watch = Watch::begin(estimator, source, path(0, 1));
        watch.run.path.ack_every = 2;
        watch.end("one packet per ACK, then two", &[expected]);
    }
}
