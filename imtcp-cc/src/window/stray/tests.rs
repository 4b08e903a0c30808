use super::*;
use std::ops::Range;

const LEAST: Duration = Duration::from_millis(32);
const WINDOW: Bytes = Bytes::new(100_000);

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
            losses.on_loss();
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
        losses.on_loss();
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
    again.on_loss();
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
    numbers.for_each(|number| losses.on_lost(number));
    losses.on_loss();
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
