//! TCP CUBIC as a rival: what its flows do to each other.

use imtcp_sim::result::RunResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

fn run(settings: &[(&str, &str)]) -> RunResult {
    let settings: Vec<(String, String)> = settings
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load("rivals", &settings).expect("it is built in");
    let result = scenario.run(3, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn mbps(result: &RunResult, flow: &str) -> f64 {
    result.flow(flow).expect("there").goodput_bps as f64 / 1e6
}

#[test]
fn one_leaves_slow_start_in_time_and_fills_the_link() {
    let result = run(&[("duration", "8 s"), ("flow.rival.count", "0")]);
    // 40 Mbit/s less headers, from 2 to 6 s on to 8 s; a slow start that ends in heavy loss would
    // lose more than a window, 200 packets.
    let goodput = mbps(&result, "main");
    assert!((34.0..39.0).contains(&goodput), "{goodput}");
    let lost = result.flow("main").expect("there").lost_packets;
    assert!((1..60).contains(&lost), "{lost}");
}

#[test]
fn a_second_one_gets_a_share_that_the_kernels_would_get() {
    let result = run(&[]);
    let (late, first) = (mbps(&result, "main"), mbps(&result, "rival"));
    // On sockets 8 to 15 of 40 Mbit/s, in runs of 14 s.
    assert!((7.0..19.0).contains(&late), "{late} {first}");
    assert!((34.0..40.0).contains(&(late + first)), "{late} {first}");
}
