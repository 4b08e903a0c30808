//! The modes: background uses what others leave, and full speed fills paths that lose packets.

use imtcp_sim::result::{FlowResult, RunResult};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

fn run(scenario: &str, seed: u64, settings: &[(&str, &str)]) -> RunResult {
    let settings: Vec<_> = settings
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let scenario = Scenario::load(scenario, &settings).expect("it is built in");
    let result = scenario.run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// The goodputs of main flow and rival in Mbit/s.
fn goodputs(settings: &[(&str, &str)]) -> (f64, f64) {
    let result = run("place", 1, settings);
    let of = |name: &str| {
        let goodput = |flow: &FlowResult| flow.goodput_bps as f64 / 1e6;
        result.flow(name).map_or(0.0, goodput)
    };
    (of("main"), of("rival"))
}

const BACKGROUND: (&str, &str) = ("flow.main.imtcp.mode", "background");
const FULL_SPEED: (&str, &str) = ("flow.main.imtcp.mode", "full speed");
const ALONE: (&str, &str) = ("flow.rival.count", "0");

#[test]
fn background_alone_uses_nine_tenths_of_the_link() {
    let (main, _) = goodputs(&[BACKGROUND, ALONE]);
    // 40 Mbit/s of IP packets of 1378 bytes are 38.4 Mbit/s of data.
    assert!(main >= 0.9 * 38.4, "{main}");
}

#[test]
fn background_leaves_a_rival_nineteen_twentieths_of_what_it_has_alone() {
    for rival in ["tcp-cubic", "cubic", "bbr2"] {
        let rival_is = ("flow.rival.controller", rival);
        let none = ("flow.main.start", "44900 ms");
        let (_, solo) = goodputs(&[rival_is, none]);
        let (_, beside) = goodputs(&[rival_is, BACKGROUND]);
        let (main, standard) = goodputs(&[rival_is]);
        assert!(beside >= 0.95 * solo, "{rival}: {beside} of {solo}");
        // Without the mode the rival is left less, or the test would show nothing.
        assert!(standard < 0.95 * solo, "{rival}: {standard} and {main}");
    }
}

#[test]
fn full_speed_fills_a_path_that_loses_one_packet_of_a_hundred() {
    let lossy = ("link.bottleneck.loss", "{ rate = \"1 %\" }");
    let (full, _) = goodputs(&[FULL_SPEED, ALONE, lossy]);
    assert!(full >= 0.9 * 0.99 * 38.4, "{full}");
}

/// By chance it is often more than one packet of fifty, and then CUBIC answers each loss.
#[test]
fn full_speed_has_twice_what_the_standard_mode_has_where_one_packet_of_fifty_is_lost() {
    let lossy = ("link.bottleneck.loss", "{ rate = \"2 %\" }");
    let (full, _) = goodputs(&[FULL_SPEED, ALONE, lossy]);
    let (standard, _) = goodputs(&[ALONE, lossy]);
    assert!(standard < 0.5 * full, "{standard} and {full}");
}

/// Nothing waits where a radio takes a packet of a hundred. quiche's CUBIC has 32 Mbit/s there, and
/// so has this window; `tcp-cubic`, which answers each loss, has 4.
#[test]
fn a_path_that_loses_one_packet_of_a_hundred_is_filled_as_by_quiches_cubic() {
    let lossy = ("link.bottleneck.loss", "{ rate = \"1 %\" }");
    for measures in ["true", "false"] {
        let setting = ("flow.main.imtcp.measurement", measures);
        let (main, _) = goodputs(&[ALONE, lossy, setting]);
        assert!(main >= 0.75 * 38.4, "{measures}: {main}");
    }
}

#[test]
fn an_upload_over_a_path_that_loses_at_random_is_quick_in_either_mode() {
    let lossy = ("link.bottleneck.loss", "{ rate = \"2 %\" }");
    for (mode, least) in [(BACKGROUND, 450), (FULL_SPEED, 616)] {
        for seed in 1..=5 {
            let result = run("m13", seed, &[mode, lossy]);
            let goodput = result.flow("main").expect("it is there").goodput_bps / 8000;
            assert!(goodput >= least, "{mode:?}, seed {seed}: {goodput} KB/s");
        }
    }
}

#[test]
fn full_speed_fills_a_fast_path_with_a_short_queue_soon_and_loses_less() {
    let path = [
        ("link.bottleneck.rate", "200 Mbit/s"),
        ("link.bottleneck.queue", "300 KB"),
        ("duration", "4 s"),
    ];
    let of = |mode: &[(&str, &str)]| {
        let result = run("a9", 1, &[&path, mode].concat());
        let flow = result.flow("main").expect("it is there");
        (flow.goodput_bps, flow.lost_packets)
    };
    let (full, lost) = of(&[FULL_SPEED]);
    let (standard, standard_lost) = of(&[]);
    assert!(full > standard, "{full} and {standard}");
    assert!(2 * lost < standard_lost, "{lost} and {standard_lost}");
}

#[test]
fn a_mode_with_a_parameter_out_of_its_range_is_refused() {
    let settings = [(
        "flow.main.imtcp.mode".to_owned(),
        "{ background = 1.5 }".to_owned(),
    )];
    let error = Scenario::load("place", &settings).expect_err("more than all");
    let text = error.to_string();
    assert!(text.contains("0.01 to 1"), "{text}");
}
