use super::super::StoreTarget;
use super::super::pause::PACKETS_AFTER_VAIN;
use super::*;
use crate::path::ack::EchoCadence;

const MS: Duration = Duration::from_millis(1);

const RTT: RoundTrip = RoundTrip {
    latest: Duration::from_millis(20),
    min: Duration::from_millis(20),
    smoothed: Duration::from_millis(20),
    variation: MS,
};

const PACKET: Bytes = Bytes::new(1250);

fn at_ms(ms: u32) -> Timestamp {
    Timestamp::from_origin(MS * ms)
}

const SETTINGS: SchedulerSettings = SchedulerSettings {
    measurement: true,
    reads_all_packets: true,
    stream_packets: 5,
    sub_ranges: 4,
    store_target: StoreTarget::Dynamic,
    store_timer: StoreTimer::Adaptive,
    measurement_interval_rtts: 1,
    longest_hold: Duration::from_millis(10),
    ack_frequency: true,
    pacing: true,
};

fn probing() -> Probing {
    Probing::new(&SETTINGS)
}

fn conditions() -> Conditions {
    Conditions {
        range: Some(SearchRange::first(Bandwidth::from_mbps(80))),
        available: None,
        shown_capacity: Some(Bandwidth::from_mbps(100)),
        window_rate: None,
        rtt: RTT,
        packet: PACKET,
        longest_hold: MS * 10,
        lateness: Duration::ZERO,
        cadence: EchoCadence::EveryPacket,
        costly: false,
        allowed: true,
    }
}

fn ready(packets: u32) -> Ready {
    Ready {
        packets,
        stored: packets,
        window: 100,
    }
}

/// A source that has no packet ready. Enough others have left for a measurement.
fn rest(probing: &mut Probing, now: Timestamp) {
    for number in 0..u64::from(PACKETS_AFTER_VAIN) {
        probing.on_sent(now, number, PACKET, RTT);
    }
    probing.on_drained();
}

/// A measurement for which no packets come: each stream has to do with its first packet. Returns
/// when it was given up.
fn in_vain(probing: &mut Probing, begin: Timestamp) -> Timestamp {
    rest(probing, begin);
    assert!(probing.is_due(begin));
    let mut now = begin;
    loop {
        let verdict = probing.next(now, ready(5), &conditions());
        if matches!(probing.progress, Progress::Idle { .. }) {
            return now;
        }
        if matches!(verdict, Verdict::Probe | Verdict::Pass) {
            probing.on_sent(now, 0, PACKET, RTT);
        }
        probing.on_drained();
        now = now + MS * 50;
    }
}

/// A measurement whose first stream is enough, after which a value is known.
fn stopped_early(probing: &mut Probing, begin: Timestamp) {
    measure(probing, begin, true);
}

fn measure(probing: &mut Probing, begin: Timestamp, is_told: bool) {
    rest(probing, begin);
    let mut now = begin;
    while probing.current_stream() != Some(2) {
        match probing.next(now, ready(5), &conditions()) {
            Verdict::At(due) => now = due,
            _ => probing.on_sent(now, 0, PACKET, RTT),
        }
    }
    probing.stop_early(now);
    assert!(probing.take_settled(now, RTT, || is_told, || true));
}

#[test]
fn the_pause_after_a_measurement_in_vain_doubles_only_for_those_in_a_row() {
    let mut probing = probing();
    let pause = |probing: &mut Probing, second: u32| {
        let given_up = in_vain(probing, at_ms(second * 1000));
        rest(probing, given_up);
        let is_due = |ms: &u32| probing.is_due(given_up + MS * *ms);
        [250, 500, 1000].into_iter().find(is_due)
    };
    assert_eq!(pause(&mut probing, 10), Some(250));
    assert_eq!(pause(&mut probing, 20), Some(500));
    stopped_early(&mut probing, at_ms(30_000));
    assert_eq!(pause(&mut probing, 40), Some(250));
}

#[test]
fn measurements_that_tell_nothing_become_rare() {
    let mut probing = probing();
    let mut pause_after = |number: u32, is_told| {
        let begin = at_ms(100_000 + number * 10_000);
        measure(&mut probing, begin, is_told);
        rest(&mut probing, begin);
        let is_due = |ms: &u32| probing.is_due(begin + MS * *ms);
        [200, 400, 700, 9000].into_iter().find(is_due)
    };
    for number in 0..15 {
        assert_eq!(pause_after(number, false), Some(200));
    }
    assert_eq!(pause_after(15, false), Some(400));
    assert_eq!(pause_after(16, false), Some(700));
    for number in 17..30 {
        pause_after(number, false);
    }
    assert_eq!(pause_after(30, false), Some(9000));
    assert_eq!(pause_after(31, true), Some(200));
}

#[test]
fn a_source_that_sends_one_packet_now_and_then_has_one_in_32_held_back() {
    let mut probing = probing();
    in_vain(&mut probing, at_ms(10_000));
    let (mut now, mut held) = (at_ms(20_000), 0);
    for number in 0..10 * PACKETS_AFTER_VAIN {
        if let Verdict::At(due) = probing.next(now, ready(1), &conditions()) {
            held += 1;
            assert_eq!(probing.next(due, ready(1), &conditions()), Verdict::Pass);
        }
        probing.on_sent(now, number.into(), PACKET, RTT);
        probing.on_drained();
        now = now + MS * 1000;
    }
    assert!((5..=10).contains(&held), "{held} of 320");
}

#[test]
fn a_peer_that_acknowledges_every_second_packet_makes_no_stream_longer_than_its_plan() {
    let mut probing = Probing::new(&SchedulerSettings {
        stream_packets: MAX_STREAM_PACKETS,
        ..SETTINGS
    });
    let conditions = Conditions {
        cadence: EchoCadence::EverySecond,
        ..conditions()
    };
    let fits = Ready {
        window: MAX_STREAM_PACKETS,
        ..ready(MAX_STREAM_PACKETS)
    };
    let verdict = probing.next(at_ms(1000), fits, &conditions);
    assert_eq!(verdict, Verdict::Probe, "the window holds a stream");
    assert_eq!(probing.packets(), u64::from(4 * MAX_STREAM_PACKETS));
    let started = std::iter::from_fn(|| probing.take_step()).find_map(|step| match step {
        Step::MeasurementStarted { stream_packets, .. } => Some(stream_packets),
        _ => None,
    });
    assert_eq!(started, Some(MAX_STREAM_PACKETS));
}
