use super::*;

const PACKET: Bytes = Bytes::new(1250);

/// A packet takes 1 ms at this rate.
const EVEN: MeanRate = MeanRate {
    rate: Bandwidth::from_mbps(10),
    burst: Duration::ZERO,
    room: None,
};

const ALLOWANCE: Duration = Duration::from_millis(10);

fn at_ms(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

fn backlog(window_limited: bool) -> Held {
    Held {
        ready: PACKET.times(100),
        packets: 100,
        under_way: PACKET.times(100),
        window_limited,
        allowance: ALLOWANCE,
        measurement: PACKET.times(20),
    }
}

/// The times in milliseconds at which packets leave within a second, while measuring wants
/// `wanted`.
fn departures(wanted: Release, held: &Held) -> Vec<u64> {
    let mut guard = Guard::new();
    let mut times = Vec::new();
    for ms in 1000..2000 {
        loop {
            guard.on_question(at_ms(ms), held);
            if guard.bound(at_ms(ms), wanted, held) != Release::Now {
                break;
            }
            guard.on_sent(at_ms(ms), PACKET, EVEN);
            times.push(ms);
        }
    }
    times
}

/// The numbers of timers and of packets in a second, on a host whose timers are late by
/// `late_ms`.
fn timers_and_packets(late_ms: u64) -> (usize, usize) {
    let mean = MeanRate {
        burst: Duration::from_millis(10),
        ..EVEN
    };
    let held = backlog(false);
    let mut guard = Guard::new();
    let (mut timers, mut packets) = (0, 0);
    let mut now = at_ms(1000);
    while now < at_ms(2000) {
        guard.on_question(now, &held);
        if guard.due() <= now {
            guard.on_sent(now, PACKET, mean);
            packets += 1;
        } else if let Release::At(due) = guard.bound(now, Release::At(guard.due()), &held) {
            timers += 1;
            now = due + Duration::from_millis(late_ms);
        }
    }
    (timers, packets)
}

/// The packets that leave within the millisecond in which an acknowledgement frees ten of them,
/// after a pause of 50 ms.
fn freed_at_once(room: Option<Duration>) -> usize {
    let mean = MeanRate {
        burst: Duration::from_millis(6),
        room,
        ..EVEN
    };
    let held = backlog(true);
    let mut guard = Guard::new();
    let pass = |guard: &mut Guard, ms: u64| {
        guard.on_question(at_ms(ms), &held);
        let may_leave = guard.due() <= at_ms(ms);
        if may_leave {
            guard.on_sent(at_ms(ms), PACKET, mean);
        }
        may_leave
    };
    assert!(pass(&mut guard, 1000));
    guard.on_nothing_ready(at_ms(1001));
    (0..10).take_while(|_| pass(&mut guard, 1050)).count()
}

#[test]
fn an_acknowledgement_that_frees_many_packets_lets_no_burst_leave_that_the_queue_does_not_hold() {
    let millis = |ms| Some(Duration::from_millis(ms));
    assert_eq!(freed_at_once(None), 7, "one, and a burst of 6 ms");
    assert_eq!(freed_at_once(millis(2)), 3, "one, and two");
    assert_eq!(
        freed_at_once(millis(20)),
        7,
        "a queue allows no larger burst"
    );
}

#[test]
fn timers_that_are_late_by_packets_are_few_and_lose_none() {
    let (timers, packets) = timers_and_packets(0);
    assert!((990..=1010).contains(&timers), "{timers}");
    assert!((990..=1011).contains(&packets), "{packets}");
    // Each timer is late by three packets. Without the extra wait there would be one every
    // 4 ms, 250 in all.
    let (timers, packets) = timers_and_packets(3);
    assert!((130..=160).contains(&timers), "{timers}");
    assert!((980..=1020).contains(&packets), "{packets}");
}

#[test]
fn a_measurement_that_never_lets_go_delays_each_packet_by_the_allowance_and_no_more() {
    let times = departures(Release::Hold, &backlog(false));
    assert_eq!(times[0], 1010);
    // From then on one packet leaves per millisecond, although measuring never releases any.
    assert!((988..=992).contains(&times.len()), "{}", times.len());
    let far = Release::At(at_ms(1_000_000));
    assert_eq!(departures(far, &backlog(false)), times);
}

#[test]
fn a_full_window_is_hardly_ever_held_back() {
    let times = departures(Release::Hold, &backlog(true));
    assert!(times.len() >= 985, "{}", times.len());
    let late = times
        .windows(2)
        .filter(|pair| pair[1] - pair[0] > 1)
        .count();
    assert!(late < 20, "held back {late} times");
}

#[test]
fn what_was_held_back_catches_up_without_a_burst() {
    let (mut guard, held) = (Guard::new(), backlog(false));
    let mut times = Vec::new();
    for us in (1_000_000..1_030_000).step_by(100) {
        let now = Timestamp::from_nanos(us * 1000);
        loop {
            guard.on_question(now, &held);
            // Packets are held back for 8 ms, and then leave as soon as the guard allows.
            let wanted = match now.max(guard.due()).max(at_ms(1008)) {
                due if due > now => Release::At(due),
                _ => Release::Now,
            };
            if guard.bound(now, wanted, &held) != Release::Now {
                break;
            }
            guard.on_sent(now, PACKET, EVEN);
            times.push(us - 1_000_000);
        }
    }
    let burst = times.iter().filter(|us| **us == 8_000).count();
    assert!(
        burst <= 3,
        "{burst} packets at once: a timer's credit, no more"
    );
    // One packet per millisecond. The first eight were held back, and caught up at twice that
    // pace.
    assert!((29..=31).contains(&times.len()), "{times:?}");
}

#[test]
fn a_burst_leaves_at_once_and_the_mean_rate_stays() {
    let held = Held {
        packets: 5,
        ..backlog(false)
    };
    let mean = MeanRate {
        burst: Duration::from_millis(5),
        ..EVEN
    };
    let mut guard = Guard::new();
    let mut sent = Vec::new();
    // Every 7 ms the application brings more than the mean rate allows.
    for ms in (1000..2000).step_by(7) {
        for _ in 0..10 {
            guard.on_question(at_ms(ms), &held);
            if guard.due() <= at_ms(ms) {
                let answer = guard.bound(at_ms(ms), Release::Now, &held);
                assert_eq!(answer, Release::Now);
                guard.on_sent(at_ms(ms), PACKET, mean);
                sent.push(ms);
            }
        }
    }
    let together = |at: u64| sent.iter().filter(|ms| **ms == at).count();
    assert!((5..=8).contains(&together(1350)), "{}", together(1350));
    assert!((690..=1010).contains(&sent.len()), "{}", sent.len());
}

#[test]
fn what_was_held_back_does_not_push_the_next_back() {
    let mut guard = Guard::new();
    let held = backlog(false);
    guard.on_question(at_ms(1000), &held);
    let answer = guard.bound(at_ms(1000), Release::At(at_ms(1006)), &held);
    assert_eq!(answer, Release::At(at_ms(1006)));
    guard.on_question(at_ms(1006), &held);
    assert_eq!(guard.bound(at_ms(1006), Release::Now, &held), Release::Now);
    guard.on_sent(at_ms(1006), PACKET, EVEN);
    // With a credit of 1 ms the next packet too could have left at 1000 ms. Its allowance of
    // 10 ms counts from then.
    guard.on_question(at_ms(1006), &held);
    let answer = guard.bound(at_ms(1006), Release::Hold, &held);
    assert_eq!(answer, Release::At(at_ms(1010)));
}

#[test]
fn a_timer_that_is_not_waited_for_any_more_is_not_late() {
    let (mut guard, held) = (Guard::new(), backlog(false));
    guard.on_question(at_ms(1000), &held);
    let wanted = Release::At(at_ms(1005));
    assert_eq!(guard.bound(at_ms(1000), wanted, &held), wanted);
    let credit = guard.credit();
    // A loss takes the window away, and the next packet is asked for after a round trip.
    guard.on_nothing_ready(at_ms(1001));
    guard.on_question(at_ms(1100), &held);
    assert_eq!(guard.credit(), credit);
}
