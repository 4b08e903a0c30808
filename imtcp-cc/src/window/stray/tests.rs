use super::*;
use std::ops::Range;

const LEAST: Duration = Duration::from_millis(32);
const WINDOW: Bytes = Bytes::new(100_000);

/// Losses of packets that left at once.
const BURST: LossEvent = LossEvent {
    now: Timestamp::ZERO,
    sent_over: Duration::ZERO,
    smoothed_rtt: LEAST,
    window: 128.0,
    is_slow_start: false,
};

/// The same of a window that doubles.
const DOUBLING: LossEvent = LossEvent {
    is_slow_start: true,
    ..BURST
};

/// Losses of packets that left during a part of a round trip in which four leave usually.
const LASTING: LossEvent = LossEvent {
    sent_over: Duration::from_millis(1),
    ..BURST
};

/// Passes packets at a window, and loses one of each `every`. True if the last loss was stray.
fn pass(
    losses: &mut StrayLosses,
    every: u32,
    round_trip: Duration,
    least: Duration,
    window: Bytes,
) -> bool {
    let mut is_stray = false;
    for packet in 1..=5000 {
        if packet % every == 0 {
            losses.on_lost(packet.into());
            losses.on_loss(&BURST);
            is_stray = losses.is_stray(window);
        } else {
            losses.on_acked(1.0, round_trip, least, Some(window));
        }
    }
    is_stray
}

/// Whether one of each `every` packets is stray when it is lost, at this round trip.
fn are_stray(every: u32, round_trip_ms: f64, least: Duration) -> bool {
    let round_trip = Duration::from_secs_f64(round_trip_ms / 1e3);
    let mut losses = StrayLosses::default();
    pass(&mut losses, every, round_trip, least, WINDOW)
}

/// The same at what was once too large a window, after one of half the size in which one of
/// each `every_before` was lost.
fn are_stray_after(every_before: u32, every: u32) -> bool {
    let mut losses = StrayLosses::default();
    losses.on_reduction(WINDOW);
    pass(
        &mut losses,
        every_before,
        LEAST,
        LEAST,
        Bytes::new(WINDOW.get() / 2),
    );
    pass(&mut losses, every, LEAST, LEAST, WINDOW)
}

#[test]
fn a_loss_among_packets_that_did_not_wait_is_stray() {
    assert!(are_stray(100, 32.9, LEAST));
    assert!(
        !are_stray(100, 33.1, LEAST),
        "more than a thirty-second part"
    );
    let long = Duration::from_millis(300);
    assert!(are_stray(100, 303.9, long));
    assert!(
        !are_stray(100, 304.1, long),
        "as long as a managed queue allows"
    );
}

#[test]
fn slow_start_goes_on_while_few_are_lost() {
    let lose = |packets: u32, lost: u32, waited| {
        let mut losses = StrayLosses::default();
        losses.on_acked(packets.into(), LEAST + waited, LEAST, None);
        for number in 0..lost {
            losses.on_lost(number.into());
        }
        losses.on_loss(&DOUBLING);
        losses
    };
    let is_stray = |losses: StrayLosses| losses.is_stray_in_slow_start();
    assert!(is_stray(lose(10, 1, Duration::ZERO)));
    assert!(!is_stray(lose(10, 1, LEAST / 16)), "it waited");
    assert!(!is_stray(lose(49, 2, Duration::ZERO)));
    assert!(is_stray(lose(50, 2, Duration::ZERO)));
    let mut spurious = lose(49, 2, Duration::ZERO);
    spurious.on_spurious(0);
    assert!(is_stray(spurious));
    let mut again = lose(500, 0, Duration::ZERO);
    again.on_reduction(WINDOW);
    again.on_lost(7);
    again.on_lost(8);
    again.on_loss(&DOUBLING);
    assert!(!is_stray(again), "what was before the reduction is over");
}

#[test]
fn where_much_is_lost_no_loss_is_stray() {
    assert!(are_stray(60, 32.0, LEAST));
    assert!(!are_stray(40, 32.0, LEAST));
}

