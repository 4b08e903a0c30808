//! A replay with the live parameters gives the live estimates exactly.

use super::logged::{self, Logged};
use imtcp_cc::quiche::Detail;
use imtcp_qlog::Log;
use imtcp_qlog::replay::Replay;
use imtcp_qlog::write::{Compression, Level};
use imtcp_sim::run::Qlog;

/// What the controller of a flow was fed while others came to its path. `main` are the flow's
/// settings.
fn logged(main: &str) -> Logged {
    let traffic = r#"kind = "cbr"
rate = "4 Mbit/s"
start = "3 s""#;
    let main = format!("controller = \"imtcp\"\n{main}");
    logged::run(traffic, &main, 7, |qlog| Qlog {
        level: Level::Events,
        compression: Compression::Zstd,
        detail: Detail::Replay,
        ..qlog
    })
}

fn replayed_exactly(main: &str) -> Replay {
    let logged = logged(main);
    let mut log = Log::open(&logged.path).expect("a qlog");
    let replay = Replay::of(&mut log, Ok).expect("it can be replayed");
    assert_eq!(log.problems().count(), 0, "{:?}", log.problems());
    assert_eq!(replay.doubts, [""; 0]);
    assert!(replay.told.len() > 10, "{} estimates", replay.told.len());
    for (index, (told, made)) in replay.told.iter().zip(&replay.made).enumerate() {
        assert!(told.is(made), "estimate {index}: {told:?} became {made:?}");
    }
    assert!(
        replay.is_exact(),
        "{} became {}",
        replay.told.len(),
        replay.made.len()
    );
    replay
}

#[test]
fn a_bulk_transfer() {
    let replay = replayed_exactly("application = { kind = \"bulk\" }");
    assert!(replay.inputs > 1000, "{} inputs", replay.inputs);
}

#[test]
fn a_live_source_that_is_measured_by_probe_streams_with_the_papers_estimator() {
    let replay = replayed_exactly(
        "application = { kind = \"datagrams\", rate = \"3 Mbit/s\", per_second = 60 }\n\
         imtcp = { estimator = \"classic\", stream_packets = 8 }",
    );
    let classic = imtcp_cc::EstimatorKind::Classic;
    assert!(replay.made.iter().any(|made| made.estimator == classic));
}

#[test]
fn a_promise_that_is_broken_by_others() {
    replayed_exactly(
        "application = { kind = \"bulk\" }\n\
         imtcp = { promise = { rate = \"7 Mbit/s\", per = \"1 s\" } }",
    );
}

#[test]
fn a_source_that_pauses_so_that_estimates_are_withdrawn() {
    let replay = replayed_exactly(
        "application = { kind = \"chunks\", rate = \"1 Mbit/s\", period = \"3 s\" }",
    );
    assert!(!replay.withdrawn.is_empty());
    assert_eq!(replay.withdrawn, replay.withdrawn_again);
}

#[test]
fn a_log_that_withdraws_another_estimate_is_not_replayed_exactly() {
    let logged = logged("application = { kind = \"bulk\" }");
    let packed = std::fs::read(&logged.path).expect("a file");
    let text = zstd::decode_all(packed.as_slice()).expect("it is zstd");
    let more = concat!(
        "\x1e{\"time\":6000.0,\"name\":\"imtcp:estimate_withdrawn\",\"data\":",
        "{\"estimator\":\"statistical\"}}\n"
    );
    let text = [text.as_slice(), more.as_bytes()].concat();
    let mut log = Log::new(std::io::Cursor::new(text), &logged.path).expect("a qlog");
    let replay = Replay::of(&mut log, Ok).expect("it can be replayed");
    assert_eq!((replay.differences(), replay.is_exact()), (0, false));
}

#[test]
fn time_that_jumps_by_centuries_is_damage() {
    // The core would end each slot of the promise in between.
    let logged = logged(
        "application = { kind = \"bulk\" }\n\
         imtcp = { promise = { rate = \"2 Mbit/s\", per = \"1 s\" } }",
    );
    let packed = std::fs::read(&logged.path).expect("a file");
    let text = zstd::decode_all(packed.as_slice()).expect("it is zstd");
    let more = concat!(
        "\x1e{\"time\":6000.0,\"name\":\"imtcp:core_input\",\"data\":",
        "{\"asked\":[1350,0,13500,1350],\"at\":18446744073709551615}}\n"
    );
    let text = [text.as_slice(), more.as_bytes()].concat();
    let mut log = Log::new(std::io::Cursor::new(text), &logged.path).expect("a qlog");
    let replay = Replay::of(&mut log, Ok).expect("it can be replayed");
    assert!(replay.is_exact());
    let problems = log.problems().first();
    assert!(
        problems.len() == 1 && problems[0].text.contains("after the input before"),
        "{problems:?}"
    );
}

#[test]
fn other_parameters_give_other_estimates() {
    let logged = logged("application = { kind = \"bulk\" }");
    let mut log = Log::open(&logged.path).expect("a qlog");
    let replay = Replay::of(&mut log, |mut live| {
        let builder = imtcp_cc::Config::builder().header_overhead(imtcp_cc::units::Bytes::new(48));
        live.config = builder.build().map_err(|error| error.to_string())?;
        Ok(live)
    });
    let replay = replay.expect("it can be replayed");
    assert!(!replay.is_exact());
    let last = |told: u64, made: u64| made as f64 / told as f64;
    let (told, made) = (
        replay.told.last().expect("some"),
        replay.made.last().expect("some"),
    );
    // Twenty bytes more for each packet of 1350.
    let ratio = last(told.available_bps, made.estimate.available.as_bps());
    assert!((1.005..1.03).contains(&ratio), "{ratio}");
}
