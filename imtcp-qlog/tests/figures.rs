//! What series and figures say of logs that are longer than what is kept of them.

use imtcp_qlog::Log;
use imtcp_qlog::promises::Promises;
use imtcp_qlog::series::Series;
use imtcp_qlog::summary::Summary;
use std::fmt::Write;
use std::io::Cursor;
use std::path::Path;

const HEADER: &str = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{}}"#;

/// A log of these events: time, name, data.
fn log(events: impl IntoIterator<Item = (f64, String, String)>) -> Log {
    let mut text = format!("\x1e{HEADER}\n");
    for (time, name, data) in events {
        let _ = writeln!(
            text,
            "\x1e{{\"time\":{time:?},\"name\":\"{name}\",\"data\":{data}}}"
        );
    }
    Log::new(Cursor::new(text.into_bytes()), Path::new("run.sqlog")).expect("a log")
}

fn own(time: f64, name: &str, data: String) -> (f64, String, String) {
    (time, format!("imtcp:{name}"), data)
}

fn estimate(time: f64, bps: u64, flags: &str) -> (f64, String, String) {
    let (low, high) = (bps - 10, bps + 10);
    let data = format!(
        "{{\"estimator\":\"statistical\",\"available_bps\":{bps},\"low_bps\":{low},\
         \"high_bps\":{high},\"window\":1.0,\"flags\":[{flags}]}}"
    );
    own(time, "estimate_updated", data)
}

fn withdrawn(time: f64) -> (f64, String, String) {
    let data = "{\"estimator\":\"statistical\"}".to_owned();
    own(time, "estimate_withdrawn", data)
}

/// Few points, so that they are thinned.
const FEW: usize = 16;

#[test]
fn figures_are_of_all_values_however_few_are_drawn() {
    // One round trip of a hundred is long, and the others are all the same.
    let events = (0..2000u32).map(|index| {
        let rtt = if index % 100 == 0 { 200 } else { 20 };
        let data = format!(
            "{{\"latest_rtt\":{rtt},\"min_rtt\":20,\"congestion_window\":{}}}",
            1000 + index
        );
        let name = "quic:recovery_metrics_updated".to_owned();
        (f64::from(index), name, data)
    });
    let events = events.chain((0..1000u32).map(|index| estimate(f64::from(index), 500, "")));
    let series = Series::of(&mut log(events), FEW).expect("memory does not fail");
    assert!(series.window.points().len() <= FEW);
    let figures = &series.figures;
    assert_eq!(figures.round_trips.count(), 2000);
    for (share, exact) in [(0.5, 20.0), (0.95, 20.0), (0.995, 200.0)] {
        let found = figures.round_trips.quantile(share).expect("samples");
        assert!((found / exact - 1.0).abs() < 0.005, "{share}: {found}");
    }
    assert_eq!(figures.least_rtt, Some(20.0));
    // The windows 1000 to 2998 hold for a millisecond each.
    assert_eq!(figures.window.until(series.end_ms), Some(1999.0));
    assert_eq!(figures.estimates, 1000);
    assert_eq!(figures.value.until(series.end_ms), Some(500.0));
}

#[test]
fn every_slot_counts_and_what_is_not_drawn_is_told() {
    let outcomes = ["kept", "missed", "source_limited", "kept"];
    let slots = (0..200_010u32).map(|index| {
        let outcome = outcomes[index as usize % 4];
        let data = format!(
            "{{\"slot\":{index},\"length\":1.0,\"required_bps\":4,\"achieved_bps\":3,\
             \"outcome\":\"{outcome}\",\"warned_after\":null}}"
        );
        own(f64::from(index), "slot_ended", data)
    });
    let series = Series::of(&mut log(slots), FEW).expect("memory does not fail");
    assert_eq!((series.slots.len(), series.left_out), (200_000, 10));
    assert_eq!(
        (series.figures.slots, series.figures.slots_kept),
        (150_008, 100_005)
    );
}

