//! The decision when to acknowledge, packet by packet.

use std::time::{Duration, Instant};

use quiche::ack_frequency::{Received, Receiver, Request};
use quiche::Error;

use super::MS;

/// A receiver, and the packets it gets one by one. Each acknowledgement that is due leaves at once.
struct Bench {
    receiver: Receiver,
    now: Instant,
    sequence: u64,
    largest: u64,
}

impl Bench {
    /// A receiver that advertised 1 ms and has received nothing. The rule for idle periods is off,
    /// because the draft's tables leave it aside.
    fn empty() -> Self {
        let now = Instant::now();
        let mut receiver = Receiver::new(Some(MS), None, 25 * MS);
        receiver.on_ack_sent(0, now);
        Self {
            receiver,
            now,
            sequence: 0,
            largest: 0,
        }
    }

    /// Packet 0 was received and acknowledged.
    fn new() -> Self {
        let mut bench = Self::empty();
        assert!(bench.packet(0));
        bench
    }

    fn request(&mut self, threshold: u64, delay: Duration, reordering: u64) {
        let result = self.receiver.on_request(Request::Frequency {
            sequence: self.sequence,
            ack_eliciting_threshold: threshold,
            max_ack_delay: delay.as_micros() as u64,
            reordering_threshold: reordering,
        });
        assert_eq!(result, Ok(()));
        self.sequence += 1;
    }

    /// An ack-eliciting packet arrives; was it acknowledged at once?
    fn packet(&mut self, packet_number: u64) -> bool {
        let due = self.take(packet_number, true);
        if due {
            self.receiver.on_ack_sent(self.largest, self.now);
        }
        due
    }

    fn take(&mut self, packet_number: u64, ack_eliciting: bool) -> bool {
        self.largest = self.largest.max(packet_number);
        self.receiver.on_packet(&Received {
            now: self.now,
            packet_number,
            ack_eliciting,
            confirmed: true,
            smoothed_rtt: 40 * MS,
        })
    }

    /// Those of the packets that were acknowledged at once.
    fn acknowledged(&mut self, packets: &[u64]) -> Vec<u64> {
        let packets = packets.iter().copied();
        packets.filter(|number| self.packet(*number)).collect()
    }
}

/// The packets that are acknowledged for reordering alone.
fn table(reordering: u64, packets: &[u64]) -> Vec<u64> {
    let mut bench = Bench::empty();
    bench.request(1_000, 1_000 * MS, reordering);
    bench.acknowledged(packets)
}

#[test]
fn the_drafts_table_for_a_reordering_threshold_of_3() {
    assert_eq!(table(3, &[0, 1, 3, 4, 5, 8, 9, 10]), [5, 9, 10]);
}

#[test]
fn the_drafts_table_for_a_reordering_threshold_of_5() {
    assert_eq!(table(5, &[0, 1, 3, 5, 6, 7, 8, 9]), [7, 9]);
}

#[test]
fn a_packet_below_the_reordering_window_is_acknowledged_at_once() {
    let mut bench = Bench::new();
    bench.request(1_000, 1_000 * MS, 3);
    assert_eq!(bench.acknowledged(&[1, 2, 4, 5, 6]), [6]);
    // The sender has declared 3 lost, and learns that it was not; 6 - 3 = 3.
    assert!(bench.packet(3));
    assert_eq!(bench.acknowledged(&[7, 9, 10]), [] as [u64; 0]);
    // 8 is late and inside the window.
    assert!(!bench.packet(8));
}

#[test]
fn a_reordering_threshold_of_1_acknowledges_each_new_gap() {
    let mut bench = Bench::new();
    bench.request(1_000, 1_000 * MS, 1);
    assert_eq!(
        bench.acknowledged(&[1, 2, 4, 5, 6, 8, 7, 3, 9]),
        [4, 8, 7, 3]
    );
}

#[test]
fn a_reordering_threshold_of_0_never_acknowledges_for_reordering() {
    let mut bench = Bench::new();
    bench.request(1_000, 1_000 * MS, 0);
    assert_eq!(
        bench.acknowledged(&[1, 5, 3, 20, 2, 19, 40]),
        [] as [u64; 0]
    );
}

