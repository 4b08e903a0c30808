//! Scores of hand-made series, whose values follow from their making.

use super::*;

fn at_ms(ms: u64) -> Timestamp {
    Timestamp::from_origin(Duration::from_millis(ms))
}

/// One link whose available bandwidth is 50 until `step_s` and 30 from then until 20 s.
fn stepping(step_s: u64) -> Reference {
    let bins = (0..200).map(|bin| if bin < step_s * 10 { 50.0 } else { 30.0 });
    Reference {
        truth: Available::along(&[(Duration::ZERO, bins.collect())]),
        life: (at_ms(0), at_ms(20_000)),
        steps: vec![at_ms(step_s * 1000)],
        seen_after: Duration::ZERO,
        least_truth_bps: 0.3,
    }
}

/// Every 100 ms a value, with an interval of 2 to either side.
fn series(value: impl Fn(u64) -> f64) -> Vec<Sample> {
    let sample = |index: u64| {
        let available = value(index * 100);
        Sample {
            at: at_ms(index * 100),
            available_bps: available,
            low_bps: available - 2.0,
            high_bps: available + 2.0,
            window: Duration::ZERO,
        }
    };
    (0..200).map(sample).collect()
}

fn rounded(value: Option<f64>) -> Option<f64> {
    value.map(|value| libm::round(value * 1e9) / 1e9)
}

#[test]
fn a_perfect_series_has_no_error_and_settles_with_its_median() {
    let score = score(
        &series(|ms| if ms < 10_000 { 50.0 } else { 30.0 }),
        &stepping(10),
    );
    assert_eq!(rounded(score.mare), Some(0.0));
    assert_eq!(rounded(score.bias), Some(0.0));
    assert_eq!(score.coverage95, Some(1.0));
    // The median of five samples turns with the third new one.
    assert_eq!(score.settle_s, vec![Some(0.2)]);
    assert_eq!(rounded(score.longest_gap_s), Some(0.1));
}

#[test]
fn a_biased_series_shows_its_bias_and_its_intervals_miss() {
    let high = |ms| if ms < 10_000 { 55.0 } else { 33.0 };
    let score = score(&series(high), &stepping(10));
    assert_eq!(rounded(score.mare), Some(0.1));
    assert_eq!(rounded(score.bias), Some(0.1));
    assert_eq!(score.coverage95, Some(0.0));
}

#[test]
fn errors_of_both_signs_cancel_in_the_bias_only() {
    let swing = |ms: u64| {
        if (ms / 100).is_multiple_of(2) {
            54.0
        } else {
            46.0
        }
    };
    let mut reference = stepping(20);
    reference.steps.clear();
    let score = score(&series(swing), &reference);
    assert_eq!(rounded(score.mare), Some(0.08));
    assert_eq!(rounded(score.bias), Some(0.0));
    assert!(score.settle_s.is_empty());
}

#[test]
fn the_first_two_seconds_stand_apart() {
    let wild = |ms| if ms < 2_000 { 500.0 } else { 50.0 };
    let mut reference = stepping(20);
    reference.steps.clear();
    let score = score(&series(wild), &reference);
    assert_eq!((rounded(score.mare), score.scored), (Some(0.0), 180));
}

#[test]
fn one_second_of_settling_stands_apart_and_the_rest_counts() {
    // Stays at 50, two thirds too high, for 3 s after the step; 0.2 s more turn the median.
    let slow = |ms| if ms < 13_000 { 50.0 } else { 30.0 };
    let score = score(&series(slow), &stepping(10));
    assert_eq!(score.settle_s, vec![Some(3.2)]);
    // 170 samples count, of which those of 2 s are off by 2/3.
    assert_eq!(score.scored, 170);
    assert_eq!(
        rounded(score.mare),
        rounded(Some(20.0 * (2.0 / 3.0) / 170.0))
    );
}

#[test]
fn who_never_settles_is_pardoned_nothing() {
    let score = score(&series(|_| 50.0), &stepping(10));
    assert_eq!(score.settle_s, vec![None]);
    assert_eq!(score.scored, 180);
}

