use super::*;

/// It takes 1 ms at this rate.
const PACKET: Bytes = Bytes::new(1250);
const CAPACITY: Bandwidth = Bandwidth::from_mbps(10);

const LOST: u64 = 50;

/// The packets of the gap across the lost packet, if there is one. Packets leave 2 ms apart, and
/// packet `number` waits for `wait_us(number)` beyond a delay of 20 ms.
fn packets_across_a_loss(wait_us: impl Fn(u64) -> u64) -> Option<u32> {
    let at = |us: u64| Timestamp::from_nanos(us * 1000);
    let left = |number: u64| 2_000 * number;
    let mut tracker = EchoTracker::new();
    (0..100).for_each(|number| tracker.on_sent(number, PACKET, at(left(number)), Some(CAPACITY)));
    for number in (0..100).filter(|number| *number != LOST) {
        let back = at(left(number) + 20_000 + wait_us(number));
        let newly = [(number, None)].into_iter();
        tracker.on_ack(Some(back), back, number, newly, Some(CAPACITY), |_| {});
        if number == LOST + 1 {
            return tracker.gaps().first().map(|gap| gap.packets);
        }
        assert!(number == 0 || tracker.gaps().len() == 1, "{number}");
    }
    None
}

#[test]
fn what_a_long_queue_dropped_never_crossed_the_link() {
    assert_eq!(packets_across_a_loss(|number| 200 * number), Some(1));
}

#[test]
fn a_loss_where_the_queue_was_short_ends_no_gap() {
    let peak_before = |number| match number {
        20..=28 => 20_000 - 2_000 * (number - 20),
        _ => 3_000,
    };
    assert_eq!(packets_across_a_loss(peak_before), None);
}

#[test]
fn a_loss_where_nothing_waits_is_not_the_links() {
    assert_eq!(packets_across_a_loss(|_| 0), None, "an idle path");
    let jitter = |number| number % 5 * 10;
    assert_eq!(
        packets_across_a_loss(jitter),
        None,
        "echoes are off a little"
    );
}

#[test]
fn echoes_of_unequal_packets_that_come_as_the_link_serves_them_have_no_jitter() {
    let at = |us: u64| Timestamp::from_nanos(us * 1000);
    let mut tracker = EchoTracker::new();
    for number in 0..200 {
        let size = if number % 2 == 0 { 1250 } else { 125 };
        tracker.on_sent(number, Bytes::new(size), at(0), Some(CAPACITY));
    }
    for pair in 0..100 {
        // The two take 1.1 ms.
        let (back, last) = (at(20_000 + pair * 1_100), 2 * pair + 1);
        let newly = [(last - 1, None), (last, None)].into_iter();
        tracker.on_ack(Some(back), back, last, newly, Some(CAPACITY), |_| {});
    }
    assert_eq!(tracker.jitter(), Nanos::ZERO);
}
