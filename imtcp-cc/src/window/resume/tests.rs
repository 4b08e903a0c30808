use super::*;
use crate::units::Bandwidth;
use crate::window::{Cubic, Phase, Reno};
use proptest::prelude::*;

const LEAST: Duration = Duration::from_millis(40);
const DATAGRAM: Bytes = Bytes::new(1000);

/// 200 packets of 1000 bytes in 40 ms.
const SAVED: SavedPath = SavedPath {
    available: Bandwidth::from_mbps(40),
    least_rtt: LEAST,
};

fn enough(window: u64) -> Enough {
    Enough {
        window: Bytes::new(window),
        is_crowded: false,
        least_rtt: LEAST,
    }
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

struct Connection {
    resume: Resume,
    law: Box<dyn WindowLaw>,
    least_rtt: Duration,
    enough: Option<Enough>,
    in_flight: u64,
}

impl Connection {
    fn new(saved: Option<SavedPath>) -> Self {
        Self {
            resume: Resume::new(saved),
            law: Box::new(Cubic::new(10, DATAGRAM)),
            least_rtt: LEAST,
            enough: None,
            in_flight: 0,
        }
    }

    /// Acknowledges `packets` packets that left at `sent` milliseconds, at `now`.
    fn ack(&mut self, packets: u64, sent: u64, now: u64) {
        for _ in 0..packets {
            self.ack_one(sent, now, false);
        }
    }

    fn ack_one(&mut self, sent: u64, now: u64, application_limited: bool) {
        let mut acked = AckedBytes {
            now: at(now),
            size: DATAGRAM,
            sent: at(sent),
            application_limited,
            smoothed_rtt: LEAST,
            latest_rtt: LEAST,
        };
        let flight = Flight {
            in_flight: Bytes::new(self.in_flight),
            least_rtt: self.least_rtt,
            enough: self.enough.as_ref(),
        };
        if self.resume.on_ack(&acked, &flight, self.law.as_mut()) {
            acked.size = Bytes::ZERO;
        }
        self.law.on_ack(&acked);
    }

    fn lose(&mut self, sent: u64, now: u64) {
        if self.law.on_congestion(at(now), at(sent), None) {
            self.resume
                .on_reduction(at(now), at(sent), self.law.as_mut());
        }
    }

    fn window(&self) -> u64 {
        self.law.window().get()
    }
}

#[test]
fn memory_alone_vouches_for_half_of_the_window() {
    let mut connection = Connection::new(Some(SAVED));
    connection.in_flight = 18_000;
    connection.ack(9, 0, 40);
    assert_eq!(connection.window(), 19_000, "slow start");
    connection.ack(1, 0, 40);
    // The packet that ends the first flight grows the window as well.
    assert_eq!(connection.window(), 101_000);
    assert!(connection.resume.is_jumping());
    assert_eq!(connection.law.phase(), Phase::SlowStart);
}

#[test]
fn a_capacity_that_the_first_flight_shows_vouches_for_all_of_it_and_bounds_it() {
    for (capacity, jump) in [(1_000_000, 200_000), (200_000, 200_000), (50_000, 50_000)] {
        let mut connection = Connection::new(Some(SAVED));
        connection.enough = Some(enough(capacity));
        connection.ack(10, 0, 40);
        assert_eq!(connection.window(), jump + 1000, "{capacity}");
    }
}

#[test]
fn another_round_trip_is_another_path() {
    for (least_ms, jumps) in [(19, false), (20, true), (400, true), (401, false)] {
        let mut connection = Connection::new(Some(SAVED));
        connection.least_rtt = Duration::from_millis(least_ms);
        connection.ack(10, 0, 40);
        assert_eq!(connection.resume.is_jumping(), jumps, "{least_ms} ms");
        assert_eq!(connection.resume.is_over(), !jumps, "{least_ms} ms");
    }
}

#[test]
fn there_is_no_jump_after_a_loss_and_none_without_data() {
    let mut connection = Connection::new(Some(SAVED));
    connection.ack(5, 0, 40);
    connection.lose(0, 40);
    assert!(connection.resume.is_over());
    let mut connection = Connection::new(Some(SAVED));
    for _ in 0..10 {
        connection.ack_one(0, 40, true);
    }
    assert!(connection.resume.is_over());
    assert_eq!(connection.window(), 10_000);
}

#[test]
fn a_jump_that_gets_through_goes_on_as_slow_start() {
    let mut connection = Connection::new(Some(SAVED));
    connection.ack(10, 0, 40);
    // Packets from before the jump do not grow the window.
    connection.ack(10, 39, 79);
    assert_eq!(connection.window(), 101_000);
    connection.in_flight = 100_000;
    connection.ack(50, 40, 80);
    assert!(!connection.resume.is_jumping());
    assert_eq!(connection.window(), 151_000);
    connection.ack(1, 80, 120);
    assert!(connection.resume.is_over());
    assert_eq!(connection.law.slow_start_threshold(), None);
}

#[test]
fn the_part_of_a_jump_that_was_not_used_is_given_back() {
    let mut connection = Connection::new(Some(SAVED));
    connection.ack(10, 0, 40);
    connection.in_flight = 29_000;
    connection.ack(1, 40, 80);
    // What was in flight, and one packet of growth.
    assert_eq!(connection.window(), 31_000);
}

#[test]
fn a_loss_leaves_half_of_what_got_through() {
    let mut connection = Connection::new(Some(SAVED));
    connection.in_flight = 20_000;
    connection.ack(10, 0, 40);
    connection.in_flight = 100_000;
    connection.ack(40, 45, 85);
    connection.lose(60, 100);
    // 20 packets were in flight at the jump, and 40 came back since.
    assert_eq!(connection.window(), 30_000);
    // Up to the reaction, packets that come back still count. 0.7 of 90 packets is the threshold.
    connection.ack(30, 99, 139);
    connection.ack(1, 101, 141);
    assert!(connection.resume.is_over());
    let threshold = connection.law.slow_start_threshold();
    assert_eq!(threshold, Some(Bytes::new(63_000)));
    assert_eq!(connection.law.phase(), Phase::SlowStart);
}

#[test]
fn reno_retreats_as_well() {
    let mut connection = Connection::new(Some(SAVED));
    connection.law = Box::new(Reno::new(10, DATAGRAM));
    connection.in_flight = 20_000;
    connection.ack(10, 0, 40);
    connection.lose(45, 100);
    assert_eq!(connection.window(), 10_000);
}

proptest! {
    /// Whatever is remembered: before the first flight is back the window is slow start's, and
    /// after a loss it is at most half of what got through.
    #[test]
    fn a_jump_is_safe(
        megabits in 0u64..100_000,
        rtt_ms in 1u64..1000,
        capacity in proptest::option::of(0u64..10_000_000),
        returned in 0u64..300,
        in_flight in 0u64..1_000_000,
    ) {
        let saved = SavedPath {
            available: Bandwidth::from_mbps(megabits),
            least_rtt: Duration::from_millis(rtt_ms),
        };
        let (mut connection, mut plain) = (Connection::new(Some(saved)), Connection::new(None));
        connection.enough = capacity.map(enough);
        connection.in_flight = in_flight;
        for _ in 0..9 {
            connection.ack(1, 0, 40);
            plain.ack(1, 0, 40);
            prop_assert_eq!(connection.window(), plain.window());
        }
        connection.ack(1, 0, 40);
        plain.ack(1, 0, 40);
        prop_assert!(connection.window() >= plain.window());
        if let Some(capacity) = capacity {
            prop_assert!(connection.window() <= (capacity + 1000).max(plain.window()));
        }
        if connection.resume.is_jumping() {
            connection.ack(returned, 45, 85);
            let before = connection.window();
            connection.lose(60, 100);
            let through = in_flight + returned * 1000;
            prop_assert!(connection.window() <= (through / 2).max(2000));
            prop_assert!(connection.window() < before);
        }
    }
}
