use super::*;
use crate::transport::{AckedPacket, RoundTrip};
use crate::units::Bandwidth;
use std::time::Duration;

const SIZE: Bytes = Bytes::new(1000);

const RTT: Duration = Duration::from_millis(100);

/// A window that has left slow start, and has lost one of its last hundred packets.
struct Flow {
    window: CongestionWindow,
    steering: Steering,
    next: u64,
    now: Timestamp,
    /// How long packets wait in a queue.
    wait: Duration,
}

impl Flow {
    /// On a path with a queue.
    fn new(steering: Steering) -> Self {
        Self::of(Window::Cubic, steering, RTT / 2)
    }

    fn of(kind: Window, steering: Steering, wait: Duration) -> Self {
        let mut flow = Self {
            window: CongestionWindow::new(kind, 100, SIZE),
            steering,
            next: 0,
            now: Timestamp::ZERO,
            wait,
        };
        flow.window.law.any().leave_slow_start();
        flow
    }

    /// A round trip of a hundred packets, of which the last one is answered.
    fn round(&mut self) {
        let sent = self.now;
        for _ in 0..100 {
            let packet = SentPacket {
                number: self.next,
                size: SIZE,
                released: true,
                bytes_in_flight: SIZE.times(100),
            };
            self.window.on_sent(&packet);
            self.next += 1;
        }
        self.now = sent + RTT + self.wait;
        let packet = AckedPacket {
            number: self.next - 1,
            size: SIZE,
            sent,
            received: None,
        };
        let info = AckInfo {
            largest: packet.number,
            ack_delay: Duration::ZERO,
            rtt: RoundTrip {
                latest: RTT + self.wait,
                min: RTT,
                smoothed: RTT,
                variation: Duration::ZERO,
            },
            bytes_in_flight: SIZE.times(99),
        };
        let acked = Acked {
            now: self.now,
            info,
            packets: &[packet],
        };
        self.window.on_ack(&acked, &self.steering, None);
    }

    /// Loses so many packets.
    fn lose(&mut self, packets: u64, persistent_congestion: bool) -> Response {
        for lost in 0..packets {
            self.window.on_lost(self.next - 50 + lost);
        }
        let loss = LossInfo {
            oldest_sent: self.now,
            newest_sent: self.now,
            persistent_congestion,
        };
        self.window.on_loss(self.now, &loss)
    }

    /// What is left of a window of 100 packets after a lone loss, when recovery is over.
    fn after_a_lone_loss(mut self) -> u64 {
        self.round();
        assert_eq!(self.lose(1, false), Response::Reduced);
        self.now = self.now + Duration::from_millis(1);
        self.round();
        self.window.size().get() / SIZE.get()
    }
}

fn promising(needed: u64, weight: f64) -> Steering {
    Steering {
        proportion: Some(Proportion {
            weight,
            needed: SIZE.times(needed),
        }),
        ..Steering::default()
    }
}

#[test]
fn a_lone_loss_is_pardoned_without_a_promise() {
    assert_eq!(Flow::new(Steering::default()).after_a_lone_loss(), 100);
}

#[test]
fn losses_that_are_found_after_a_pardon_are_no_lone_one() {
    let mut flow = Flow::new(Steering::default());
    flow.round();
    assert_eq!(flow.lose(1, false), Response::Reduced);
    flow.now = flow.now + Duration::from_millis(1);
    flow.round();
    assert_eq!(flow.window.size().get() / SIZE.get(), 100, "pardoned");
    // Of the packets before the reduction, the last ones were lost as well.
    (96..99).for_each(|number| flow.window.on_lost(number));
    let loss = LossInfo {
        oldest_sent: Timestamp::ZERO,
        newest_sent: Timestamp::ZERO,
        persistent_congestion: false,
    };
    assert_eq!(flow.window.on_loss(flow.now, &loss), Response::Reduced);
    flow.now = flow.now + Duration::from_millis(1);
    flow.round();
    assert_eq!(flow.window.size().get() / SIZE.get(), 70);
}

#[test]
fn who_wants_at_least_a_rate_is_pardoned_up_to_the_window_that_it_needs() {
    assert_eq!(Flow::new(promising(101, 1.0)).after_a_lone_loss(), 100);
    assert_eq!(Flow::new(promising(90, 1.0)).after_a_lone_loss(), 70);
    // The promise rests.
    let resting = Steering {
        proportion: Some(Proportion::STANDARD),
        ..Steering::default()
    };
    assert_eq!(Flow::new(resting).after_a_lone_loss(), 70);
}

#[test]
fn who_wants_no_more_than_a_rate_is_not_pardoned() {
    let exactly = Steering {
        packets_per_second: Some(900.0),
        ..promising(101, 2.0)
    };
    // Of two flows one loses 30 %.
    assert_eq!(Flow::new(exactly).after_a_lone_loss(), 85);
}