#[test]
fn losses_that_a_queue_took_are_settled() {
    let mut losses = StrayLosses::default();
    pass(&mut losses, 4, LEAST * 2, LEAST, WINDOW);
    assert!(pass(&mut losses, 100, LEAST, LEAST, WINDOW));
    let last = |waits| {
        let mut losses = StrayLosses::default();
        pass(&mut losses, 40, LEAST, LEAST, WINDOW);
        losses.on_acked(1.0, LEAST + waits, LEAST, Some(WINDOW));
        (0..40).for_each(|nth| losses.on_spurious(nth * 2));
        losses.on_acked(1.0, LEAST, LEAST, Some(WINDOW));
        losses.is_stray(WINDOW)
    };
    assert!(last(Duration::ZERO));
    assert!(!last(LEAST), "they were in no share");
}

#[test]
fn what_a_smaller_window_does_not_lose_is_no_chance() {
    assert!(are_stray_after(100, 100));
    assert!(are_stray_after(300, 100), "a third is not far less");
    assert!(!are_stray_after(5000, 100), "a policer");
}

/// Passes packets of which `run` at a time are lost, and then `gap` get through. True if the
/// last run was stray.
fn are_runs_stray(run: u64, gap: u32) -> bool {
    let mut losses = StrayLosses::default();
    let mut is_stray = false;
    for from in (0..200).map(|nth| nth * 10_000) {
        losses.on_acked(gap.into(), LEAST, LEAST, Some(WINDOW));
        lose(&mut losses, from..from + run);
        is_stray = losses.is_stray(WINDOW);
    }
    is_stray
}

#[test]
fn a_run_without_a_gap_is_one_loss_while_runs_are_rare() {
    assert!(are_runs_stray(150, 3000), "a host that slept");
    assert!(!are_runs_stray(150, 1000), "one in eight");
    assert!(!are_runs_stray(250, 5000), "more than a fifth of a window");
    assert!(!are_runs_stray(3, 40), "too often, though few");
}

/// Declares these packets lost at once.
fn lose(losses: &mut StrayLosses, numbers: Range<u64>) {
    lose_in(losses, numbers, &BURST);
}

fn lose_in(losses: &mut StrayLosses, numbers: impl Iterator<Item = u64>, event: &LossEvent) {
    numbers.for_each(|number| losses.on_lost(number));
    losses.on_loss(event);
}

/// Whether a run of so many packets is stray, if the packet after it waited for `waited`, and the
/// longest that others waited before is `deepest`.
fn is_run_stray(run: u64, waited: Duration, deepest: Duration) -> bool {
    let mut losses = StrayLosses::default();
    losses.on_acked(3000.0, LEAST + deepest, LEAST, Some(WINDOW));
    losses.on_acked(1.0, LEAST + waited, LEAST, Some(WINDOW));
    lose(&mut losses, 0..run);
    losses.is_stray(WINDOW)
}

#[test]
fn a_run_over_a_queue_that_is_not_full_is_stray() {
    let ms = Duration::from_millis;
    assert!(is_run_stray(20, ms(3), ms(6)));
    assert!(
        !is_run_stray(20, ms(3), ms(5)),
        "more than half of the queue"
    );
    assert!(is_run_stray(20, ms(4), ms(100)));
    let late = ms(4) + Duration::from_micros(1);
    assert!(
        !is_run_stray(20, late, ms(100)),
        "an eighth of a round trip"
    );
    assert!(!is_run_stray(3, ms(3), ms(6)), "too few to be a run");
}

#[test]
fn what_others_waited_two_reductions_ago_is_forgotten() {
    let mut losses = StrayLosses::default();
    losses.on_acked(3000.0, LEAST * 2, LEAST, Some(WINDOW));
    let mut run_is_stray = |from| {
        losses.on_reduction(WINDOW);
        losses.on_acked(3000.0, LEAST * 11 / 10, LEAST, Some(WINDOW));
        lose(&mut losses, from..from + 20);
        losses.is_stray(WINDOW)
    };
    assert!(run_is_stray(0));
    assert!(!run_is_stray(100));
}

