//! The sweeps with columns, in short; `imtcp-sim sweep m1` and `m12` do it at length.

use imtcp_sim::result::{Compared, ComparedCell, ComparedRun};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Sweep;

/// The cells of a built-in sweep with some points alone, cut to so many seconds, seed 1.
fn compared(name: &str, only: &[(&str, &str)], seconds: u32) -> (Sweep, Vec<ComparedCell>) {
    let mut sweep = Sweep::load(name).expect("it is built in");
    for (axis, points) in only {
        let points: Vec<&str> = points.split(';').collect();
        sweep.keep(axis, &points).expect("it has these points");
    }
    let short = ("duration".to_owned(), format!("{seconds} s"));
    let run = |cell: imtcp_sim::scenario::Cell| {
        let result = cell.scenario.run(1, RunOptions::default());
        let result = result.unwrap_or_else(|error| panic!("{error}"));
        ComparedRun::of(cell.names, &sweep.columns, &result)
    };
    let cells = sweep.cells(&[short]).expect("they load");
    let runs: Vec<ComparedRun> = cells.into_iter().map(run).collect();
    let cells = ComparedCell::of(&sweep, &runs);
    (sweep, cells)
}

fn value(sweep: &Sweep, cell: &ComparedCell, column: &str) -> Compared {
    let mut columns = sweep.columns.iter();
    let index = columns.position(|c| c.name == column).expect("a column");
    cell.values[index].unwrap_or_else(|| panic!("no {column} in {cell:?}"))
}

#[test]
fn steady_video_has_its_rate_and_leaves_the_rest_to_its_neighbours() {
    let carriers = ("carrier", "imtcp;reno");
    for (neighbour, column, least, most) in [
        ("TCP", "TCP Mbit/s", 0.28, 0.80),
        ("UDP", "UDP one-way ms", -0.95, -0.51),
        ("HTTP", "page s", -0.95, -0.18),
    ] {
        let only = [("neighbour", neighbour), carriers];
        let (sweep, cells) = compared("m12", &only, 15);
        let [promised, unpaced] = &cells[..] else {
            panic!("two carriers: {cells:?}");
        };
        let change = value(&sweep, promised, column).change.expect("a change");
        assert!((least..=most).contains(&change), "{column}: {cells:?}");
        assert_eq!(value(&sweep, unpaced, column).change, None);
        assert_eq!(value(&sweep, promised, "slots kept %").middle, 100.0);
        let overshoot = value(&sweep, promised, "p95 %").middle;
        assert!((0.0..=5.0).contains(&overshoot), "{neighbour}: {cells:?}");
        // What it is compared with fetches as fast as it can.
        let video = value(&sweep, unpaced, "video Mbit/s").middle;
        assert!(video > 12.0, "{neighbour}: {cells:?}");
    }
}

#[test]
fn a_live_source_is_told_in_time_when_the_next_rung_of_its_ladder_is_free_and_when_not() {
    for source in ["frames", "keyframes", "rests 7 to 9 s"] {
        let carriers = "imtcp;imtcp, not measuring";
        let only = [("source", source), ("path", "alone"), ("carrier", carriers)];
        let (sweep, cells) = compared("ladder", &only, 30);
        let [measuring, not] = &cells[..] else {
            panic!("two carriers: {cells:?}");
        };
        let free = value(&sweep, measuring, "free after s").middle;
        assert!(free <= 1.0, "{source}: {cells:?}");
        let not_any_more = value(&sweep, measuring, "not any more after s").middle;
        assert!(not_any_more <= 0.5, "{source}: {cells:?}");

        let delay = |cell| value(&sweep, cell, "frame delay ms (p95)").middle;
        assert!(delay(measuring) <= delay(not) + 5.0, "{source}: {cells:?}");
        let change = |column| value(&sweep, measuring, column).change.expect("a change");
        assert!(change("Mbit/s") >= -0.005, "{source}: {cells:?}");
        assert!(change("sent MB") <= 0.005, "{source}: {cells:?}");
    }
}

#[test]
fn headroom_above_a_slow_source_is_known_in_time_and_costs_nothing() {
    for path in ["frames, 10 Mbit/s, 20 ms", "chunks, 50 Mbit/s, 100 ms"] {
        let (sweep, cells) = compared("m1", &[("path", path)], 23);
        let [measuring, not, bbr2] = &cells[..] else {
            panic!("three carriers: {cells:?}");
        };
        let found = value(&sweep, measuring, "within 20 % after s").middle;
        assert!(found <= 2.0, "{path}: {cells:?}");
        let read = value(&sweep, measuring, "reads, % of truth").middle;
        assert!((95.0..105.0).contains(&read), "{path}: {cells:?}");
        // BBRv2 takes its own rate, or a burst's, for the bandwidth.
        let found = value(&sweep, bbr2, "within 20 % after s").middle;
        assert!(found > 2.0, "{path}: {cells:?}");

        let extra = value(&sweep, measuring, "sent MB").change;
        assert!(extra.expect("a change") <= 0.05, "{path}: {cells:?}");
        let lost = |cell| value(&sweep, cell, "lost packets").middle;
        assert!(lost(measuring) <= lost(not), "{path}: {cells:?}");
    }
}

/// quinn's client closes a connection at 1024 gaps in a stream, which quiche's CUBIC leaves here.
#[test]
fn connections_that_end_early_are_counted() {
    let only = [
        ("path", "1 Gbit/s, 60 ms, 1"),
        ("client", "acknowledges every second packet"),
        ("carrier", "imtcp;cubic"),
    ];
    let (sweep, cells) = compared("large", &only, 2);
    let ended = |cell| value(&sweep, cell, "ended %").middle;
    assert_eq!([0, 1].map(|carrier| ended(&cells[carrier])), [0.0, 100.0]);
}
