use super::*;
use proptest::prelude::*;

const LEAST: Duration = Duration::from_millis(40);
/// A wait of an eighth of the least round trip shows that the path is full.
const WAITED: Duration = Duration::from_millis(45);
const PACKET: Bytes = Bytes::new(1000);

/// A path that 100 packets fill.
const ENOUGH: Enough = Enough {
    window: Bytes::new(100_000),
    is_crowded: false,
    least_rtt: LEAST,
};
const CROWDED: Enough = Enough {
    is_crowded: true,
    ..ENOUGH
};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

/// A packet that left at `sent` milliseconds.
fn acked(sent: u64, rtt: Duration) -> AckedBytes {
    AckedBytes {
        now: at(sent) + rtt,
        size: PACKET,
        sent: at(sent),
        application_limited: false,
        smoothed_rtt: rtt,
        latest_rtt: rtt,
    }
}

/// Packets that leave every millisecond, from `from` to `to`, while the window is as large.
fn steps(
    start: &mut MeasuredStart,
    (from, to): (u64, u64),
    rtt: Duration,
    window: u64,
    enough: Enough,
) -> Vec<Step> {
    let mut step = |sent| start.on_ack(&acked(sent, rtt), Bytes::new(window), Some(&enough));
    (from..to).map(&mut step).collect()
}

#[test]
fn a_window_below_five_quarters_of_what_is_enough_grows() {
    let mut start = MeasuredStart::new();
    let grown = steps(&mut start, (0, 50), WAITED, 124_999, ENOUGH);
    assert_eq!(grown, [Step::Grow; 50]);
    assert!(start.is_searching());
}

#[test]
fn a_full_path_is_left_when_packets_waited_for_a_whole_round() {
    let mut start = MeasuredStart::new();
    // The packet of 0 ms is acknowledged at 45 ms. Packets from 85 ms on tell, until 125 ms.
    let held = steps(&mut start, (0, 125), WAITED, 125_000, ENOUGH);
    assert_eq!(held, [Step::Hold; 125]);
    assert!(!start.is_searching());
    let next = steps(&mut start, (125, 127), WAITED, 125_000, ENOUGH);
    assert_eq!(next, [Step::Leave, Step::Grow]);
    assert!(start.has_left());
}

#[test]
fn a_reading_that_is_too_low_costs_two_round_trips() {
    let mut start = MeasuredStart::new();
    // Held from 40 ms on. The eighth packet from 80 ms on left at 87 ms, and is back at 127 ms.
    let held = steps(&mut start, (0, 88), LEAST, 125_000, ENOUGH);
    assert_eq!(held[..87], [Step::Hold; 87]);
    assert_eq!(held[87], Step::Grow);
    // The reading is not asked again before the window has doubled.
    let grown = steps(&mut start, (88, 188), LEAST, 249_999, ENOUGH);
    assert_eq!(grown, [Step::Grow; 100]);
    assert!(!start.is_trusting());
    let held = steps(&mut start, (188, 189), LEAST, 250_000, ENOUGH);
    assert_eq!(held, [Step::Hold]);
}

#[test]
fn beside_others_the_window_grows_slowly_until_congestion() {
    let mut start = MeasuredStart::new();
    let slow = steps(&mut start, (0, 1000), WAITED, 125_000, CROWDED);
    assert_eq!(slow, [Step::Slow; 1000]);
    start.give_up();
    let grown = steps(&mut start, (1000, 1100), WAITED, 125_000, CROWDED);
    assert_eq!(grown, [Step::Grow; 100]);
}

#[test]
fn others_that_give_way_let_slow_start_go_on() {
    let mut start = MeasuredStart::new();
    steps(&mut start, (0, 300), WAITED, 125_000, CROWDED);
    let freed = steps(&mut start, (300, 400), LEAST, 125_000, CROWDED);
    assert!(freed.contains(&Step::Grow));
    assert!(start.is_searching());
}

#[test]
fn a_path_that_has_more_room_later_is_entered_again() {
    let mut start = MeasuredStart::new();
    steps(&mut start, (0, 126), WAITED, 125_000, ENOUGH);
    assert!(start.has_left());
    let waits = steps(&mut start, (126, 400), WAITED, 130_000, ENOUGH);
    assert!(waits.iter().all(|step| *step == Step::Grow));
    // A round begins with an acknowledgement at most 85 ms earlier or later.
    let free = steps(&mut start, (400, 500), LEAST, 130_000, ENOUGH);
    assert_eq!(free.iter().filter(|step| **step == Step::Resume).count(), 1);
    assert!(!start.has_left());
}

#[test]
fn an_application_that_does_not_fill_its_window_shows_no_room() {
    let mut start = MeasuredStart::new();
    steps(&mut start, (0, 126), WAITED, 125_000, ENOUGH);
    for sent in 126..1000 {
        let mut packet = acked(sent, LEAST);
        packet.application_limited = true;
        let step = start.on_ack(&packet, Bytes::new(130_000), Some(&ENOUGH));
        assert_eq!(step, Step::Grow, "{sent}");
    }
    assert!(start.has_left());
}

#[test]
fn after_congestion_nothing_is_bounded() {
    let mut start = MeasuredStart::new();
    start.give_up();
    assert!(start.is_over());
    let grown = steps(&mut start, (0, 300), WAITED, 1_000_000, ENOUGH);
    assert_eq!(grown, [Step::Grow; 300]);
}

proptest! {
    #[test]
    fn without_a_reading_it_is_slow_start(
        packets in proptest::collection::vec((0u64..1000, 1u64..100, any::<u32>()), 1..200),
    ) {
        let mut start = MeasuredStart::new();
        for (sent, rtt_ms, window) in packets {
            let packet = acked(sent, Duration::from_millis(rtt_ms));
            let step = start.on_ack(&packet, Bytes::new(window.into()), None);
            prop_assert_eq!(step, Step::Grow);
        }
    }

    /// Whatever is read, slow start never ends while no packet waits, and nothing but two round
    /// trips for each doubling is lost.
    #[test]
    fn no_reading_ends_slow_start_where_no_packet_waits(
        enough in proptest::collection::vec((0u64..10_000_000, any::<bool>()), 1..50),
    ) {
        let mut start = MeasuredStart::new();
        let mut window = 10_000u64;
        let (mut held, mut doublings) = (0u64, 0u64);
        for sent in 0..4000u64 {
            let (filled, is_crowded) = enough[usize::try_from(sent).unwrap() % enough.len()];
            let enough = Enough { window: Bytes::new(filled), is_crowded, least_rtt: LEAST };
            match start.on_ack(&acked(sent, LEAST), Bytes::new(window), Some(&enough)) {
                Step::Grow => {}
                Step::Hold | Step::Slow => held += 1,
                step => prop_assert!(false, "{:?} at {}", step, sent),
            }
            if sent % 200 == 199 {
                window *= 2;
                doublings += 1;
            }
        }
        // A packet a millisecond: 40 ms until the acknowledgement, 40 ms, and eight packets.
        prop_assert!(held <= 88 * (doublings + 1), "{} of {}", held, doublings);
    }
}
