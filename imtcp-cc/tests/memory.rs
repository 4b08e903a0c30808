//! What a connection costs in memory: no more than the controller itself before its peer has
//! acknowledged data, and a bounded amount for as long as it lasts.

mod support;

use imtcp_cc::units::{Bandwidth, Bytes};
use imtcp_cc::{Config, ImTcp};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;
use support::{DATAGRAM, Path, Run};

thread_local! {
    /// The bytes that this thread has asked for and not given back.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

fn held() -> i64 {
    HELD.get()
}

/// The system's allocator with a counter of bytes for each thread.
struct Counting;

fn count(change: i64) {
    // A thread that is ending has no counter any more, and needs none.
    let _ = HELD.try_with(|counter| counter.set(counter.get() + change));
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).expect("no allocation is that large")
}

#[expect(unsafe_code, reason = "the trait is unsafe; every call is handed on as it came")]
// SAFETY: the system's allocator keeps the contract. Counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()));
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-signed(layout.size()));
        // SAFETY: the caller keeps the same contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(signed(size) - signed(layout.size()));
        // SAFETY: the caller keeps the same contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A peer whose address is not validated gets at most three times what it sent (RFC 9000, section
/// 8.1): three datagrams for one.
const UNVALIDATED: u64 = 3 * DATAGRAM;

/// What a connection may hold of which the peer has acknowledged nothing: the controller, without
/// any of the buffers that it fills later.
const MOST_UNHEARD: i64 = 24 * 1024;

/// What a connection may hold for as long as it lasts.
const MOST: i64 = 128 * 1024;

/// A connection over 100 Mbit/s and 20 ms, beside 30 Mbit/s of others, and what its core holds so
/// far.
fn connection() -> (Run, i64) {
    let config = Config::builder().build().expect("the defaults are allowed");
    let path = Path {
        capacity: Bandwidth::from_mbps(100),
        delay: Duration::from_millis(10),
        queue: Duration::from_millis(20),
        cross: Bandwidth::from_mbps(30),
        loss: 0.0,
        ack_loss: 0.0,
        ack_every: 1,
    };
    let before = held();
    let core = ImTcp::new(config, Bytes::new(DATAGRAM), None);
    let made = held() - before + signed(size_of::<ImTcp>());
    let mut run = Run::new(core, path, 7);
    run.allocations = Some(held);
    (run, made)
}

/// What a core holds, at most, that had data to send for this long.
fn held_after(time: Duration) -> i64 {
    let (mut run, made) = connection();
    run.write_at(Duration::ZERO, 12_500_000 * (time.as_secs() + 1));
    run.until(time);
    assert!(!run.is_idle() && run.tally.delivered > 5_000_000 * time.as_secs());
    made + run.tally.allocations
}

#[test]
fn a_peer_that_never_answers_reserves_nothing() {
    let (mut run, made) = connection();
    run.write_at(Duration::ZERO, UNVALIDATED);
    // No acknowledgement can come before a round trip is over.
    run.until(Duration::from_millis(15));
    assert!(run.tally.sent >= 3, "{}", run.tally.sent);
    let held = made + run.tally.allocations;
    println!("{made} bytes when made, {held} when the first packets have left");
    assert!(held <= MOST_UNHEARD, "{held} bytes");
}

#[test]
fn a_connection_is_bounded_for_ten_minutes() {
    let held = held_after(Duration::from_secs(600));
    println!("{held} bytes after ten minutes at 100 Mbit/s");
    assert!(held <= MOST, "{held} bytes");
}
