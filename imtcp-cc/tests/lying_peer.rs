//! A peer that lies about delays and times. It may spoil its own measurement. It cannot crash or
//! stall the sender, and it cannot make the sender believe in more than was delivered.

mod support;

use imtcp_cc::units::{Bandwidth, Timestamp};
use imtcp_cc::{Config, ImTcp};
use std::time::Duration;
use support::{Path, Run, Says};

const CAPACITY: Bandwidth = Bandwidth::from_mbps(20);
const MS: Duration = Duration::from_millis(1);

fn path() -> Path {
    Path {
        capacity: CAPACITY,
        delay: 15 * MS,
        queue: 40 * MS,
        cross: Bandwidth::from_mbps(5),
        loss: 0.0,
        ack_loss: 0.0,
        ack_every: 1,
    }
}

/// Runs a bulk transfer for 20 s and then a source of 4 Mbit/s for 10 s. Returns the largest
/// capacity and the largest estimate.
fn run(says: Says, seed: u64) -> (Bandwidth, Bandwidth) {
    let mut run = Run::new(
        ImTcp::new(
            Config::default(),
            imtcp_cc::units::Bytes::new(support::DATAGRAM),
            None,
        ),
        path(),
        seed,
    );
    run.says = Some(says);
    run.write_at(Duration::ZERO, 35_000_000);
    for i in 0..600 {
        run.write_at(Duration::from_secs(20) + 16 * MS * i, 8_000);
    }
    let mut greatest = (Bandwidth::ZERO, Bandwidth::ZERO);
    for tenth in 1..=600 {
        run.until(100 * MS * tenth);
        let capacity = run.core.capacity().unwrap_or(Bandwidth::ZERO);
        let available = run.core.estimate().map_or(Bandwidth::ZERO, |e| e.available);
        greatest = (greatest.0.max(capacity), greatest.1.max(available));
    }
    assert!(
        run.is_idle(),
        "stalled with {} bytes out",
        run.bytes_in_flight()
    );
    assert!(run.tally.longest_hold < Duration::from_secs(1));
    greatest
}

fn believes_no_more_than_the_link(what: &str, says: Says) {
    for seed in 1..=4 {
        let (capacity, available) = run(says, seed);
        let most = CAPACITY.scaled(1.05);
        assert!(capacity <= most, "{what}, seed {seed}: capacity {capacity}");
        assert!(
            available <= capacity,
            "{what}, seed {seed}: {available} available"
        );
    }
}

fn true_time(arrived: Timestamp) -> Duration {
    Duration::from_nanos(arrived.as_nanos())
}

#[test]
fn an_honest_peer_is_believed() {
    let (capacity, available) = run(|_, at| (Duration::ZERO, Some(true_time(at))), 1);
    assert!(capacity >= CAPACITY.scaled(0.98) && capacity <= CAPACITY.scaled(1.02));
    assert!(available >= Bandwidth::from_mbps(13));
}

#[test]
fn receive_times_that_run_backwards() {
    believes_no_more_than_the_link("backwards", |_, at| {
        let back = Duration::from_secs(1000).saturating_sub(true_time(at));
        (Duration::ZERO, Some(back))
    });
}

#[test]
fn receive_times_at_random() {
    believes_no_more_than_the_link("random over an hour", |random, _| {
        (
            Duration::ZERO,
            Some(Duration::from_secs(3600).mul_f64(random.unit())),
        )
    });
    believes_no_more_than_the_link("random about the truth", |random, at| {
        (
            Duration::ZERO,
            Some(true_time(at) + (20 * MS).mul_f64(random.unit())),
        )
    });
}

#[test]
fn receive_times_that_stand_still_or_race() {
    believes_no_more_than_the_link("frozen", |_, _| {
        (Duration::ZERO, Some(Duration::from_secs(5)))
    });
    believes_no_more_than_the_link("extreme", |random, _| {
        let extreme = if random.chance(0.5) {
            Duration::MAX
        } else {
            Duration::ZERO
        };
        (Duration::ZERO, Some(extreme))
    });
    believes_no_more_than_the_link("ten times too slow", |_, at| {
        (Duration::ZERO, Some(true_time(at) / 10))
    });
}

#[test]
fn absurd_delays() {
    believes_no_more_than_the_link("for ever", |_, _| (Duration::MAX, None));
    believes_no_more_than_the_link("at random", |random, _| {
        ((50 * MS).mul_f64(random.unit()), None)
    });
    believes_no_more_than_the_link("now and then", |random, _| {
        (
            if random.chance(0.5) {
                20 * MS
            } else {
                Duration::ZERO
            },
            None,
        )
    });
    believes_no_more_than_the_link("a little", |random, _| {
        ((2 * MS).mul_f64(random.unit()), None)
    });
}
