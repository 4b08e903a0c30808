use super::*;
use crate::transport::{AckInfo, AckedPacket, RoundTrip};

const TRIP: Duration = Duration::from_millis(30);
const SIZE: Bytes = Bytes::new(1250);

/// Rounds of a sawtooth, 70 to 110 packets of 1250 bytes in 30 ms. `fate` says whether a packet
/// gets through and how long it waits, by the round's packets and its place among them.
fn sawtooth(fate: impl Fn(u64, u64) -> Option<Duration>) -> Option<f64> {
    watched(fate).found.map(|found| found.rate)
}

fn watched(fate: impl Fn(u64, u64) -> Option<Duration>) -> Policed {
    let mut policed = Policed::default();
    let mut number = 0;
    for round in 0..200_u64 {
        let packets = 70 + 2 * (round % 20);
        let start = Timestamp::from_origin(TRIP * u32::try_from(round).expect("small"));
        let numbers = number..number + packets;
        number = numbers.end;
        for (place, number) in numbers.clone().enumerate() {
            let share = place as f64 / packets as f64;
            policed.on_sent(start + TRIP.mul_f64(share), number);
        }
        for (place, number) in numbers.enumerate() {
            let sent = start + TRIP.mul_f64(place as f64 / packets as f64);
            match fate(packets, place as u64) {
                Some(wait) => {
                    acknowledge(&mut policed, &[packet(number, sent)], sent + TRIP + wait);
                }
                None => policed.on_lost(number),
            }
        }
    }
    let end = Timestamp::from_origin(TRIP * 200);
    policed.found = policed.look(end);
    policed
}

/// A policer that lets 100 packets through in 30 ms, whose client acknowledges `every` so many
/// packets.
fn acknowledged_together(every: u64) -> Policed {
    let mut policed = Policed::default();
    let mut number = 0;
    for round in 0..200_u64 {
        let packets = 70 + 2 * (round % 20);
        let start = Timestamp::from_origin(TRIP * u32::try_from(round).expect("small"));
        let sent = |place: u64| start + TRIP.mul_f64(place as f64 / packets as f64);
        let mut group = Vec::new();
        for place in 0..packets {
            policed.on_sent(sent(place), number);
            if place < 100 {
                group.push(packet(number, sent(place)));
            } else {
                policed.on_lost(number);
            }
            if place % every == every - 1 || place == packets - 1 {
                if let Some(last) = group.last() {
                    acknowledge(&mut policed, &group, last.sent + TRIP);
                }
                group.clear();
            }
            number += 1;
        }
    }
    policed.found = policed.look(Timestamp::from_origin(TRIP * 200));
    policed
}

fn packet(number: u64, sent: Timestamp) -> AckedPacket {
    AckedPacket {
        number,
        size: SIZE,
        sent,
        received: None,
    }
}

#[test]
fn packets_that_are_acknowledged_together_have_not_waited() {
    // Ten packets leave in 3 ms and more, which is more than a sixteenth of a round trip.
    for every in [1, 2, 10] {
        let found = acknowledged_together(every).found;
        let rate = found.expect("a policer").rate;
        assert!((0.85..=1.02).contains(&(rate / 33.3e6)), "{every}: {rate}");
    }
}

fn acknowledge(policed: &mut Policed, packets: &[AckedPacket], now: Timestamp) {
    let rtt = RoundTrip {
        latest: TRIP,
        min: TRIP,
        smoothed: TRIP,
        variation: Duration::ZERO,
    };
    let info = AckInfo {
        largest: packets.last().expect("some").number,
        ack_delay: Duration::ZERO,
        rtt,
        bytes_in_flight: SIZE,
    };
    let acked = Acked { now, info, packets };
    policed.on_acked(&acked, |payload| payload);
}

#[test]
fn what_is_beyond_a_rate_and_did_not_wait_was_dropped_by_a_policer() {
    // The policer lets 100 packets through in 30 ms, 33.3 Mbit/s, and its bucket is small.
    let found = sawtooth(|_, place| (place < 100).then_some(Duration::ZERO));
    let rate = found.expect("a policer");
    // What gets through from loss to loss, 70 to 100 packets, carries 90 % of that.
    assert!((0.85..=1.02).contains(&(rate / 33.3e6)), "{rate}");
}

#[test]
fn many_losses_while_nothing_waits_are_doubtful_if_they_make_no_policer() {
    let losing = |every: u64, wait: Duration| {
        watched(move |_, place| (place % every != 7).then_some(wait)).is_doubtful()
    };
    assert!(losing(30, Duration::ZERO));
    assert!(!losing(100, Duration::ZERO), "1.2 % may be chance");
    assert!(!losing(30, TRIP / 4), "a queue");
    let policer = watched(|_, place| (place < 100).then_some(Duration::ZERO));
    assert!(!policer.is_doubtful(), "it is known");
}

#[test]
fn losses_at_any_rate_are_chance() {
    assert_eq!(
        sawtooth(|_, place| (place != 40).then_some(Duration::ZERO)),
        None
    );
}

#[test]
fn packets_that_are_lost_in_a_row_are_one_chance() {
    let ten_bursts = |packets: u64, place: u64| {
        let is_lost = packets == 100 && (40..44).contains(&place);
        (!is_lost).then_some(Duration::ZERO)
    };
    // Chance would put four of them into the slow rounds.
    assert_eq!(sawtooth(ten_bursts), None);
}

#[test]
fn what_waited_before_others_were_lost_was_in_a_queue() {
    let queued = |packets: u64, place: u64| {
        let wait = TRIP.mul_f64(packets.saturating_sub(85) as f64 / 85.0);
        (place < 100).then_some(wait)
    };
    assert_eq!(sawtooth(queued), None);
}

#[test]
fn a_queue_that_is_short_for_its_path_is_no_policer() {
    // It holds 1.5 ms, and the path is 30 ms long.
    let wait = |packets: u64| TRIP.mul_f64(packets.min(100) as f64 / 100.0 / 20.0);
    let queued = |packets: u64, place: u64| (place < 100).then(|| wait(packets));
    assert_eq!(sawtooth(queued), None);
}

#[test]
fn packets_that_an_acknowledgement_of_a_later_round_covers_say_nothing_of_a_queue() {
    let mut policed = Policed::default();
    let mut group = Vec::new();
    for number in 0..20_000_u64 {
        let round = number / 100;
        let sent = Timestamp::from_origin(TRIP.mul_f64(number as f64 / 100.0));
        policed.on_sent(sent, number);
        // Every other round loses its end, and none of its packets is the largest of an
        // acknowledgement.
        if round % 2 == 1 && number % 100 >= 90 {
            policed.on_lost(number);
        } else {
            group.push(packet(number, sent));
        }
        if number % 200 == 50 {
            acknowledge(&mut policed, &group, sent + TRIP * 2);
            group.clear();
        }
    }
    policed.found = policed.look(Timestamp::from_origin(TRIP * 200));
    assert_eq!((policed.found, policed.is_doubtful), (None, false));
}

#[test]
fn nothing_lost_is_no_policer() {
    assert_eq!(sawtooth(|_, _| Some(Duration::ZERO)), None);
}