#[test]
fn a_short_visit_to_the_truth_is_not_settling() {
    // Near from 11 s to 14 s, away until 16 s, near from then on.
    let visits = |ms| match ms {
        0..10_000 => 50.0,
        11_000..14_000 | 16_000.. => 30.0,
        _ => 60.0,
    };
    let score = score(&series(visits), &stepping(10));
    assert_eq!(score.settle_s, vec![Some(6.2)]);
}

#[test]
fn a_window_over_the_step_is_compared_with_the_mean_of_both_sides() {
    let mut reference = stepping(10);
    reference.steps.clear();
    let sample = Sample {
        at: at_ms(10_500),
        available_bps: 40.0,
        low_bps: 39.0,
        high_bps: 41.0,
        window: Duration::from_secs(1),
    };
    let score = score(&[sample], &reference);
    assert_eq!(
        (rounded(score.mare), score.coverage95),
        (Some(0.0), Some(1.0))
    );
}

#[test]
fn without_estimates_there_is_no_score_but_a_gap() {
    let score = score(&[], &stepping(10));
    assert_eq!((score.mare, score.coverage95), (None, None));
    assert_eq!(score.settle_s, vec![None]);
    assert_eq!(score.longest_gap_s, Some(18.0));
}

#[test]
fn a_truth_of_nearly_nothing_is_not_compared() {
    let mut reference = stepping(10);
    reference.least_truth_bps = 40.0;
    assert_eq!(score(&series(|_| 50.0), &reference).scored, 80);
}

#[test]
fn found_is_from_when_on_all_readings_are_near_until_the_next_step() {
    let readings = |value: fn(u64) -> f64| -> Vec<Reading> {
        let reading = |index: u64| Reading {
            at: at_ms(index * 100),
            rate_bps: value(index * 100),
        };
        (0..200).map(reading).collect()
    };
    let reference = stepping(10);
    // 41 of 50 is within 20 %, and from 3 s on it stays; then 50 for 30 until 12 s.
    let late = readings(|ms| match ms {
        0..1_000 | 2_000..3_000 => 10.0,
        1_000..10_000 => 41.0,
        10_000..12_000 => 50.0,
        _ => 30.0,
    });
    let seconds = |s| Some(Duration::from_secs(s));
    assert_eq!(found(&late, &reference, NEAR), [seconds(3), seconds(2)]);
    // 41 of 50 is not within 5 %.
    let nearer = found(&late, &reference, VERY_NEAR);
    assert_eq!(nearer, [None, seconds(2)]);
    let never = readings(|ms| if ms == 19_900 { 50.0 } else { 30.0 });
    assert_eq!(found(&never, &reference, NEAR), [None, None]);
    assert_eq!(found(&[], &reference, NEAR), [None, None]);
    let shares = shares_of_truth(&late, &reference);
    assert_eq!((shares.len(), shares[0], shares[199]), (200, 0.2, 1.0));
}

#[test]
fn a_floor_crosses_a_rung_when_it_is_first_on_the_side_of_the_truth() {
    let reference = stepping(10);
    let down = |floors: &[Floor], rung| {
        let crossings = crossings(floors, &reference, rung);
        assert_eq!(crossings.up, [], "the truth falls");
        crossings.down
    };
    let floors = [
        (at_ms(500), 45.0),
        (at_ms(10_400), 28.0),
        (at_ms(11_000), 45.0),
    ];
    assert_eq!(down(&floors, 40.0), [Some(Duration::from_millis(400))]);
    assert_eq!(
        down(&floors[..1], 40.0),
        [None],
        "it says that 45 are free until the end"
    );
    let low = [(at_ms(500), 20.0)];
    assert_eq!(down(&low, 40.0), [Some(Duration::ZERO)], "it never said so");
    assert_eq!(down(&[], 40.0), [Some(Duration::ZERO)], "nothing was said");
    assert_eq!(down(&floors, 60.0), [], "the truth never was above it");
}