#[test]
fn gaps_that_only_packets_without_an_acknowledgement_show_do_not_count() {
    let mut bench = Bench::new();
    bench.request(1_000, 1_000 * MS, 3);
    assert!(!bench.packet(1));
    assert!(
        !bench.take(9, false),
        "2 to 8 are missing, but 9 elicits nothing"
    );
    assert!(!bench.packet(3), "largest unacked is 3: 3 - 2 < 3");
    assert!(bench.packet(5), "5 - 2 >= 3");
}

#[test]
fn one_more_than_the_threshold_is_acknowledged() {
    for threshold in [0, 1, 2, 9] {
        let mut bench = Bench::new();
        bench.request(threshold, 1_000 * MS, 3);
        let numbers: Vec<u64> = (1..=40).collect();
        let expected: Vec<u64> = (1..=40).filter(|n| n % (threshold + 1) == 0).collect();
        assert_eq!(
            bench.acknowledged(&numbers),
            expected,
            "threshold {threshold}"
        );
    }
}

#[test]
fn packets_that_elicit_no_acknowledgement_neither_count_nor_start_the_timer() {
    let mut bench = Bench::new();
    bench.request(1, 50 * MS, 3);
    for number in 1..10 {
        assert!(!bench.take(number, false));
    }
    assert_eq!(bench.receiver.timer(), None);
    assert!(!bench.packet(10));
    assert!(bench.packet(11));
}

#[test]
fn the_timer_runs_from_the_first_packet_and_ends_with_any_acknowledgement() {
    let mut bench = Bench::new();
    bench.request(100, 30 * MS, 3);
    let start = bench.now;
    assert_eq!(bench.receiver.timer(), None);
    assert!(!bench.packet(1));
    bench.now += 10 * MS;
    assert!(!bench.packet(2));
    assert_eq!(bench.receiver.timer(), Some(start + 30 * MS));
    assert!(bench.receiver.is_delayed());
    assert!(!bench.receiver.on_timeout(start + 29 * MS));
    assert!(bench.receiver.on_timeout(start + 30 * MS));
    assert_eq!(
        bench.receiver.timer(),
        None,
        "a timer that has expired is gone"
    );
    assert!(
        !bench.receiver.on_timeout(start + 31 * MS),
        "it expires once"
    );
    bench.receiver.on_ack_sent(2, start + 31 * MS);
    assert!(!bench.receiver.is_delayed());

    bench.now = start + 40 * MS;
    assert!(!bench.packet(3));
    bench.receiver.on_ack_sent(3, bench.now);
    assert_eq!(
        bench.receiver.timer(),
        None,
        "an ACK frame that rode along resets it"
    );
    assert_eq!(
        bench.acknowledged(&(4..=104).collect::<Vec<_>>()),
        [104],
        "and the counter"
    );
}

#[test]
fn a_packet_after_the_deadline_is_acknowledged_even_if_nobody_looked_at_the_timer() {
    let mut bench = Bench::new();
    bench.request(100, 30 * MS, 3);
    assert!(!bench.packet(1));
    bench.now += 31 * MS;
    assert!(bench.packet(2));
}

#[test]
fn a_shorter_delay_holds_for_packets_that_wait_already() {
    let mut bench = Bench::new();
    bench.request(100, 1_000 * MS, 3);
    assert!(!bench.packet(1));
    let arrived = bench.now;
    bench.now += MS;
    bench.request(100, 5 * MS, 3);
    assert!(!bench.packet(2));
    assert_eq!(bench.receiver.timer(), Some(arrived + 5 * MS));
}

#[test]
fn an_immediate_ack_is_immediate_and_resets_the_counter() {
    let mut bench = Bench::new();
    bench.request(3, 1_000 * MS, 3);
    assert_eq!(bench.acknowledged(&[1, 2]), [] as [u64; 0]);
    assert_eq!(bench.receiver.on_request(Request::Immediate), Ok(()));
    assert!(bench.packet(3));
    assert_eq!(bench.acknowledged(&[4, 5, 6, 7]), [7]);
}

#[test]
fn after_more_than_a_round_trip_without_acknowledgement_the_next_packet_gets_one() {
    let mut bench = Bench::new();
    bench.request(100, 1_000 * MS, 3);
    bench.now += 40 * MS;
    assert!(!bench.packet(1), "a round trip is 40 ms");
    bench.now += MS;
    assert!(bench.packet(2));
}

