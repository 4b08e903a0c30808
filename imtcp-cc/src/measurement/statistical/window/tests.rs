use super::*;
use crate::units::single;

const SLICE: Duration = Duration::from_millis(10);
const CAPACITY: f64 = 10e6;
const RATE: f64 = 8e6;

/// What two slices of one block leave open.
const OF_ONE: f64 = NORMAL_95 * UNSEEN * CAPACITY;

/// A slice that was seen from end to end.
fn covered(index: u64) -> SliceView {
    SliceView {
        index,
        rate: single(RATE),
        seen_s: SLICE.as_secs_f32(),
        covered: true,
        doubt: 0.0,
        scatter: 0.0,
        freedom: 0,
    }
}

/// The mean over a span of eleven slices: two were seen, and of one between them only the bound
/// `most` is known.
fn with_room(second: u64, index: u64, most: f64) -> WindowMean {
    let views = [covered(0), covered(second)];
    let rooms = [Room { index, most }];
    mean(&views, rooms.into_iter(), 11, SLICE, CAPACITY).expect("two slices")
}

/// Slices over two seconds, with the rates of blocks of half a second. The gaps within a slice
/// agree.
fn over_blocks(rates: [f64; 4]) -> WindowMean {
    let view = |index: u64| SliceView {
        rate: single(rates[usize::try_from(index / 50).unwrap_or(0)]),
        covered: false,
        freedom: 3,
        ..covered(index)
    };
    let views: Vec<_> = (0..200).map(view).collect();
    mean(&views, std::iter::empty(), 200, SLICE, CAPACITY).expect("200 slices")
}

#[test]
fn few_slices_that_agree_prove_little() {
    let half_of = |count: u64| {
        let views: Vec<_> = (0..count).map(covered).collect();
        let span = views.len();
        let mean = mean(&views, std::iter::empty(), span, SLICE, CAPACITY);
        mean.expect("there are slices").half_width / CAPACITY
    };
    assert!((0.55..0.6).contains(&half_of(2)), "{}", half_of(2));
    assert!((0.06..0.08).contains(&half_of(8)), "{}", half_of(8));
    assert!(half_of(200) < 0.003, "{}", half_of(200));
}

#[test]
fn slices_of_one_burst_are_one_look() {
    let half_of = |bursts: u64| {
        let views: Vec<_> = (0..bursts)
            .flat_map(|burst| [burst * 100, burst * 100 + 1])
            .map(covered)
            .collect();
        let mean = mean(&views, std::iter::empty(), 400, SLICE, CAPACITY);
        mean.expect("there are slices").half_width / CAPACITY
    };
    assert!((0.18..0.2).contains(&half_of(3)), "{}", half_of(3));
    assert!((0.06..0.08).contains(&half_of(4)), "{}", half_of(4));
}

#[test]
fn who_gets_more_than_the_capacity_refutes_it() {
    let told = |rate: f64| {
        let view = |index| SliceView {
            rate: single(rate),
            ..covered(index)
        };
        let views: Vec<_> = (0..20).map(view).collect();
        mean(&views, std::iter::empty(), 20, SLICE, CAPACITY).map(|mean| mean.rate)
    };
    assert_eq!(told(-0.02 * CAPACITY), Some(0.0), "by chance");
    assert_eq!(told(-0.04 * CAPACITY), None);
}

#[test]
fn what_changes_from_block_to_block_varies() {
    use super::super::is_variable;
    let varies = |rates| is_variable(over_blocks(rates).present, CAPACITY);
    assert!(!varies([4e6; 4]));
    assert!(!varies([4e6, 4.5e6, 4e6, 4.5e6]));
    assert!(varies([2e6, 4e6, 2e6, 4e6]));
}

#[test]
fn a_bound_far_below_its_neighbours_takes_their_place() {
    let mean = with_room(10, 5, 2e6);
    // Ten slices have their neighbours' rate. One lies between zero and the bound.
    let expected = (10.0 * RATE + 1e6) / 11.0;
    assert!((mean.rate - expected).abs() < 1.0, "{mean:?}");
    let expected = libm::hypot(1e6 / 11.0, OF_ONE);
    assert!((mean.half_width - expected).abs() < 1.0, "{mean:?}");
}

#[test]
fn a_bound_near_its_neighbours_says_nothing() {
    let mean = with_room(10, 5, RATE - 0.09 * CAPACITY);
    assert!((mean.rate - RATE).abs() < 1.0, "{mean:?}");
    assert!((mean.half_width - OF_ONE).abs() < 1.0, "{mean:?}");
    let mean = with_room(10, 5, RATE - 0.11 * CAPACITY);
    assert!(mean.rate < RATE - 1.0, "{mean:?}");
}

#[test]
fn no_slice_stands_for_one_that_is_far_away() {
    let mean = with_room(40, 20, 0.0);
    assert!((mean.rate - RATE).abs() < 1.0, "{mean:?}");
    let mean = with_room(40, FARTHEST, 0.0);
    assert!(mean.rate < RATE - 1.0, "{mean:?}");
}
