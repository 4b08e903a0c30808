//! Hops, with times and counts worked out by hand.

use super::super::{Ecn, FlowId};
use super::*;
use imtcp_cc::units::Bandwidth;

fn settings(rate: Bandwidth, queue: QueueLimit) -> HopSettings {
    HopSettings {
        rate: Profile::constant(rate),
        trace: None,
        pipe: PipeSettings::of(Duration::from_millis(10)),
        queue,
        discipline: Discipline::DropTail,
        loss: None,
        keep_every_acknowledgement: 1,
        release: None,
        bucket: None,
    }
}

fn packet(size: u64) -> Packet {
    Packet {
        size: Bytes::new(size),
        owner: Owner::Flow(FlowId(0)),
        ecn: Ecn::NotCapable,
        datagram: None,
        probe: None,
    }
}

fn at_us(us: u64) -> Timestamp {
    Timestamp::from_origin(Duration::from_micros(us))
}

#[test]
fn a_packet_takes_serialisation_and_propagation() {
    // 1250 bytes at 10 Mbit/s: 1 ms, then 10 ms of propagation.
    let queue = QueueLimit::Packets(10);
    let mut hop = Hop::new(&settings(Bandwidth::from_mbps(10), queue), 1, "hop");
    assert_eq!(hop.offer(at_us(500), packet(1250)), Some(at_us(1500)));
    let finished = hop.finish(at_us(1500));
    assert_eq!(finished.next_arrival, Some(at_us(11_500)));
    assert_eq!(finished.next_finish, None);
    assert_eq!(
        hop.arrive(at_us(11_500)).0.map(|p| p.size),
        Some(Bytes::new(1250))
    );
}

#[test]
fn a_byte_queue_holds_its_bytes_and_drops_the_rest() {
    let queue = QueueLimit::Bytes(Bytes::new(3000));
    let mut hop = Hop::new(&settings(Bandwidth::from_mbps(10), queue), 1, "hop");
    // One in the transmitter, two of 1500 waiting; then neither 1500 nor 40 bytes fit.
    for size in [1500, 1500, 1500, 1500, 40] {
        let _ = hop.offer(Timestamp::ZERO, packet(size));
    }
    assert_eq!(hop.backlog(), Bytes::new(4500));
    let overflowed = hop.counters().overflowed;
    assert_eq!((overflowed.packets, overflowed.bytes), (2, 1540));
}

#[test]
fn a_packet_queue_counts_small_packets_like_large_ones() {
    let queue = QueueLimit::Packets(2);
    let mut hop = Hop::new(&settings(Bandwidth::from_mbps(10), queue), 1, "hop");
    for size in [1500, 40, 40, 40] {
        let _ = hop.offer(Timestamp::ZERO, packet(size));
    }
    assert_eq!(hop.counters().overflowed.packets, 1);
}

#[test]
fn back_to_back_packets_lose_no_fraction_of_a_nanosecond() {
    // 1500 bytes at 7 Mbit/s take 12/7 ms; 700 of them exactly 1.2 s.
    let queue = QueueLimit::Packets(1000);
    let mut hop = Hop::new(&settings(Bandwidth::from_mbps(7), queue), 1, "hop");
    let mut finish = None;
    for _ in 0..700 {
        finish = hop.offer(Timestamp::ZERO, packet(1500)).or(finish);
    }
    let mut last = Timestamp::ZERO;
    while let Some(at) = finish {
        last = at;
        finish = hop.finish(at).next_finish;
    }
    assert_eq!(last, at_us(1_200_000));
}

/// A link of 100 Mbit/s with a bucket for two packets of 1250 bytes, filled at 10 Mbit/s.
fn behind_a_bucket(without: Without) -> Hop {
    let bucket = BucketSettings {
        without,
        rate: Bandwidth::from_mbps(10),
        size: Bytes::new(2500),
    };
    let settings = HopSettings {
        bucket: Some(bucket),
        ..settings(Bandwidth::from_mbps(100), QueueLimit::Packets(10))
    };
    Hop::new(&settings, 1, "hop")
}

#[test]
fn a_shaper_lets_a_burst_through_at_the_rate_of_the_link_and_the_rest_at_its_own() {
    let mut hop = behind_a_bucket(Without::Wait);
    let mut finish = None;
    for _ in 0..4 {
        finish = hop.offer(Timestamp::ZERO, packet(1250)).or(finish);
    }
    let mut finished = Vec::new();
    while let Some(at) = finish {
        finished.push(at);
        finish = hop.finish(at).next_finish;
    }
    // A packet takes 0.1 ms on the link and 1 ms of tokens. Two find their tokens; the others
    // begin 1 and 2 ms after the first.
    assert_eq!(finished, [100, 200, 1100, 2100].map(at_us));
    assert_eq!(hop.bucket_spent(), Some(at_us(200)));
    assert_eq!(hop.counters().policed.packets, 0);
}