#[test]
fn nothing_changes_before_the_first_request() {
    let mut bench = Bench::new();
    assert_eq!(bench.acknowledged(&[1, 2, 3, 7, 4]), [1, 2, 3, 7, 4]);
    assert_eq!(bench.receiver.timer(), None);
}

#[test]
fn nothing_is_delayed_before_the_handshake_is_confirmed() {
    let mut bench = Bench::new();
    bench.request(10, 1_000 * MS, 3);
    let mut packet = Received {
        now: bench.now,
        packet_number: 1,
        ack_eliciting: true,
        confirmed: false,
        smoothed_rtt: 40 * MS,
    };
    assert!(bench.receiver.on_packet(&packet));
    bench.receiver.on_ack_sent(1, bench.now);
    packet.packet_number = 2;
    packet.confirmed = true;
    assert!(!bench.receiver.on_packet(&packet));
}

#[test]
fn a_late_packet_leaves_the_rest_of_its_gap_missing() {
    let mut bench = Bench::new();
    bench.request(1_000, 1_000 * MS, 4);
    // 1 to 4 are reported with 8; 5 with 9; 6 comes late; that leaves 7 for 11.
    assert_eq!(bench.acknowledged(&[8, 6, 9, 10, 11, 12]), [8, 9, 11]);
}

#[test]
fn a_local_choice_delays_without_a_request_and_without_the_rule_for_idle_periods() {
    let mut bench = Bench::new();
    bench.receiver = Receiver::new(None, Some(2), 25 * MS);
    assert_eq!(bench.acknowledged(&[0, 1, 2, 3, 4, 5]), [2, 5]);
    bench.now += 1_000 * MS;
    assert!(!bench.packet(6));
    assert_eq!(bench.receiver.timer(), Some(bench.now + 25 * MS));
    assert!(bench.packet(8), "a gap");
}

#[test]
fn obsolete_requests_are_ignored() {
    let mut bench = Bench::new();
    bench.sequence = 7;
    bench.request(1, 50 * MS, 3);
    for sequence in [7, 6, 0] {
        bench.sequence = sequence;
        bench.request(100, 50 * MS, 3);
    }
    assert_eq!(
        bench.acknowledged(&[1, 2, 3, 4]),
        [2, 4],
        "still every second"
    );
    bench.sequence = 8;
    bench.request(2, 50 * MS, 3);
    assert_eq!(bench.acknowledged(&[5, 6, 7]), [7]);
}

#[test]
fn a_delay_out_of_range_is_a_protocol_violation_even_when_obsolete() {
    let frequency = |sequence, max_ack_delay| Request::Frequency {
        sequence,
        ack_eliciting_threshold: 1,
        max_ack_delay,
        reordering_threshold: 1,
    };
    let mut receiver = Receiver::new(Some(MS), None, 25 * MS);
    let limit = (1 << 14) * 1_000;
    assert_eq!(receiver.on_request(frequency(5, 1_000)), Ok(()));
    assert_eq!(receiver.on_request(frequency(6, limit - 1)), Ok(()));
    for (sequence, delay) in [(7, 999), (7, limit), (7, (1 << 62) - 1), (0, 0)] {
        assert_eq!(
            receiver.on_request(frequency(sequence, delay)),
            Err(Error::InvalidPacket),
            "{delay} us"
        );
    }
}

#[test]
fn requests_are_unknown_frames_to_whoever_did_not_advertise() {
    let mut receiver = Receiver::new(None, Some(1), 25 * MS);
    assert_eq!(
        receiver.on_request(Request::Immediate),
        Err(Error::InvalidFrame)
    );
}

#[test]
fn gaps_are_acknowledged_before_they_overflow_the_ack_frame() {
    let mut bench = Bench::new();
    bench.request((1 << 62) - 1, 16_000 * MS, (1 << 62) - 1);
    let numbers: Vec<u64> = (0..10_000).map(|n| n * 2).collect();
    let acknowledged = bench.acknowledged(&numbers);
    assert!(acknowledged.len() > 100, "{}", acknowledged.len());
    let most = acknowledged
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) / 2)
        .max();
    assert!(
        most < Some(68),
        "{most:?} ranges in one ACK frame, which takes 68"
    );
}
