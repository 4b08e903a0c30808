use super::*;

fn us(us: i64) -> TimeDelta {
    TimeDelta::from_nanos(us * 1000)
}

/// An echo that came `gap.0` us after the one before, and left `gap.1` us after it.
fn pair(gap: (i64, i64), packets: u32, bytes: Bytes) -> EchoPair {
    EchoPair {
        arrival: us(gap.0),
        departure: us(gap.1),
        packets,
        bytes,
        served: None,
    }
}

fn feed(judge: &mut TimingJudge, echoes: usize, gap: impl Fn(usize) -> (i64, i64, u32)) {
    feed_at(judge, Timestamp::ZERO, echoes, gap);
}

fn feed_at(
    judge: &mut TimingJudge,
    now: Timestamp,
    echoes: usize,
    gap: impl Fn(usize) -> (i64, i64, u32),
) {
    for i in 0..echoes {
        let (arrival, departure, packets) = gap(i);
        let bytes = Bytes::new(1378 * u64::from(packets));
        judge.on_echo(now, &pair((arrival, departure), packets, bytes));
    }
}

#[test]
fn a_link_with_a_queue_keeps_the_data_s_own_time() {
    let mut judge = TimingJudge::default();
    // Served every 220 us, now and then behind a foreign packet; sent every 300 us.
    feed(&mut judge, 10 * BLOCK, |i| {
        (220 + 190 * i64::from(i.is_multiple_of(3)), 300, 1)
    });
    assert!(!judge.is_coarse());
    assert_eq!(judge.jitter(), Duration::from_micros(110).into());
}

#[test]
fn bursts_that_a_queue_spreads_are_no_jitter() {
    let mut judge = TimingJudge::default();
    for i in 0..10 * BLOCK {
        // Ten packets leave together every 1.2 ms, and come as the link serves them.
        let departure = if i.is_multiple_of(10) { 1200 } else { 0 };
        let served = Some(Nanos::new(110_000));
        let burst = pair((115, departure), 1, Bytes::new(1378));
        judge.on_echo(Timestamp::ZERO, &EchoPair { served, ..burst });
    }
    assert_eq!(judge.jitter(), Duration::from_micros(5).into());
}

#[test]
fn aggregates_are_noticed_and_forgotten() {
    let mut judge = TimingJudge::default();
    // Ten packets sent every 400 us come together every 4 ms.
    let aggregate = |i: usize| (if i.is_multiple_of(10) { 4000 } else { 0 }, 400, 1);
    feed(&mut judge, BLOCK, aggregate);
    assert!(!judge.is_coarse(), "one block is no rule");
    feed(&mut judge, BLOCK, aggregate);
    assert_eq!(judge.timing(), EchoTiming::Clumped);
    assert_eq!(judge.jitter(), Duration::from_micros(3600).into());
    feed(&mut judge, 100 * BLOCK, |_| (400, 400, 1));
    assert!(judge.is_coarse(), "no time has passed");
    judge.coarse_until = Timestamp::ZERO;
    feed(&mut judge, 7 * BLOCK, |_| (400, 400, 1));
    assert!(judge.is_coarse());
    feed(&mut judge, BLOCK, |_| (400, 400, 1));
    assert!(!judge.is_coarse());
}

#[test]
fn echoes_that_become_coarse_again_stay_so_for_longer() {
    let mut judge = TimingJudge::default();
    let aggregate = |i: usize| (if i.is_multiple_of(10) { 4000 } else { 0 }, 400, 1);
    let mut spans = Vec::new();
    let mut now = Timestamp::from_origin(Duration::from_secs(1));
    for _ in 0..4 {
        while !judge.is_coarse() {
            feed_at(&mut judge, now, BLOCK, aggregate);
        }
        let began = now;
        while judge.is_coarse() {
            now = now + Duration::from_millis(100);
            feed_at(&mut judge, now, 8 * BLOCK, |_| (400, 400, 1));
        }
        spans.push((now - began).as_secs_f64());
    }
    assert_eq!(spans, [1.0, 2.0, 4.0, 8.0]);
}

#[test]
fn a_full_reverse_link_s_beat_is_noticed() {
    let mut judge = TimingJudge::default();
    feed(&mut judge, 2 * BLOCK, |i| {
        let packets = [2, 3, 4][i % 3];
        (
            1040 + 30 * i64::from(i.is_multiple_of(2)),
            380 * i64::from(packets),
            packets,
        )
    });
    assert!(judge.is_coarse());
}

#[test]
fn a_receiver_with_a_fixed_count_has_no_beat() {
    let mut judge = TimingJudge::default();
    feed(&mut judge, 4 * BLOCK, |_| (2200, 2200, 10));
    assert!(!judge.is_coarse());
}

#[test]
fn a_contradiction_lasts() {
    let mut judge = TimingJudge::default();
    judge.distrust(Timestamp::ZERO, Nanos::ZERO);
    assert!(judge.is_coarse());
    feed(&mut judge, 20 * BLOCK, |_| (400, 400, 1));
    assert!(judge.is_coarse());
}

#[test]
fn echoes_that_could_not_be_read_for_a_moment_are_read_when_they_can() {
    // Four packets that left together come within 30 us, every 2 ms.
    let late = |i: usize| (if i.is_multiple_of(4) { 2000 } else { 10 }, 6, 1);
    let mut judge = TimingJudge::default();
    feed(&mut judge, 2 * BLOCK, late);
    judge.distrust(Timestamp::ZERO, Duration::from_micros(100).into());
    judge.reconsider(Duration::from_micros(100).into());
    feed(&mut judge, 2 * BLOCK, late);
    assert_eq!(judge.timing(), EchoTiming::Foreign);
    judge.reconsider(Duration::from_millis(4).into());
    feed(&mut judge, 2 * BLOCK, late);
    assert_eq!(judge.timing(), EchoTiming::Clumped);
}

#[test]
fn a_host_that_wakes_late_is_read_coarsely_and_a_way_back_that_holds_echoes_up_is_not() {
    // Eight packets that left together come within 30 us, once a millisecond.
    let late = |i: usize| (if i.is_multiple_of(8) { 1000 } else { 4 }, 6, 1);
    for (readable_ms, timing) in [(5, EchoTiming::Clumped), (0, EchoTiming::Foreign)] {
        let mut judge = TimingJudge::default();
        feed(&mut judge, 2 * BLOCK, late);
        judge.distrust(Timestamp::ZERO, Duration::from_millis(readable_ms).into());
        assert_eq!(judge.timing(), timing, "readable: {readable_ms} ms");
    }
}