#[test]
fn a_withdrawn_estimate_holds_no_longer() {
    let events = [
        withdrawn(5.0),
        estimate(10.0, 1000, ""),
        withdrawn(20.0),
        withdrawn(25.0),
        estimate(110.0, 2000, ""),
        estimate(130.0, 4000, ""),
        // A lower bound is no estimate, and there is none any more.
        estimate(140.0, 100, "\"lower_bound\""),
        estimate(150.0, 101, "\"lower_bound\""),
        own(
            200.0,
            "capacity_updated",
            "{\"capacity_bps\":9000}".to_owned(),
        ),
    ];
    let series = Series::of(&mut log(events), FEW).expect("memory does not fail");
    let gaps = series.statistical.gaps.spans();
    assert_eq!(gaps, [(20.0, 110.0), (140.0, 200.0)]);
    // 10 ms of 1000, 20 ms of 2000, 10 ms of 4000.
    let figures = &series.figures;
    assert_eq!(figures.value.until(series.end_ms), Some(2250.0));
    assert_eq!(figures.low.until(series.end_ms), Some(2240.0));
    assert_eq!(figures.high.until(series.end_ms), Some(2260.0));
    let values = series.statistical.value.points();
    assert_eq!(values, [(10.0, 1000.0), (110.0, 2000.0), (130.0, 4000.0)]);
    assert_eq!(series.bounds.points(), [(140.0, 100.0), (150.0, 101.0)]);
}

#[test]
fn an_old_path_that_falls_silent_takes_nothing_from_the_estimates_of_the_new_one() {
    let on_second = |(time, name, data): (f64, String, String)| {
        let data = data.replacen('{', "{\"path\":1,", 1);
        (time, name, data)
    };
    let events = [
        estimate(10.0, 1000, ""),
        on_second(withdrawn(15.0)),
        on_second(estimate(20.0, 3000, "")),
        withdrawn(25.0),
        on_second(estimate(40.0, 4000, "")),
        on_second(withdrawn(50.0)),
        on_second(estimate(60.0, 5000, "")),
    ];
    let series = Series::of(&mut log(events), FEW).expect("memory does not fail");
    assert_eq!(series.statistical.gaps.spans(), [(50.0, 60.0)]);
    // 10 ms of 1000, 20 ms of 3000, 10 ms of 4000.
    assert_eq!(series.figures.value.until(60.0), Some(2750.0));
}

#[test]
fn what_a_receiver_got_has_no_more_points_than_any_other_line() {
    let received = (0..1000u32).map(|index| {
        let data = "{\"raw\":{\"length\":1200}}".to_owned();
        (f64::from(index), "quic:packet_received".to_owned(), data)
    });
    let series = Series::of(&mut log(received), FEW).expect("memory does not fail");
    let points = series.delivered.points();
    assert!(!points.is_empty() && points.len() <= FEW, "{points:?}");
    assert_eq!(points.last(), Some(&(999.0, 1_200_000.0)));
    // A packet each millisecond after the first one.
    assert_eq!(series.goodput(0.0, 999.0), Some(9_600_000.0));
}

#[test]
fn names_without_end_take_no_memory_without_end() {
    let estimator = |index: u32| {
        let data = format!("{{\"estimator\":\"e{index}\",\"available_bps\":5}}");
        own(f64::from(index), "estimate_updated", data)
    };
    let mut many = log((0..1000).map(estimator));
    let summary = Summary::of(&mut many).expect("memory does not fail");
    assert_eq!(summary.estimates.len(), 64);
    assert_eq!(many.problems().count(), 936);
    let first = many.problems().first()[0].to_string();
    assert!(
        first.ends_with(
            "imtcp:estimate_updated: its data: another name, `e64`; 64 different ones are read; it \
             was left out"
        ),
        "{first}"
    );
    let long = "x".repeat(1000);
    let statuses = (0..10u32).map(|index| {
        let data = format!("{{\"status\":\"{long}\",\"cause\":null}}");
        own(f64::from(index), "promise_status_changed", data)
    });
    let mut long = log(statuses);
    let summary = Summary::of(&mut long).expect("memory does not fail");
    assert_eq!(summary.promises, Promises::default());
    assert_eq!(long.problems().count(), 10);
}

#[test]
fn a_loss_that_is_left_out_is_not_counted() {
    let lost = |length: &str| {
        let data = format!("{{\"raw\":{{\"length\":{length}}}}}");
        (1.0, "quic:packet_lost".to_owned(), data)
    };
    let mut log = log([lost("1200"), lost("\"long\""), lost("1200")]);
    let series = Series::of(&mut log, 100).expect("it can be read");
    assert_eq!((series.lost, log.problems().count()), (2, 1));
}