#[test]
fn a_policer_drops_what_has_no_tokens() {
    let mut hop = behind_a_bucket(Without::Drop);
    let offers = [0, 0, 0, 1000, 1000];
    for us in offers {
        let _ = hop.offer(at_us(us), packet(1250));
    }
    // Two at first, and one when a packet's tokens have come.
    assert_eq!(hop.counters().policed.packets, 2);
    assert_eq!(hop.backlog(), Bytes::new(3750));
    assert_eq!(hop.bucket_spent(), Some(at_us(0)));
}

#[test]
fn what_a_hop_carries_for_ever_is_the_lower_of_its_rates() {
    let mut settings = settings(Bandwidth::from_mbps(100), QueueLimit::Packets(10));
    let slow = crate::profile::Step {
        at: at_us(2000),
        rate: Bandwidth::from_mbps(5),
    };
    settings.rate = Profile::stepped(Bandwidth::from_mbps(100), &[slow]);
    settings.bucket = Some(BucketSettings {
        without: Without::Wait,
        rate: Bandwidth::from_mbps(10),
        size: Bytes::new(2500),
    });
    for (us, mbps) in [(0, 10), (1999, 10), (2000, 5)] {
        let expected = Bandwidth::from_mbps(mbps);
        assert_eq!(settings.lasting_rate_at(at_us(us)), expected);
        assert_eq!(settings.lasting_rate().rate_at(at_us(us)), expected);
    }
}

#[test]
fn bytes_in_are_bytes_out_plus_queued_plus_dropped() {
    let queue = QueueLimit::Bytes(Bytes::new(20_000));
    let mut random = Random::for_component(3, "conservation");
    let mut hop = Hop::new(&settings(Bandwidth::from_mbps(10), queue), 1, "hop");
    let mut agenda = crate::engine::Agenda::default();
    // Offered about 1.2 times the rate: the queue overflows at times.
    for index in 0..2000u64 {
        agenda.schedule(at_us(index * 500), None);
    }
    while let Some(finish) = agenda.next_before(at_us(900_000)) {
        let now = agenda.now();
        let next = match finish {
            Some(()) => hop.finish(now).next_finish,
            None => hop.offer(now, packet(if random.chance(0.5) { 1460 } else { 40 })),
        };
        if let Some(at) = next {
            agenda.schedule(at, Some(()));
        }
        let c = hop.counters();
        let accounted = c.crossed.bytes + c.overflowed.bytes + hop.backlog().get();
        assert_eq!(c.offered.bytes, accounted, "at {now}");
    }
    assert!(hop.counters().overflowed.packets > 100);
    let metered = hop.meter().total_bytes(Owner::Flow(FlowId(0)));
    assert_eq!(metered, hop.counters().crossed.bytes);
}

#[test]
fn with_a_trace_packets_leave_at_its_opportunities() {
    let trace = crate::trace::parse("t", "3\n3\n99\n150\n").expect("a trace");
    let end = at_us(1_000_000);
    let settings = HopSettings {
        rate: trace.profile(end),
        trace: Some(trace.into()),
        ..settings(Bandwidth::from_mbps(1), QueueLimit::Packets(10))
    };
    let mut hop = Hop::new(&settings, 1, "hop");
    let mut finish = None;
    for size in [1500, 1500, 1500, 1000, 1000] {
        finish = hop.offer(at_us(500), packet(size)).or(finish);
    }
    let mut finished = Vec::new();
    while let Some(at) = finish {
        finished.push(at);
        finish = hop.finish(at).next_finish;
    }
    // The last two share the opportunities at 150 and 153 ms; there are two at 153.
    assert_eq!(
        finished,
        [3_000, 3_000, 99_000, 150_000, 153_000].map(at_us)
    );
    let metered = [0, 1].map(|bin| hop.meter().rate(Owner::Flow(FlowId(0)), bin).as_bps());
    assert_eq!(metered, [4500 * 80, 2000 * 80]);
    // Three in the first tenth of a second; then those at 150, 153 and 153 ms.
    let carried = [0, 1].map(|bin| {
        let work = |bin| crate::truth::bin_start(bin);
        hop.lasting_rate().work_between(work(bin), work(bin + 1)) / 8_000_000_000
    });
    assert_eq!(carried, [4500, 4500]);
}
