//! Controllers and estimators of others, on paths whose arithmetic says what they have to do.

mod common;

use common::{Path, run};
use imtcp_sim::result::{FlowResult, RunResult};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

const BULK: &str = "{ kind = \"bulk\" }";

fn flow<'r>(result: &'r RunResult, name: &str) -> &'r FlowResult {
    result.flow(name).expect("there")
}

fn mbps(result: &RunResult, name: &str) -> f64 {
    flow(result, name).goodput_bps as f64 / 1e6
}

fn built_in(name: &str, settings: &[(&str, &str)], seed: u64) -> RunResult {
    let settings: Vec<(String, String)> = settings
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(name, &settings).expect("it is built in");
    let result = scenario.run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

#[test]
fn reno_behind_the_seam_sends_whole_packets_and_quiches_own_does_not() {
    let of = |controller| {
        let path = Path::default().flow("main", controller, BULK, "");
        run(&path, 1)
    };
    let (whole, own) = (of("reno-whole"), of("reno"));
    let size = |result: &RunResult| {
        let main = flow(result, "main");
        main.sent_bytes as f64 / main.sent_packets as f64
    };
    assert!(size(&whole) > 1330.0, "{} of 1350 bytes", size(&whole));
    assert!(size(&own) < 1300.0, "{} of 1350 bytes", size(&own));
    // A queue of one product of bandwidth and delay is enough for Reno to fill the link: 10 Mbit/s
    // less the headers of IP, UDP and QUIC.
    let goodput = mbps(&whole, "main");
    assert!((9.0..9.8).contains(&goodput), "{goodput}");
}

#[test]
fn highspeed_is_reno_where_windows_are_small_and_outgrows_it_where_they_are_large() {
    let of = |controller: &str, rate: &str, queue: &str, loss: &str| {
        let settings = [
            ("duration", "25 s"),
            ("link.bottleneck.rate", rate),
            ("link.bottleneck.delay", "52 ms"),
            ("link.bottleneck.queue", queue),
            ("link.bottleneck.loss", loss),
            ("flow.main.controller", controller),
        ];
        mbps(&built_in("e5", &settings, 1), "main")
    };
    // With 1 % of loss windows have about 12 packets; up to 38 the laws are the same.
    let small = |controller| of(controller, "10 Mbit/s", "130 KB", "{ rate = \"1 %\" }");
    let (reno, highspeed) = (small("reno-whole"), small("highspeed"));
    assert!((highspeed / reno - 1.0).abs() < 0.05, "{highspeed} {reno}");
    // The bandwidth-delay product is 940 packets. After the losses of slow start Reno needs a round
    // trip for each packet of half of that, 49 s; HighSpeed grows by 5 at a time.
    let large = |controller| of(controller, "100 Mbit/s", "130 KB", "{ rate = \"0 %\" }");
    let (reno, highspeed) = (large("reno-whole"), large("highspeed"));
    assert!(highspeed > 1.5 * reno, "{highspeed} {reno}");
}

#[test]
fn westwood_does_not_collapse_where_losses_are_not_congestion() {
    // Reno has sqrt(1.5 / p) packets in a round trip of 100 ms: 12 at 1 %, 1.3 Mbit/s of 10.
    let of = |controller| {
        let settings = [("flow.main.controller", controller), ("duration", "60 s")];
        mbps(&built_in("e5", &settings, 2), "main")
    };
    let reno = of("reno-whole");
    assert!((0.9..1.7).contains(&reno), "{reno}");
    for controller in ["westwood", "westwood-dft", "westwood-dft-acks"] {
        let goodput = of(controller);
        assert!(
            goodput > 1.3 * reno,
            "{controller}: {goodput} beside {reno}"
        );
    }
}

#[test]
fn ledbat_plus_plus_fills_an_idle_link_and_keeps_its_queue_below_the_target() {
    // The queue has room for 200 ms.
    let settings = [
        ("duration", "60 s"),
        ("flow.main.controller", "ledbat++"),
        ("flow.beside.count", "0"),
        ("link.bottleneck.queue", "250 KB"),
    ];
    let result = built_in("runts", &settings, 1);
    let goodput = mbps(&result, "main");
    // Slowdowns may cost a tenth.
    assert!(goodput > 8.3, "{goodput}");
    let round_trips = flow(&result, "main").rtt_ms.expect("there are some");
    assert!(round_trips.p95_ms < 40.0 + 60.0 + 25.0, "{round_trips:?}");
}

#[test]
fn ledbat_plus_plus_gives_way_to_cubic_where_reno_does_not() {
    let of = |controller| {
        let settings = [
            ("flow.main.controller", controller),
            ("link.bottleneck.queue", "250 KB"),
        ];
        let result = built_in("runts", &settings, 3);
        (mbps(&result, "main"), mbps(&result, "beside"))
    };
    let (background, cubic) = of("ledbat++");
    assert!(background < 0.12 * cubic, "{background} beside {cubic}");
    let (reno, cubic) = of("reno-whole");
    assert!(reno > 0.3 * cubic, "{reno} beside {cubic}");
}

#[test]
fn observers_read_a_link_and_change_nothing() {
    let settings = [("duration", "20 s")];
    let watched = built_in("c1", &settings, 1);
    let alone = built_in("c1", &[settings[0], ("flow.main.observers", "false")], 1);
    let (main, other) = (flow(&watched, "main"), flow(&alone, "main"));
    assert_eq!(main.goodput_bps, other.goodput_bps);
    assert_eq!(main.sent_packets, other.sent_packets);
    assert!(other.observed.is_empty());
    let highest = |name: &str| {
        let mut observed = main.observed.iter();
        let observed = observed.find(|observed| observed.name == name);
        observed.and_then(|it| it.highest_bps).expect("it read") as f64 / 5e6
    };
    // [RCE] 5.1: 43.25 of 44 packets.
    let rce = highest("rce");
    assert!((rce - 1.0).abs() <= 0.017, "{rce}");
    for name in ["dft-sent", "dft-acks", "packet-pair"] {
        assert!(
            (highest(name) - 1.0).abs() < 0.5,
            "{name}: {}",
            highest(name)
        );
    }
}

#[test]
fn nobody_watches_quiches_own_controllers_and_the_error_says_what_to_do() {
    let settings = [("flow.main.controller".to_owned(), "cubic".to_owned())];
    let error = Scenario::load("c1", &settings).expect_err("it cannot be");
    let error = error.to_string();
    assert!(
        error.contains("observers") && error.contains("reno-whole"),
        "{error}"
    );
}