#[test]
fn the_rest_of_a_run_is_of_the_run() {
    let mut losses = StrayLosses::default();
    losses.on_acked(3000.0, LEAST * 2, LEAST, Some(WINDOW));
    losses.on_acked(1.0, LEAST * 11 / 10, LEAST, Some(WINDOW));
    lose(&mut losses, 0..18);
    lose(&mut losses, 18..20);
    assert!(losses.is_stray(WINDOW));
    lose(&mut losses, 30..32);
    assert!(!losses.is_stray(WINDOW));
}

#[test]
fn a_run_that_waited_is_congestion() {
    assert!(!is_run_stray(20, LEAST, LEAST));
}

/// The state after packets of which some waited for `deepest`, and the last one for `waited`.
fn after_a_queue(deepest: Duration, waited: Duration) -> StrayLosses {
    let mut losses = StrayLosses::default();
    losses.on_acked(3000.0, LEAST + deepest, LEAST, Some(WINDOW));
    losses.on_acked(1.0, LEAST + waited, LEAST, Some(WINDOW));
    losses
}

#[test]
fn a_run_that_lasts_is_stray_unless_the_queue_is_full() {
    let ms = Duration::from_millis;
    let is_stray = |numbers: &[u64], event: &LossEvent, waited| {
        let mut losses = after_a_queue(LEAST / 2, waited);
        lose_in(&mut losses, numbers.iter().copied(), event);
        losses.is_stray(WINDOW)
    };
    let run: Vec<u64> = (0..8).collect();
    assert!(is_stray(&run, &LASTING, ms(12)));
    let late = ms(12) + Duration::from_micros(1);
    assert!(!is_stray(&run, &LASTING, late), "three quarters of 16 ms");
    let shallow = |waited| {
        let mut losses = after_a_queue(ms(5), waited);
        lose_in(&mut losses, 0..8, &LASTING);
        losses.is_stray(WINDOW)
    };
    assert!(shallow(LEAST / 8));
    assert!(!shallow(LEAST / 8 + Duration::from_micros(1)));
    assert!(!is_stray(&run, &BURST, ms(12)), "they left at once");
    assert!(!is_stray(&run[1..], &LASTING, ms(12)), "seven packets");
    let sparse: Vec<u64> = (0..8).chain(20..28).collect();
    assert!(!is_stray(&sparse, &LASTING, ms(12)), "12 of 28 got through");
    let slow = LossEvent {
        window: 127.0,
        ..LASTING
    };
    assert!(
        !is_stray(&run, &slow, ms(12)),
        "less than four left usually"
    );
}

#[test]
fn a_run_that_lasts_does_not_end_slow_start() {
    let lasting = LossEvent {
        is_slow_start: true,
        ..LASTING
    };
    let goes_on = |event: &LossEvent, run| {
        let mut losses = after_a_queue(LEAST / 2, LEAST / 8);
        lose_in(&mut losses, 0..run, event);
        losses.is_stray_in_slow_start()
    };
    assert!(goes_on(&lasting, 300));
    assert!(!goes_on(&lasting, 302), "a tenth of 3000 packets, and one");
    assert!(!goes_on(&DOUBLING, 8), "a burst meets a full queue");
}

#[test]
fn what_is_lost_within_a_round_trip_of_such_a_run_is_of_it() {
    let is_stray = |after| {
        let mut losses = after_a_queue(LEAST / 2, LEAST / 4);
        lose_in(&mut losses, 0..8, &LASTING);
        let alone = LossEvent {
            now: Timestamp::ZERO + after,
            ..BURST
        };
        lose_in(&mut losses, 20..21, &alone);
        losses.is_stray(WINDOW)
    };
    assert!(is_stray(LEAST - Duration::from_nanos(1)));
    assert!(!is_stray(LEAST));
}

#[test]
fn runs_may_take_a_tenth_of_a_large_window() {
    let is_stray = |run| {
        let mut losses = after_a_queue(LEAST / 2, Duration::ZERO);
        let large = LossEvent {
            window: 10_000.0,
            ..LASTING
        };
        lose_in(&mut losses, 0..run, &large);
        losses.is_stray(WINDOW)
    };
    assert!(is_stray(1000));
    assert!(!is_stray(1060), "1 - exp(-0.106) is a tenth");
}