/// Whether a flow on a path without a queue answers the loss of so many of a hundred packets.
fn answers(kind: Window, steering: Steering, lost: u64, persistent_congestion: bool) -> bool {
    let mut flow = Flow::of(kind, steering, Duration::ZERO);
    flow.round();
    flow.lose(lost, persistent_congestion) == Response::Reduced
}

#[test]
fn losses_where_nothing_waited_leave_the_window() {
    let free = Steering::default;
    assert!(!answers(Window::Cubic, free(), 5, false));
    assert!(
        !answers(Window::Cubic, free(), 42, false),
        "packets in a row are one loss"
    );
    // Of the last 2000 packets 2 % may be lost like that.
    let mut scattered = Flow::of(Window::Cubic, free(), Duration::ZERO);
    scattered.round();
    (0..41).for_each(|nth| scattered.window.on_lost(nth * 2));
    assert_eq!(scattered.lose(1, false), Response::Reduced);
    assert!(
        answers(Window::Cubic, free(), 1, true),
        "persistent congestion"
    );
    assert!(answers(Window::Reno, free(), 1, false), "the papers' Reno");
    assert!(
        !answers(Window::Cubic, promising(90, 1.0), 5, false),
        "whatever is promised"
    );
}

#[test]
fn a_mark_is_answered_where_nothing_waited() {
    let mut flow = Flow::of(Window::Cubic, Steering::default(), Duration::ZERO);
    flow.round();
    assert_eq!(flow.window.on_mark(flow.now, flow.now), Response::Reduced);
}

/// What a window of so many packets answers a loss with, and then another one of the same event.
fn answers_of(packets: u64, steering: Steering) -> [Response; 2] {
    let mut flow = Flow::new(steering);
    flow.round();
    flow.window.law.any().set_window(SIZE.times(packets));
    [flow.lose(3, false), flow.lose(3, false)]
}

#[test]
fn a_congestion_event_that_leaves_the_window_is_one_and_the_losses_behind_it_are_none() {
    let (nothing, kept) = (Response::Nothing, Response::Kept);
    let free = answers_of(2, Steering::default());
    assert_eq!(free, [kept, nothing], "the least window");
    let needed = answers_of(4, promising(4, 2.0));
    assert_eq!(needed, [kept, nothing], "two flows at their least");
    let larger = answers_of(40, promising(40, 2.0));
    assert_eq!(larger, [Response::Reduced, nothing]);
}

/// Whether slow start on a path with this wait ends when one packet got through and so many are
/// lost.
fn ends_slow_start(kind: Window, wait: Duration, lost: u64) -> bool {
    ends_start(CongestionWindow::new(kind, 100, SIZE), wait, lost)
}

fn ends_start(window: CongestionWindow, wait: Duration, lost: u64) -> bool {
    let mut flow = Flow::of(Window::Cubic, Steering::default(), wait);
    flow.window = window;
    flow.round();
    let is_answered = flow.lose(lost, false) != Response::Nothing;
    assert_eq!(is_answered, flow.window.phase() != Phase::SlowStart);
    is_answered
}

#[test]
fn slow_start_goes_on_where_few_are_lost_and_nothing_waited() {
    assert!(!ends_slow_start(Window::Cubic, Duration::ZERO, 1));
    assert!(ends_slow_start(Window::Cubic, Duration::ZERO, 2));
    assert!(ends_slow_start(Window::Cubic, RTT / 2, 1));
    assert!(ends_slow_start(Window::Reno, Duration::ZERO, 1));
    let mut resuming = CongestionWindow::new(Window::Cubic, 100, SIZE);
    resuming.resume(SavedPath {
        available: Bandwidth::from_mbps(20),
        least_rtt: RTT,
    });
    assert!(ends_start(resuming, Duration::ZERO, 1), "a jump is due");
}

#[test]
fn a_jump_whose_loss_was_spurious_is_not_retreated_from() {
    let mut flow = Flow::of(Window::Cubic, Steering::default(), RTT / 2);
    flow.window = CongestionWindow::new(Window::Cubic, 2, SIZE);
    flow.window.resume(SavedPath {
        available: Bandwidth::from_mbps(20),
        least_rtt: RTT,
    });
    // The first flight is two packets. The third one is of the jump.
    (0..3).for_each(|_| flow.round());
    let before = flow.window.size();
    assert!(before >= SIZE.times(100), "{before}");
    assert_eq!(flow.lose(1, false), Response::Reduced);
    assert!(flow.window.size() < before);
    flow.window.on_spurious_loss(flow.next - 50);
    assert_eq!(flow.window.size(), before);
    flow.round();
    assert_eq!(flow.window.slow_start_threshold(), None);
    assert_eq!(flow.window.phase(), Phase::SlowStart);
}
